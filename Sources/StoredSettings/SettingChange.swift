// SPDX-License-Identifier: Apache-2.0

/// The process that made a change.
public enum SettingChangeOrigin: Sendable, Hashable {
    /// This process.
    case local
    /// Another process, or an editor.
    case external
}

/// One change of a setting.
public struct SettingChange<Value: Sendable>: Sendable {
    /// The value before the change.
    public let old: Value
    /// The value after the change.
    public let new: Value
    /// The process that made the change; of several changes delivered as one, the process that made the last.
    public let origin: SettingChangeOrigin
    /// Whether the values are those of a secret setting, or one of them is from a secret file.
    var isSecret = false
    /// Whether the value has to be read again even if the old and the new one are equal: layers around the store have changed as
    /// well, or the change stands for those of several settings.
    ///
    /// Only changes of stored values inside the library have it.
    var needsReading = false

    /// Creates a change.
    public init(old: Value, new: Value, origin: SettingChangeOrigin) {
        self.old = old
        self.new = new
        self.origin = origin
    }
}

extension SettingChange: Equatable where Value: Equatable {
    /// Returns whether both changes have the same values and the same origin.
    public static func == (left: SettingChange, right: SettingChange) -> Bool {
        left.old == right.old && left.new == right.new && left.origin == right.origin
    }
}

extension SettingChange: CustomStringConvertible {
    /// The values before and after the change; `••••` for a setting with the trait ``SettingTraits/secret``, and if one of them is
    /// from a secret file.
    public var description: String {
        let (old, new) = isSecret ? (SettingTraits.redactedText, SettingTraits.redactedText) : ("\(old)", "\(new)")
        return "\(old) → \(new) (\(origin))"
    }
}

extension SettingChange: CustomReflectable {
    /// A mirror of the properties, so that `dump` prints no value that the ``description`` does not contain.
    public var customMirror: Mirror {
        isSecret
            ? Mirror(self, children: ["origin": origin])
            : Mirror(self, children: ["old": old, "new": new, "origin": origin])
    }
}

extension SettingsSuite {
    /// The changes of one commit to a suite: one key, or all the keys of a transaction.
    ///
    /// ```swift
    /// for await change in suite.changes() {
    ///     for key in change.keys {
    ///         print(key, change[key]?.new ?? .null)
    ///     }
    /// }
    /// ```
    public struct Change: Sendable, Equatable {
        /// The stored values before and after the change, by key; `nil` where nothing is stored.
        public let changes: [String: SettingChange<StoredValue?>]
        /// The process that made the change; of several changes delivered as one, the process that made the last.
        public let origin: SettingChangeOrigin

        /// Creates a change of some keys.
        public init(changes: [String: SettingChange<StoredValue?>], origin: SettingChangeOrigin) {
            self.changes = changes
            self.origin = origin
        }

        /// The keys that changed, sorted.
        public var keys: [String] { changes.keys.sorted() }

        /// The stored values before and after the change; `nil` when the key did not change.
        public subscript(key: String) -> SettingChange<StoredValue?>? { changes[key] }

        /// The same change, whose description contains no values of secret settings that this process has declared.
        func redacted(in suite: SettingsSuite) -> Change {
            let secrets =
                changes.filter { key, change in
                    // An object can have the secret of another setting.
                    suite.engine.withMembers([suite.fullKey(key)])
                        .contains { suite.engine.isSecret($0, [change.old, change.new]) }
                }
                .keys
            guard !secrets.isEmpty else { return self }
            var redacted = changes
            for key in secrets { redacted[key]?.isSecret = true }
            return Change(changes: redacted, origin: origin)
        }
    }
}
