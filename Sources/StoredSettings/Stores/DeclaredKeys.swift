// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A key with periods may be in an object".

/// The keys of the settings that a process has declared, by which it knows the keys in an object.
package struct DeclaredKeys: Sendable {
    private var all: Set<String> = []
    /// The keys that an object may contain, by its name.
    private var keys: [String: Set<String>] = [:]

    /// Adds the key of a setting.
    mutating func insert(_ key: String) {
        guard all.insert(key).inserted else { return }
        for division in key.divisions { keys[division.object, default: []].insert(key) }
    }

    /// The keys that some objects may contain.
    func keys(in objects: some Sequence<String>) -> Set<String> {
        keys.isEmpty ? [] : objects.reduce(into: []) { $0.formUnion(keys[$1] ?? []) }
    }

    /// All keys that an object may contain.
    var inObjects: Set<String> { keys(in: keys.keys) }

    /// Whether some contents have an object that may contain a declared key.
    func hasObject(_ named: (String) -> StoredValue?) -> Bool { keys.keys.contains { named($0)?.isDictionary == true } }

    /// Returns the object to which a new key belongs, with the key: one that has the value of another declared key.
    ///
    /// - Parameters:
    ///   - key: The key, which has no value. One that no setting has belongs to no object.
    ///   - value: The value.
    ///   - named: Returns the value with a name.
    /// - Returns: The name of the object, and the object with the value; `nil` if the key belongs to none.
    func object(for key: String, _ value: StoredValue, _ named: (String) -> StoredValue?) -> (String, StoredValue)? {
        for (object, member) in key.divisions where all.contains(key) && !all.contains(object) {
            guard case .dictionary(var members)? = named(object) else { continue }
            let neighbors = (keys[object] ?? []).filter { $0 != key }.map { String($0.dropFirst(object.count + 1)) }
            if members.insert(value, forKey: member, beside: neighbors) { return (object, .dictionary(members)) }
        }
        return nil
    }
}

extension [String: StoredValue] {
    /// Adds a value to the object that has one of some other keys, or to an object in it.
    ///
    /// - Returns: Whether there is one.
    fileprivate mutating func insert(_ value: StoredValue, forKey key: String, beside neighbors: [String]) -> Bool {
        for (object, member) in key.divisions {
            guard case .dictionary(var members)? = self[object] else { continue }
            let inner = neighbors.filter { $0.hasPrefix(object + ".") }.map { String($0.dropFirst(object.count + 1)) }
            guard members.insert(value, forKey: member, beside: inner) else { continue }
            self[object] = .dictionary(members)
            return true
        }
        guard neighbors.contains(where: { self.value(forKey: $0) != nil }) else { return false }
        self[key] = value
        return true
    }
}
