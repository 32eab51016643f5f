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

    /// Creates a change.
    public init(old: Value, new: Value, origin: SettingChangeOrigin) {
        self.old = old
        self.new = new
        self.origin = origin
    }
}

extension SettingChange: Equatable where Value: Equatable {}
extension SettingChange: Hashable where Value: Hashable {}

extension SettingsSuite {
    /// The changes of one commit to a suite: one key, or all the keys of a transaction.
    ///
    /// ```swift
    /// for await change in suite.changes {
    ///     for key in change.keys {
    ///         print(key, change[key]?.new ?? .null)
    ///     }
    /// }
    /// ```
    public struct Change: Sendable, Hashable {
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
    }
}
