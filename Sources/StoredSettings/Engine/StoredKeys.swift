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
        if let value = value(forKey: keys.current) { return value }
        // Of one moment: a value that is moved meanwhile may be missed under each key.
        let contents = contents()
        return keys.value { value(ofKey: $0, in: contents) }
    }

    /// The newest value of a setting, saved or pending, and its version.
    func valueAndVersion(
        for keys: StoredKeys,
        _ storeVersion: StoreVersion
    ) -> (value: StoredValue?, version: StoreVersion.Version) {
        let (current, version) = valueAndVersion(forKey: keys.current, storeVersion)
        guard current == nil, !keys.old.isEmpty else { return (current, version) }
        // If the version is older than the value, the value is not cached.
        return (value(for: keys), version)
    }

    /// The warning about a value of a setting that has no effect; `nil` if there is none.
    func ignoredValue(of keys: StoredKeys) -> SettingsError? {
        if let old = ignoredOldKey(of: keys) { return .ignoredOldKey(old, of: keys.current) }
        guard findsKeysInObjects else { return nil }
        // Contents are needed only if an object has another value.
        let isAnyOther = keys.current.divisions.contains { object, member in
            guard case .dictionary(let members)? = value(forKey: object), let other = members.value(forKey: member)
            else {
                return false
            }
            return other != value(forKey: keys.current)
        }
        return isAnyOther ? ignoredMember(of: keys.current, in: contents()) : nil
    }

    /// The warning about a member with a key that is the name of a value, too; `nil` if there is none.
    func ignoredMember(of key: String, in contents: [String: StoredValue]) -> SettingsError? {
        guard findsKeysInObjects else { return nil }
        return ignoredObject(ofKey: key) { contents[$0] }.map { .ignoredMember(of: $0, key: key) }
    }

    /// The first old key with a value, if the current key has one, too; `nil` if not.
    private func ignoredOldKey(of keys: StoredKeys) -> String? {
        guard isStoredUnderOldKey(keys) else { return nil }
        // Of one moment: the keys may be changed meanwhile.
        let contents = contents()
        guard value(ofKey: keys.current, in: contents) != nil else { return nil }
        return keys.old.first { value(ofKey: $0, in: contents) != nil }
    }

    /// The value of a key in contents of this engine.
    func value(ofKey key: String, in contents: [String: StoredValue]) -> StoredValue? {
        value(ofKey: key) { contents[$0] }
    }

    /// The value of a key among named values, which may be in an object if the store finds it there.
    func value(ofKey key: String, _ named: (String) -> StoredValue?) -> StoredValue? {
        findsKeysInObjects ? StoredSettings.value(ofKey: key, named) : named(key)
    }

    /// Whether a value is stored under an old key.
    func isStoredUnderOldKey(_ keys: StoredKeys) -> Bool {
        keys.old.contains { value(forKey: $0) != nil }
    }
}
