// SPDX-License-Identifier: Apache-2.0

/// An optional property whose value is stored under a key: `nil` means that nothing is stored, and assigning `nil`
/// removes what is.
///
/// ```swift
/// struct ServerSettings: Sendable {
///     @DefaultStorageOptional(key: "lastDeploy") var lastDeploy: Date?
/// }
/// ```
///
/// To keep `nil` as a value of its own, apart from nothing at all, use ``DefaultStorage`` with an optional type and a
/// default. In everything else the two are alike.
@propertyWrapper
public struct DefaultStorageOptional<Value: Sendable>: Sendable {
    @usableFromInline let setting: Setting<Value?>

    /// The value that is stored; `nil` while nothing is, or nothing that can be used.
    public var wrappedValue: Value? {
        @inlinable get { setting.value }
        nonmutating set { setting.value = newValue }
    }

    /// The setting itself, to update, reset, watch or explain.
    public var projectedValue: Setting<Value?> { setting }
}

extension DefaultStorageOptional {
    /// Stores the property under a key that is defined elsewhere.
    ///
    /// - Parameters:
    ///   - key: The definition.
    ///   - suite: The suite it is kept in.
    public init(_ key: SettingKey<Value?>, suite: SettingsSuite = .standard) {
        setting = Setting(key, suite: suite)
    }

    /// Stores the property under a key, through a bridge.
    ///
    /// - Parameters:
    ///   - key: The key; any text that is not empty.
    ///   - suite: The suite it is kept in.
    ///   - bridge: The conversions of the type inside the optional.
    ///   - validate: Which values the setting takes. It is not asked about `nil`.
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        let form = SettingFingerprint(absent: .bridged(by: bridge), .anything(validate))
        setting = .shared(key, form, in: suite) { SettingKey(key, as: bridge, validate: validate) }
    }

    /// Stores the property under a key that is a case of an enum, through a bridge.
    ///
    /// - Parameters:
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite it is kept in.
    ///   - bridge: The conversions of the type inside the optional.
    ///   - validate: Which values the setting takes. It is not asked about `nil`.
    public init(
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(key: key.rawValue, suite: suite, as: bridge, validate: validate)
    }
}

extension DefaultStorageOptional where Value: StoredValueConvertible {
    /// Stores the property under a key.
    ///
    /// - Parameters:
    ///   - key: The key; any text that is not empty.
    ///   - suite: The suite it is kept in.
    ///   - validate: Which values the setting takes. It is not asked about `nil`.
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        let form = SettingFingerprint(absent: .convertible, .anything(validate))
        setting = .shared(key, form, in: suite) { SettingKey(key, validate: validate) }
    }

    /// Stores the property under a key that is a case of an enum.
    ///
    /// - Parameters:
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite it is kept in.
    ///   - validate: Which values the setting takes. It is not asked about `nil`.
    public init(
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(key: key.rawValue, suite: suite, validate: validate)
    }

    /// Stores the property under a key, if its value lies in a range.
    ///
    /// - Parameters:
    ///   - key: The key; any text that is not empty.
    ///   - suite: The suite it is kept in.
    ///   - range: The values that the setting takes, beside `nil`. Another is neither stored nor read.
    ///   - validate: Which values of the range the setting takes.
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        in range: some RangeExpression<Value> & Sendable,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        let form = SettingFingerprint(absent: .convertible, .within(range, validate))
        setting = .shared(key, form, in: suite) { SettingKey(key, in: range, validate: validate) }
    }

    /// Stores the property under a key that is a case of an enum, if its value lies in a range.
    ///
    /// - Parameters:
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite it is kept in.
    ///   - range: The values that the setting takes, beside `nil`.
    ///   - validate: Which values of the range the setting takes.
    public init(
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        in range: some RangeExpression<Value> & Sendable,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        self.init(key: key.rawValue, suite: suite, in: range, validate: validate)
    }
}
