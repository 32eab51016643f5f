// SPDX-License-Identifier: Apache-2.0

/// Who made a change.
public enum SettingChangeOrigin: Sendable, Hashable {
    /// This process.
    case local
    /// Another process, or a person with an editor.
    case external
}

/// One change of a setting.
public struct SettingChange<Value: Sendable>: Sendable {
    /// The value before.
    public let old: Value
    /// The value now.
    public let new: Value
    /// Who changed it.
    ///
    /// Where several changes were seen as one, who made the last.
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

/// What changed in a suite at once: one key, or all the keys of a transaction.
///
/// ```swift
/// for await change in suite.changes {
///     for key in change.keys {
///         print(key, change[key]?.new ?? .null)
///     }
/// }
/// ```
public struct SettingsSuite.Change: Sendable, Hashable {
    /// What was and what is stored, by key.
    ///
    /// `nil` means that nothing is stored.
    public let changes: [String: SettingChange<StoredValue?>]
    /// Who made the change.
    ///
    /// Where several changes were seen as one, who made the last.
    public let origin: SettingChangeOrigin

    /// Creates a change of some keys.
    public init(changes: [String: SettingChange<StoredValue?>], origin: SettingChangeOrigin) {
        self.changes = changes
        self.origin = origin
    }

    /// The keys that changed, in order.
    public var keys: [String] { changes.keys.sorted() }

    /// What was and what is stored under a key, when it changed.
    public subscript(key: String) -> SettingChange<StoredValue?>? { changes[key] }
}
