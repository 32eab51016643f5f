// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// Writes binary property lists, as far as archives need it.
///
/// Equal contents are written as equal bytes.
struct BinaryPropertyListWriter {
    /// A node to write.
    indirect enum Node {
        /// A value without parts.
        case value(StoredValue)
        /// A reference in an archive.
        case reference(Int)
        /// An array.
        case array([Node])
        /// Named nodes, in the order in which they are written.
        case dictionary([(name: String, value: Node)])
    }

    /// An object that refers to its parts by index.
    private enum Object {
        case bytes([UInt8])
        case list(marker: UInt8, count: Int, places: [Int])
    }

    private var objects: [Object] = []
    /// The indexes of values, each of which is written once.
    private var places: [[UInt8]: Int] = [:]

    static func bytes(of root: Node) -> Data {
        var writer = BinaryPropertyListWriter()
        let place = writer.add(root)
        return Data(writer.bytes(root: place))
    }

    private mutating func add(_ node: Node) -> Int {
        switch node {
        case .value(let value): return add(Self.bytes(of: value))
        case .reference(let index):
            let bytes = Self.bigEndian(index, Self.size(of: index))
            return add([0x80 | UInt8(bytes.count - 1)] + bytes)
        case .array(let elements):
            let places = elements.map { add($0) }
            return add(.list(marker: 0xA0, count: elements.count, places: places))
        case .dictionary(let entries):
            let names = entries.map { add(.value(.string($0.name))) }
            let values = entries.map { add($0.value) }
            return add(.list(marker: 0xD0, count: entries.count, places: names + values))
        }
    }

    private mutating func add(_ bytes: [UInt8]) -> Int {
        if let place = places[bytes] { return place }
        places[bytes] = objects.count
        return add(.bytes(bytes))
    }

    private mutating func add(_ object: Object) -> Int {
        objects.append(object)
        return objects.count - 1
    }

    private func bytes(root: Int) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        let referenceSize = Self.size(of: objects.count)
        for object in objects {
            offsets.append(bytes.count)
            switch object {
            case .bytes(let value): bytes += value
            case .list(let marker, let count, let places):
                bytes += Self.header(marker, count)
                for place in places { bytes += Self.bigEndian(place, referenceSize) }
            }
        }
        let table = bytes.count
        let offsetSize = Self.size(of: table)
        for offset in offsets { bytes += Self.bigEndian(offset, offsetSize) }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        for number in [objects.count, root, table] { bytes += Self.bigEndian(number, 8) }
        return bytes
    }

    // MARK: - Values

    /// The encoded form of a value without parts.
    static func bytes(of value: StoredValue) -> [UInt8] {
        switch value {
        case .null, .array, .dictionary: return [0x00]
        case .bool(let value): return [value ? 0x09 : 0x08]
        case .integer(let value):
            guard let small = Int(exactly: value), small >= 0 else {
                // Negative integers have 8 bytes, and integers above the largest `Int64` have 16.
                let size = value < 0 ? 8 : 16
                return [size == 8 ? 0x13 : 0x14]
                    + (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
            }
            let size = size(of: small)
            return [0x10 | UInt8(size.trailingZeroBitCount)] + bigEndian(small, size)
        case .double(let value): return [0x23] + bigEndian(value.bitPattern)
        case .date(let value): return [0x33] + bigEndian(value.timeIntervalSinceReferenceDate.bitPattern)
        case .data(let value): return header(0x40, value.count) + value
        case .string(let value):
            let units = Array(value.utf16)
            guard units.contains(where: { $0 >= 0x80 }) else { return header(0x50, units.count) + Array(value.utf8) }
            return header(0x60, units.count) + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        }
    }

    private static func header(_ marker: UInt8, _ count: Int) -> [UInt8] {
        guard count >= 0xF else { return [marker | UInt8(count)] }
        return [marker | 0xF] + bytes(of: .integer(Int128(count)))
    }

    private static func size(of number: Int) -> Int {
        number < 1 << 8 ? 1 : number < 1 << 16 ? 2 : number < 1 << 32 ? 4 : 8
    }

    private static func bigEndian(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static func bigEndian(_ bits: UInt64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) }
    }
}
