// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// Reads binary property lists, as far as archives need it.
///
/// Foundation reads them too, but on Linux it does not expose the index of a reference in an archive. No input makes
/// this reader trap: it throws for malformed bytes and for anything that Foundation would read differently.
struct BinaryPropertyList {
    /// An object that refers to its parts by index.
    enum Object {
        /// A value without parts.
        case value(StoredValue)
        /// A reference in an archive.
        case reference(Int)
        /// An array of indexes.
        case array([Int])
        /// The indexes of keys and values.
        case dictionary([(name: Int, value: Int)])
    }

    /// The error for malformed bytes.
    struct Malformed: Error {}

    /// The objects by index.
    let objects: [Object]
    /// The index of the root object.
    let root: Int

    private static let magic = Array("bplist00".utf8)
    private static let trailerSize = 32

    /// Reads a property list.
    ///
    /// - Throws: ``Malformed``.
    init(_ bytes: [UInt8]) throws {
        guard bytes.count >= Self.magic.count + Self.trailerSize, bytes.starts(with: Self.magic) else {
            throw Malformed()
        }
        let trailer = bytes.count - Self.trailerSize
        let offsetSize = Int(bytes[trailer + 6])
        var reader = Reader(bytes: bytes, end: trailer, referenceSize: Int(bytes[trailer + 7]))
        let count = try Reader(bytes: bytes, end: bytes.count).integer(at: trailer + 8, size: 8)
        root = try Reader(bytes: bytes, end: bytes.count).integer(at: trailer + 16, size: 8)
        let table = try Reader(bytes: bytes, end: bytes.count).integer(at: trailer + 24, size: 8)
        // Each object has an offset, so there are at most as many objects as bytes.
        guard (1...8).contains(offsetSize), (1...8).contains(reader.referenceSize), count <= bytes.count,
            root < count
        else { throw Malformed() }
        reader.count = count
        var objects: [Object] = []
        for index in 0..<count {
            let offset = try reader.integer(at: table, index: index, size: offsetSize)
            objects.append(try reader.object(at: offset))
        }
        self.objects = objects
        // Readers disagree on a key that is not a string or appears twice.
        for place in objects.indices {
            if case .dictionary = objects[place], dictionary(at: place) == nil { throw Malformed() }
        }
    }

    /// The string at an index; `nil` for any other object.
    func string(at place: Int) -> String? {
        guard case .value(.string(let text)) = objects[place] else { return nil }
        return text
    }

    /// The dictionary at an index; `nil` for any other object or if a key appears twice.
    func dictionary(at place: Int) -> [String: Int]? {
        guard case .dictionary(let entries) = objects[place] else { return nil }
        var result: [String: Int] = [:]
        for (name, value) in entries {
            guard let name = string(at: name), result.updateValue(value, forKey: name) == nil else { return nil }
        }
        return result
    }
}

extension BinaryPropertyList {
    /// Reads integers and objects within the bounds of the bytes.
    private struct Reader {
        let bytes: [UInt8]
        let end: Int
        var referenceSize = 0
        var count = 0

        func bits(at offset: Int, size: Int) throws -> UInt64 {
            guard offset >= 0, size <= 8, offset <= end - size else { throw Malformed() }
            return bytes[offset..<offset + size].reduce(0) { $0 << 8 | UInt64($1) }
        }

        func integer(at offset: Int, size: Int) throws -> Int {
            guard let result = Int(exactly: try bits(at: offset, size: size)) else { throw Malformed() }
            return result
        }

        /// An integer of a table.
        func integer(at offset: Int, index: Int, size: Int) throws -> Int {
            let (place, isTooFar) = offset.addingReportingOverflow(index * size)
            guard !isTooFar else { throw Malformed() }
            return try integer(at: place, size: size)
        }

        func object(at offset: Int) throws -> Object {
            let marker = try integer(at: offset, size: 1)
            switch marker >> 4 {
            case 0x8: return .reference(try integer(at: offset + 1, size: (marker & 0xF) + 1))
            case 0xA: return .array(try places(at: offset, lists: 1))
            case 0xD:
                let places = try places(at: offset, lists: 2)
                let names = places.prefix(places.count / 2)
                return .dictionary(zip(names, places.dropFirst(names.count)).map { (name: $0, value: $1) })
            default: return .value(try value(at: offset, marker))
            }
        }

        private func value(at offset: Int, _ marker: Int) throws -> StoredValue {
            switch marker {
            case 0x08, 0x09: return .bool(marker == 0x09)
            case 0x10, 0x11, 0x12:
                return .integer(Int128(try integer(at: offset + 1, size: 1 << (marker & 0xF))))
            case 0x13: return .integer(Int128(Int64(bitPattern: try bits(at: offset + 1, size: 8))))
            // No known writer uses more than 64 bits of wider integers.
            case 0x14: return .integer(Int128(try bits(at: offset + 9, size: 8)))
            case 0x22: return .double(Double(Float(bitPattern: UInt32(try bits(at: offset + 1, size: 4)))))
            case 0x23: return .double(Double(bitPattern: try bits(at: offset + 1, size: 8)))
            case 0x33:
                let seconds = Double(bitPattern: try bits(at: offset + 1, size: 8))
                return .date(Date(timeIntervalSinceReferenceDate: seconds))
            case 0x40...0x4F:
                let (length, start) = try length(at: offset)
                guard length <= end - start else { throw Malformed() }
                return .data(Data(bytes[start..<start + length]))
            case 0x50...0x5F: return .string(try string(at: offset, unitSize: 1))
            case 0x60...0x6F: return .string(try string(at: offset, unitSize: 2))
            // Archives contain no other type, and Foundation mishandles sets.
            default: throw Malformed()
            }
        }

        /// The number of parts of an object, and the offset of the first.
        private func length(at offset: Int) throws -> (count: Int, start: Int) {
            let low = try integer(at: offset, size: 1) & 0xF
            guard low == 0xF else { return (low, offset + 1) }
            let marker = try integer(at: offset + 1, size: 1)
            guard marker >> 4 == 0x1, marker & 0xF <= 3 else { throw Malformed() }
            let size = 1 << (marker & 0xF)
            return (try integer(at: offset + 2, size: size), offset + 2 + size)
        }

        private func string(at offset: Int, unitSize: Int) throws -> String {
            let (count, start) = try length(at: offset)
            guard count <= (end - start) / unitSize else { throw Malformed() }
            let units = try (0..<count).map { UInt16(try integer(at: start, index: $0, size: unitSize)) }
            guard unitSize > 1 || units.allSatisfy({ $0 < 0x80 }) else { throw Malformed() }
            return String(decoding: units, as: UTF16.self)
        }

        private func places(at offset: Int, lists: Int) throws -> [Int] {
            let (length, start) = try length(at: offset)
            guard length <= (end - start) / referenceSize / lists else { throw Malformed() }
            return try (0..<length * lists)
                .map { index in
                    let place = try integer(at: start, index: index, size: referenceSize)
                    guard place < count else { throw Malformed() }
                    return place
                }
        }
    }
}
