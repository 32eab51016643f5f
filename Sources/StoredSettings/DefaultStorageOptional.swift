// SPDX-License-Identifier: Apache-2.0

/// An optional property whose value is stored under a key.
///
/// `nil` means that nothing is stored, and assigning `nil` removes the stored value.
///
/// ```swift
/// struct ServerSettings: Sendable {
///     @DefaultStorageOptional(key: "lastDeploy") var lastDeploy: Date?
/// }
/// ```
///
/// To store `nil` as a value of its own, use ``DefaultStorage`` with an optional
/// type and a default. In all other respects the two wrappers are alike.
@propertyWrapper
public struct DefaultStorageOptional<Value: Sendable>: Sendable {
    @usableFromInline let setting: Setting<Value?>

    /// The stored value; `nil` while no usable value is stored.
    public var wrappedValue: Value? {
        @inlinable get { setting.value }
        nonmutating set { setting.value = newValue }
    }

    /// The setting itself, to update, reset, observe or explain it.
    public var projectedValue: Setting<Value?> { setting }
}

extension DefaultStorageOptional {
    /// Stores the property under a key that is defined elsewhere.
    ///
    /// - Parameters:
    ///   - key: The definition.
    ///   - suite: The suite that stores the value.
    public init(_ key: SettingKey<Value?>, suite: SettingsSuite = .standard) {
        setting = Setting(key, suite: suite)
    }

    /// Stores the property under a key, converted by a bridge.
    ///
    /// - Parameters:
    ///   - key: The key: any non-empty string.
    ///   - suite: The suite that stores the value.
    ///   - bridge: The conversions of the type inside the optional.
    ///   - validate: Returns whether a value is valid. It is not called for `nil`.
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        setting = Setting(key, suite: suite, as: bridge, validate: validate)
    }

    /// Stores the property under a key that is a case of an enum, converted by a bridge.
    ///
    /// - Parameters:
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite that stores the value.
    ///   - bridge: The conversions of the type inside the optional.
    ///   - validate: Returns whether a value is valid. It is not called for `nil`.
    public init(
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        setting = Setting(key.rawValue, suite: suite, as: bridge, validate: validate)
    }
}

extension DefaultStorageOptional where Value: StoredValueConvertible {
    /// Stores the property under a key.
    ///
    /// - Parameters:
    ///   - key: The key: any non-empty string.
    ///   - suite: The suite that stores the value.
    ///   - validate: Returns whether a value is valid. It is not called for `nil`.
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        setting = Setting(key, suite: suite, validate: validate)
    }

    /// Stores the property under a key that is a case of an enum.
    ///
    /// - Parameters:
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite that stores the value.
    ///   - validate: Returns whether a value is valid. It is not called for `nil`.
    public init(
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        setting = Setting(key.rawValue, suite: suite, validate: validate)
    }

    /// Stores the property under a key, with values in a range.
    ///
    /// - Parameters:
    ///   - key: The key: any non-empty string.
    ///   - suite: The suite that stores the value.
    ///   - range: The valid values, apart from `nil`. Others are neither stored nor returned.
    ///   - validate: Returns whether a value of the range is valid.
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        in range: some RangeExpression<Value> & Sendable,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        setting = Setting(key, suite: suite, in: range, validate: validate)
    }

    /// Stores the property under a key that is a case of an enum, with values in a range.
    ///
    /// - Parameters:
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite that stores the value.
    ///   - range: The valid values, apart from `nil`.
    ///   - validate: Returns whether a value of the range is valid.
    public init(
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        in range: some RangeExpression<Value> & Sendable,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        setting = Setting(key.rawValue, suite: suite, in: range, validate: validate)
    }
}
