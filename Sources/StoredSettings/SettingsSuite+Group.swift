// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "A group is a suite behind a prefix".

/// The keys of a suite that begin with a prefix.
///
/// An object, because every setting that is created in the group uses it.
final class SuiteGroup: Sendable {
    /// The prefix with the separator, such as `db.`.
    let prefix: String
    /// The suite with all keys.
    let whole: SettingsSuite

    init(_ prefix: String, of whole: SettingsSuite) {
        (self.prefix, self.whole) = (prefix, whole)
    }

    /// The name of the group.
    var name: Substring { prefix.dropLast() }

    /// Returns the key in the suite; an empty key stays empty, which is an error.
    func key(_ key: String) -> String { key.isEmpty ? key : prefix + key }

    /// Returns the part of a suite's key after the prefix; `nil` for a key of no setting of the group.
    func relative(_ key: String) -> String? {
        if key.utf8.starts(with: prefix.utf8) {
            // Not by characters: the first one of the rest may be a mark that is combined with the separator.
            let rest = key.utf8.dropFirst(prefix.utf8.count)
            return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
        }
        // Another form of the same characters.
        let rest = key.hasPrefix(prefix) ? key.dropFirst(prefix.count) : ""
        return rest.isEmpty ? nil : String(rest)
    }

    func keys(_ keys: StoredKeys) -> StoredKeys { StoredKeys(key(keys.current), old: keys.old.map(key)) }

    func metadata(_ metadata: SettingMetadata) -> SettingMetadata {
        SettingMetadata(help: metadata.help, traits: metadata.traits.inGroup(self))
    }
}

extension SettingsSuite {
    /// Returns the settings of this suite whose keys begin with a name and a period, as a suite of their own.
    ///
    /// ```swift
    /// let database = suite.group("db")
    /// database[storedValueFor: "host"]                                    // stored under the key db.host
    /// let host = Setting("host", default: "localhost", suite: database)   // has the key db.host
    /// ```
    ///
    /// A group has the sources and the reporter of its suite. Keys that are passed to a group, or that it returns,
    /// have no prefix: strings, and keys such as `.quality`. Its ``keys``, ``snapshot()``, ``changes()`` and ``removeAll()`` and its
    /// transactions are about the keys of the group alone. ``synchronize()``, ``checkpoint()`` and ``finish()`` are about the whole
    /// suite.
    ///
    /// A setting has its whole key, such as `db.host`, and belongs to the whole suite. So it is the same setting, whether it was
    /// created with the group or with the whole key. Its flag and its variable follow from the whole key: `--db-host`. Old
    /// keys, and names that traits give to the flag and the variable, receive the prefix as well.
    ///
    /// - Parameter name: The name. A name with periods stands for groups of groups: `"db.pool"`. The suite itself is
    ///   returned for an empty one.
    /// - Returns: The group.
    public func group(_ name: String) -> SettingsSuite {
        guard !name.isEmpty else { return self }
        return with(prefix: fullKey(name) + ".")
    }

    /// Creates a value whose settings are in a group of this suite.
    ///
    /// ```swift
    /// struct DatabaseSettings: Sendable {
    ///     @DefaultStorage(key: "host") var host = "localhost"
    /// }
    ///
    /// struct ServerSettings: Sendable {
    ///     let primary = SettingsSuite.standard.group("primary") { DatabaseSettings() }    // primary.host
    ///     let replica = SettingsSuite.standard.group("replica") { DatabaseSettings() }    // replica.host
    /// }
    /// ```
    ///
    /// While the closure runs, the group is the standard suite, and replaces this suite for settings that name it.
    ///
    /// - Parameters:
    ///   - name: The name: see ``group(_:)``.
    ///   - make: Creates the value.
    /// - Returns: The value.
    /// - Throws: The error of the closure.
    public func group<Value>(_ name: String, _ make: () throws -> Value) rethrows -> Value {
        let group = group(name)
        let names = Self.names(replacedBy: self) + [self.name]
        let suites = Dictionary(names.map { ($0, group) }) { first, _ in first }
        return try Self.withSuites(suites) { try Self.withStandard(group, operation: make) }
    }

    /// The whole suite of a group.
    var whole: SettingsSuite { group?.whole ?? self }

    /// The box of a setting that is declared in this suite: see ``box(named:_:_:makeKey:)``.
    ///
    /// A key is made from the name and the metadata in the whole suite.
    @inline(__always)
    func declaredBox<Value>(
        named name: String,
        _ fingerprint: SettingFingerprint?,
        _ metadata: SettingMetadata,
        makeKey: (String, SettingMetadata) -> SettingKey<Value>
    ) -> SettingBox<Value> {
        // Without a group, nothing is copied.
        guard let group else { return box(named: name, fingerprint, metadata) { makeKey(name, metadata) } }
        let (name, metadata) = (group.key(name), group.metadata(metadata))
        return group.whole.box(named: name, fingerprint, metadata) { makeKey(name, metadata) }
    }

    /// Returns the key in the whole suite.
    func fullKey(_ key: String) -> String { group?.key(key) ?? key }

    /// Returns the keys in the whole suite under which a value may be stored.
    func fullKeys(_ key: AnySettingKey) -> StoredKeys { group?.keys(key.storedKeys) ?? key.storedKeys }

    /// Returns the contents of this group, without its prefix.
    func own<Value>(_ contents: [String: Value]) -> [String: Value] {
        guard let group else { return contents }
        let own = contents.compactMap { key, value in group.relative(key).map { ($0, value) } }
        return Dictionary(own) { first, _ in first }
    }
}
