// SPDX-License-Identifier: Apache-2.0

// Declarations that the compiler rejects, with the fix in the message: the mistakes that people make, and for which the compiler
// has no clear message of its own. None of them can be called.

/// The body of an unavailable declaration.
///
/// It is never run: the compiler rejects every call of such a declaration.
private func unavailable() -> Never {
    fatalError("An unavailable declaration was called.")
}

extension DefaultStorage {
    /// Unavailable: the property needs a key.
    @available(*, unavailable, message: "Add a key: @DefaultStorage(key: \"port\").")
    public init(wrappedValue: Value) { unavailable() }

    /// Unavailable: the property needs a default.
    @available(*, unavailable, message: "Add a default, or use @DefaultStorageOptional for a value that may be nil.")
    @_disfavoredOverload
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) { unavailable() }

    /// Unavailable: the type needs a conversion.
    @available(*, unavailable, message: "Conform the type to StoredValueConvertible, or pass a bridge as `as:`.")
    @_disfavoredOverload
    public init(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) { unavailable() }

    /// Unavailable: a string needs the label `key:`.
    @available(*, unavailable, message: "A string key has a label: @DefaultStorage(key: \"port\").")
    @_disfavoredOverload
    public init(wrappedValue: Value, _ key: String, suite: SettingsSuite = .standard) { unavailable() }
}

extension DefaultStorageOptional {
    /// Unavailable: `nil` means that nothing is stored, so there is no default.
    @available(*, unavailable, message: "Remove the initial value, or use @DefaultStorage for a default.")
    public init(
        wrappedValue: Value?,
        key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) { unavailable() }

    /// Unavailable: the type needs a conversion.
    @available(*, unavailable, message: "Conform the type to StoredValueConvertible, or pass a bridge as `as:`.")
    @_disfavoredOverload
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) { unavailable() }

    /// Unavailable: a string needs the label `key:`.
    @available(*, unavailable, message: "A string key has a label: @DefaultStorageOptional(key: \"port\").")
    @_disfavoredOverload
    public init(_ key: String, suite: SettingsSuite = .standard) { unavailable() }
}

extension SettingsSuite {
    /// Unavailable: the value has the type of the key.
    @available(*, unavailable, message: "The value and the key have different types.")
    @_disfavoredOverload
    public subscript<Value, Other>(key: SettingKey<Value>) -> Other {
        get { unavailable() }
        nonmutating set { unavailable() }
    }
}

extension SettingsTransaction {
    /// Unavailable: the value has the type of the key.
    @available(*, unavailable, message: "The value and the key have different types.")
    @_disfavoredOverload
    public subscript<Value, Other>(key: SettingKey<Value>) -> Other {
        get { unavailable() }
        set { unavailable() }
    }
}
