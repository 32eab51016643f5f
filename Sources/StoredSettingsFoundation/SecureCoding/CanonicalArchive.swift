// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// An archive in canonical order, so that equal objects are stored as equal bytes.
///
/// Foundation writes the parts of an object and the contents of sets and dictionaries in an order that varies between
/// archives. In that order, assigning an equal object would be a change.
struct CanonicalArchive {
    private let archive: KeyedArchive
    /// The indexes of objects in the archive, in the order in which they are written.
    private var order: [Int] = []
    private var newNumbers: [Int: Int] = [:]
    private var digests: [Int: UInt64] = [:]

    /// Returns an archive in canonical order.
    ///
    /// - Returns: The unchanged archive if it contains an unknown construct.
    static func bytes(of archived: Data) -> Data {
        do {
            let archive = try KeyedArchive(archived)
            try archive.checkDepth()
            var canonical = CanonicalArchive(archive: archive)
            return try canonical.bytes()
        } catch {
            // The archive can still be read, but not compared.
            return archived
        }
    }

    private init(archive: KeyedArchive) {
        self.archive = archive
    }

    private mutating func bytes() throws -> Data {
        // The first object of an archive represents `nil`.
        let root = number(of: 0) == 0 ? number(of: archive.root) : 0
        var objects: [BinaryPropertyListWriter.Node] = []
        while objects.count < order.count { objects.append(try node(ofObject: order[objects.count])) }
        return BinaryPropertyListWriter.bytes(
            of: .dictionary([
                ("$archiver", .value("NSKeyedArchiver")), ("$objects", .array(objects)),
                ("$top", .dictionary([("root", .reference(root))])), ("$version", .value(100_000)),
            ])
        )
    }

    /// The index at which an object is written; the next free index for a new object.
    private mutating func number(of index: Int) -> Int {
        if let number = newNumbers[index] { return number }
        newNumbers[index] = order.count
        order.append(index)
        return order.count - 1
    }

    // MARK: - Objects

    private mutating func node(ofObject index: Int) throws -> BinaryPropertyListWriter.Node {
        try numbered(parts(ofObject: index))
    }

    /// Returns the node with the indexes at which objects are written.
    private mutating func numbered(_ node: BinaryPropertyListWriter.Node) -> BinaryPropertyListWriter.Node {
        switch node {
        case .value: return node
        case .reference(let index): return .reference(number(of: index))
        case .array(let elements): return .array(elements.map { numbered($0) })
        case .dictionary(let entries): return .dictionary(entries.map { ($0.name, numbered($0.value)) })
        }
    }

    /// The parts of an object, in canonical order.
    private mutating func parts(ofObject index: Int) throws -> BinaryPropertyListWriter.Node {
        let parts = try node(at: archive.objects[index])
        guard case .dictionary(var entries) = parts, let name = try archive.className(ofObject: index) else {
            return parts
        }
        let contents = entries.firstIndex { $0.name == "NS.objects" }
        let names = entries.firstIndex { $0.name == "NS.keys" }
        switch name {
        case "NSSet", "NSMutableSet":
            guard let contents, case .array(let elements) = entries[contents].value else { break }
            entries[contents].value = .array(try sorted(elements, elements))
        case "NSDictionary", "NSMutableDictionary":
            guard let contents, case .array(let values) = entries[contents].value, let names,
                case .array(let keys) = entries[names].value, keys.count == values.count
            else { break }
            entries[names].value = .array(try sorted(keys, keys))
            entries[contents].value = .array(try sorted(values, keys))
        default: break
        }
        return .dictionary(entries)
    }

    /// Returns nodes in the order of the digests of other nodes.
    private mutating func sorted(
        _ nodes: [BinaryPropertyListWriter.Node],
        _ others: [BinaryPropertyListWriter.Node]
    ) throws -> [BinaryPropertyListWriter.Node] {
        var keyed: [(digest: UInt64, node: BinaryPropertyListWriter.Node)] = []
        for (node, other) in zip(nodes, others) { keyed.append((try digest(of: other), node)) }
        return keyed.sorted { $0.digest < $1.digest }.map(\.node)
    }

    private func node(at place: Int) throws -> BinaryPropertyListWriter.Node {
        switch archive.list.objects[place] {
        case .value(let value): return .value(value)
        case .reference(let index): return .reference(index)
        case .array(let places): return .array(try places.map(node))
        case .dictionary:
            guard let entries = archive.list.dictionary(at: place) else { throw KeyedArchive.damaged }
            return .dictionary(try entries.sorted { $0.key < $1.key }.map { ($0.key, try node(at: $0.value)) })
        }
    }

    // MARK: - Digests

    /// A digest that depends only on the contents of a node and is the same in every process.
    private mutating func digest(of node: BinaryPropertyListWriter.Node) throws -> UInt64 {
        switch node {
        case .value(let value): return Self.combine(1, BinaryPropertyListWriter.bytes(of: value))
        case .array(let elements):
            return try elements.reduce(2) { Self.combine($0, try digest(of: $1)) }
        case .dictionary(let entries):
            return try entries.reduce(3) {
                Self.combine(Self.combine($0, Array($1.name.utf8)), try digest(of: $1.value))
            }
        case .reference(let index):
            if let digest = digests[index] { return digest }
            // The archive was checked for cycles and depth.
            let digest = try digest(of: parts(ofObject: index))
            digests[index] = digest
            return digest
        }
    }

    private static func combine(_ digest: UInt64, _ other: UInt64) -> UInt64 {
        combine(digest, (0..<8).map { UInt8(truncatingIfNeeded: other >> ($0 * 8)) })
    }

    /// The FNV-1a hash.
    private static func combine(_ digest: UInt64, _ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(digest ^ 0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
