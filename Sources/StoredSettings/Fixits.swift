// SPDX-License-Identifier: Apache-2.0

// Declarations that the compiler rejects, with the fix in the message. None of them can be called.

/// The body of an unavailable declaration.
///
/// It is never run: the compiler rejects every call of such a declaration.
func unavailable() -> Never {
    fatalError("An unavailable declaration was called.")
}

// MARK: - DefaultStorage

extension DefaultStorage {
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

    /// Unavailable: the property needs a default.
    @available(*, unavailable, message: "Add a default, or use @DefaultStorageOptional for a value that may be nil.")
    @_disfavoredOverload
    public init(
        _ key: some RawRepresentable<String>,
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

    /// Unavailable: the type needs a conversion.
    @available(*, unavailable, message: "Conform the type to StoredValueConvertible, or pass a bridge as `as:`.")
    @_disfavoredOverload
    public init(
        wrappedValue: Value,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) { unavailable() }

    /// Unavailable: the bridge converts one element of an array.
    @available(*, unavailable, message: "The bridge converts one element: append `.array` to it.")
    @_disfavoredOverload
    public init<Element>(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Element>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == [Element] { unavailable() }

    /// Unavailable: the bridge converts one element of a set.
    @available(*, unavailable, message: "The bridge converts one element: append `.set` to it.")
    @_disfavoredOverload
    public init<Element: Hashable>(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Element>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == Set<Element> { unavailable() }

    /// Unavailable: the bridge converts one element of a dictionary.
    @available(*, unavailable, message: "The bridge converts one element: append `.dictionary` to it.")
    @_disfavoredOverload
    public init<Element, Key: Hashable>(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Element>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == [Key: Element] { unavailable() }

    /// Unavailable: the bridge converts the value inside an optional.
    @available(*, unavailable, message: "Append `.optional` to the bridge, or use @DefaultStorageOptional.")
    @_disfavoredOverload
    public init<Element>(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Element>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == Element? { unavailable() }

    /// Unavailable: a string needs the label `key:`.
    @available(*, unavailable, message: "A string key has a label: @DefaultStorage(key: \"port\").")
    @_disfavoredOverload
    public init(wrappedValue: Value, _ key: String, suite: SettingsSuite = .standard) { unavailable() }
}

// MARK: - DefaultStorageOptional

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

    /// Unavailable: `nil` means that nothing is stored, so there is no default.
    @available(*, unavailable, message: "Remove the initial value, or use @DefaultStorage for a default.")
    public init(
        wrappedValue: Value?,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) { unavailable() }

    /// Unavailable: `nil` means that nothing is stored, so there is no default.
    @available(*, unavailable, message: "Remove the initial value, or use @DefaultStorage for a default.")
    public init(wrappedValue: Value?, _ key: SettingKey<Value?>, suite: SettingsSuite = .standard) { unavailable() }

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

    /// Unavailable: the type needs a conversion.
    @available(*, unavailable, message: "Conform the type to StoredValueConvertible, or pass a bridge as `as:`.")
    @_disfavoredOverload
    public init(
        _ key: some RawRepresentable<String>,
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

// MARK: - Setting and SettingKey

extension Setting {
    /// Unavailable: the setting needs a default.
    @available(*, unavailable, message: "Add a default, or use an optional type: Setting<Int?>(\"port\").")
    @_disfavoredOverload
    public init(
        _ key: String,
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
        _ key: String,
        default value: Value,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) { unavailable() }
}

extension SettingKey where Value == Never {
    /// Unavailable: the type of the values is missing.
    @available(*, unavailable, message: "Add a default, or use an optional type: SettingKey<Int?>(\"port\").")
    @_disfavoredOverload
    public convenience init(_ name: String) { unavailable() }
}

extension SettingKey {
    /// Unavailable: the key needs a default.
    @available(*, unavailable, message: "Add a default, or use an optional type: SettingKey<Int?>(\"port\").")
    @_disfavoredOverload
    public convenience init(
        _ name: String,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) { unavailable() }

    /// Unavailable: the type needs a conversion.
    @available(*, unavailable, message: "Conform the type to StoredValueConvertible, or pass a bridge as `as:`.")
    @_disfavoredOverload
    public convenience init(
        _ name: String,
        default value: Value,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) { unavailable() }

    /// Unavailable: the bridge converts one element of an array.
    @available(*, unavailable, message: "The bridge converts one element: append `.array` to it.")
    @_disfavoredOverload
    public convenience init<Element>(
        _ name: String,
        default value: Value,
        as bridge: some StoredValueBridge<Element>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == [Element] { unavailable() }

    /// Unavailable: the bridge converts one element of a set.
    @available(*, unavailable, message: "The bridge converts one element: append `.set` to it.")
    @_disfavoredOverload
    public convenience init<Element: Hashable>(
        _ name: String,
        default value: Value,
        as bridge: some StoredValueBridge<Element>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == Set<Element> { unavailable() }

    /// Unavailable: the bridge converts one element of a dictionary.
    @available(*, unavailable, message: "The bridge converts one element: append `.dictionary` to it.")
    @_disfavoredOverload
    public convenience init<Element, Key: Hashable>(
        _ name: String,
        default value: Value,
        as bridge: some StoredValueBridge<Element>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == [Key: Element] { unavailable() }

    /// Unavailable: the bridge converts the value inside an optional.
    @available(*, unavailable, message: "Append `.optional` to the bridge, or remove the default.")
    @_disfavoredOverload
    public convenience init<Element>(
        _ name: String,
        default value: Value,
        as bridge: some StoredValueBridge<Element>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == Element? { unavailable() }
}

// MARK: - Subscripts of suites and transactions

extension SettingsSuite {
    /// Unavailable: the value has the type of the key.
    @available(*, unavailable, message: "The value and the key have different types.")
    @_disfavoredOverload
    public subscript<Value, Other>(key: SettingKey<Value>) -> Other {
        get { unavailable() }
        nonmutating set { unavailable() }
    }

    /// Unavailable: a string does not determine the type of the value.
    @available(*, unavailable, message: "A string has no type: use a SettingKey, or the subscript `storedValueFor:`.")
    @_disfavoredOverload
    public subscript(key: String) -> StoredValue? {
        get { unavailable() }
        nonmutating set { unavailable() }
    }

    /// Unavailable: a string does not determine the type of the value.
    @available(*, unavailable, message: "A string has no type: use a SettingKey, or the subscript `storedValueFor:`.")
    @_disfavoredOverload
    public subscript<Value>(key: String) -> Value {
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

    /// Unavailable: a string does not determine the type of the value.
    @available(*, unavailable, message: "A string has no type: use a SettingKey, or the subscript `storedValueFor:`.")
    @_disfavoredOverload
    public subscript(key: String) -> StoredValue? {
        get { unavailable() }
        set { unavailable() }
    }

    /// Unavailable: a string does not determine the type of the value.
    @available(*, unavailable, message: "A string has no type: use a SettingKey, or the subscript `storedValueFor:`.")
    @_disfavoredOverload
    public subscript<Value>(key: String) -> Value {
        get { unavailable() }
        set { unavailable() }
    }
}

// The wrappers have no unavailable conformance to Codable: the compiler accepts it in synthesized code without a diagnostic.
