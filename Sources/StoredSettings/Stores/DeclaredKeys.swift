// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A key with periods may be in an object".

/// The keys of the settings that a process has declared, by which it knows the keys in an object.
///
/// An object of its own, which a store can use under its lock: it refers to no engine, whose end needs that lock.
package final class DeclaredKeys: Sendable {
    private struct Table {
        var all: Set<String> = []
        /// The keys that an object may contain, by its name.
        var inObjects: [String: Set<String>] = [:]
        /// The number of keys at which those of unused settings are removed.
        var limit = 1_024

        mutating func insert(_ key: String) {
            guard all.insert(key).inserted else { return }
            for division in key.divisions { inObjects[division.object, default: []].insert(key) }
        }
    }

    private let table = Locked(Table())

    package init() {}

    /// Adds the keys of a setting.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - used: Returns the keys of all settings in use, by which others are removed now and then.
    func insert(_ keys: [String], used: () -> some Sequence<String>) {
        let isFull = table.withLock { table in
            for key in keys { table.insert(key) }
            return table.all.count > table.limit
        }
        guard isFull else { return }
        let used = used()
        table.withLock { table in
            table = Table()
            for key in used { table.insert(key) }
            for key in keys { table.insert(key) }
            table.limit = max(table.limit, 2 * table.all.count)
        }
    }

    /// The keys that some objects may contain.
    package func keys(in objects: some Sequence<String>) -> Set<String> {
        table.withLock { table in
            table.inObjects.isEmpty ? [] : objects.reduce(into: []) { $0.formUnion(table.inObjects[$1] ?? []) }
        }
    }

    /// All keys that an object may contain.
    var inObjects: Set<String> { table.withLock { $0.inObjects.values.reduce(into: []) { $0.formUnion($1) } } }

    /// Returns where in an object a new key belongs: beside the value of another declared key.
    ///
    /// - Parameters:
    ///   - key: The key, which has no value. One that no setting has belongs to no object.
    ///   - named: Returns the value with a name.
    /// - Returns: The name of the object, and the names from there to the new member; `nil` if the key belongs to none.
    func place(of key: String, _ named: (String) -> StoredValue?) -> (object: String, path: [String])? {
        table.withLock { table in
            guard table.all.contains(key) else { return nil }
            for (object, member) in key.divisions where !table.all.contains(object) {
                guard case .dictionary(let members)? = named(object) else { continue }
                if let path = Self.path(of: member, in: members, named: object, table) { return (object, path) }
            }
            return nil
        }
    }

    private static func path(
        of key: String,
        in members: [String: StoredValue],
        named object: String,
        _ table: Table
    ) -> [String]? {
        for (inner, member) in key.divisions {
            guard case .dictionary(let others)? = members[inner] else { continue }
            if let path = path(of: member, in: others, named: "\(object).\(inner)", table) { return [inner] + path }
        }
        let hasNeighbor = members.contains { name, value in
            let key = "\(object).\(name)"
            return table.all.contains(key) || value.isDictionary && table.inObjects[key] != nil
        }
        return hasNeighbor ? [key] : nil
    }
}
