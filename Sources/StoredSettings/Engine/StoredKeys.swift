// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "A renamed setting is read under its old key".

/// The keys under which the value of a setting may be stored: its own, and those that it had before it was renamed.
package struct StoredKeys: Sendable {
    /// The key of the setting.
    let current: String
    /// The keys that it had before, newest first.
    package let old: [String]

    package init(_ current: String, old: [String] = []) {
        self.current = current
        self.old = old.contains(current) ? old.filter { $0 != current } : old
    }

    /// All keys, those that take precedence first.
    package var all: [String] { [current] + old }

    /// Returns the stored value of the first key that has one.
    package func value(_ stored: (String) throws -> StoredValue?) rethrows -> StoredValue? {
        if let value = try stored(current) { return value }
        for key in old {
            if let value = try stored(key) { return value }
        }
        return nil
    }

    /// The assignments that store a value under the current key alone, or remove it.
    ///
    /// If they are made one after the other, readers see the value before and the value after, and no other.
    package func edits(_ value: StoredValue?) -> [(key: String, value: StoredValue?)] {
        let removals = old.reversed().map { (key: $0, value: StoredValue?.none) }
        return value == nil ? removals + [(current, nil)] : [(current, value)] + removals
    }
}

extension SettingsEngine {
    /// The newest value of a setting, saved or pending.
    func value(for keys: StoredKeys) -> StoredValue? {
        guard !keys.old.isEmpty else { return value(forKey: keys.current) }
        // A value that is moved meanwhile may be missed under each key.
        for _ in 0..<Self.maximumReads {
            let before = version
            let value = keys.value { self.value(forKey: $0) }
            if value != nil || version == before { return value }
        }
        let contents = contents()
        return keys.value { contents[$0] }
    }

    /// The newest value of a setting, saved or pending, and its version.
    func valueAndVersion(
        for keys: StoredKeys,
        _ storeVersion: StoreVersion
    ) -> (value: StoredValue?, version: StoreVersion.Version) {
        var (value, version) = valueAndVersion(forKey: keys.current, storeVersion)
        guard value == nil, !keys.old.isEmpty else { return (value, version) }
        for _ in 0..<Self.maximumReads {
            value = self.value(for: keys)
            // With an older version, the value is not cached.
            if value != nil || storeVersion.isCurrent(version) { break }
            version = valueAndVersion(forKey: keys.current, storeVersion).version
        }
        return (value, version)
    }

    /// The first old key with a value, if the current key has one, too; `nil` if not.
    func ignoredOldKey(of keys: StoredKeys) -> String? {
        guard isStoredUnderOldKey(keys) else { return nil }
        // Of one moment: the keys may be changed meanwhile.
        let contents = contents()
        return contents[keys.current] == nil ? nil : keys.old.first { contents[$0] != nil }
    }

    /// The number of times that a value is searched for while other values change all the time.
    private static let maximumReads = 8

    /// Whether a value is stored under an old key.
    func isStoredUnderOldKey(_ keys: StoredKeys) -> Bool {
        keys.old.contains { value(forKey: $0) != nil }
    }
}
