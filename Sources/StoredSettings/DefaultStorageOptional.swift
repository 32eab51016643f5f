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
        nonmutating _modify { yield &setting.value }
    }

    /// The setting itself, to update, reset, observe or explain it.
    public var projectedValue: Setting<Value?> { setting }
}

extension DefaultStorageOptional: CustomStringConvertible {
    /// The ``Setting/description`` of the setting, without the value.
    public var description: String { setting.description }
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

    /// Stores the property under a key.
    ///
    /// - Parameters:
    ///   - key: The key: any non-empty string.
    ///   - suite: The suite that stores the value.
    ///   - valid: The valid values, apart from `nil`. Others are neither stored nor returned.
    ///   - validate: Returns whether one of the valid values is valid. It is not called for `nil`.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value: StoredValueConvertible {
        setting = Setting(key, suite: suite, in: valid, validate: validate, help: help, traits: traits)
    }

    /// Stores the property under a key that is a case of an enum.
    ///
    /// - Parameters:
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite that stores the value.
    ///   - valid: The valid values, apart from `nil`. Others are neither stored nor returned.
    ///   - validate: Returns whether one of the valid values is valid. It is not called for `nil`.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init(
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value: StoredValueConvertible {
        setting = Setting(key.rawValue, suite: suite, in: valid, validate: validate, help: help, traits: traits)
    }

    /// Stores the property under a key, converted by a bridge.
    ///
    /// - Parameters:
    ///   - key: The key: any non-empty string.
    ///   - suite: The suite that stores the value.
    ///   - valid: The valid values, apart from `nil`. Others are neither stored nor returned.
    ///   - bridge: The conversions of the type inside the optional.
    ///   - validate: Returns whether one of the valid values is valid. It is not called for `nil`.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) {
        setting = Setting(key, suite: suite, in: valid, as: bridge, validate: validate, help: help, traits: traits)
    }
}
