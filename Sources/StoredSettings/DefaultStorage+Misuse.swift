// SPDX-License-Identifier: Apache-2.0

// What the compiler says where a declaration cannot mean anything: the message holds the fix.

// MARK: - No default

extension DefaultStorage where Value: ExpressibleByNilLiteral {
    /// Not available: an optional without a default belongs in ``DefaultStorageOptional``.
    @available(
        *,
        unavailable,
        message: "An optional without a default: use @DefaultStorageOptional, or give the property a default."
    )
    public init(key: String, suite: SettingsSuite = .standard) {
        refusedByTheCompiler()
    }

    /// Not available: an optional without a default belongs in ``DefaultStorageOptional``.
    @available(
        *,
        unavailable,
        message: "An optional without a default: use @DefaultStorageOptional, or give the property a default."
    )
    public init(_ key: some RawRepresentable<String>, suite: SettingsSuite = .standard) {
        refusedByTheCompiler()
    }
}

extension DefaultStorage {
    /// Not available: the property needs a default.
    @available(
        *,
        unavailable,
        message: "Give the property a default, or make it optional with @DefaultStorageOptional."
    )
    @_disfavoredOverload
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }

    /// Not available: the property needs a default.
    @available(
        *,
        unavailable,
        message: "Give the property a default, or make it optional with @DefaultStorageOptional."
    )
    @_disfavoredOverload
    public init(
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }

    /// Not available: the property needs a default, even if it lies in a range.
    @available(*, unavailable, message: "Give the property a default that lies in the range.")
    @_disfavoredOverload
    public init(
        key: String,
        suite: SettingsSuite = .standard,
        in range: some RangeExpression<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }

    /// Not available: the property needs a default, even if it lies in a range.
    @available(*, unavailable, message: "Give the property a default that lies in the range.")
    @_disfavoredOverload
    public init(
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        in range: some RangeExpression<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }
}

// MARK: - Not storable

extension DefaultStorage {
    /// Not available: the type has to be storable.
    @available(
        *,
        unavailable,
        message:
            "The property's type cannot be stored: declare its conformance to StoredValueConvertible, or give a bridge with `as:`."
    )
    @_disfavoredOverload
    public init(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }

    /// Not available: the type has to be storable.
    @available(
        *,
        unavailable,
        message:
            "The property's type cannot be stored: declare its conformance to StoredValueConvertible, or give a bridge with `as:`."
    )
    @_disfavoredOverload
    public init(
        wrappedValue: Value,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }
}

// MARK: - A bridge for a part

extension DefaultStorage {
    /// Not available: the bridge is for what the array holds.
    @available(*, unavailable, message: "The bridge is for one element: add `.array` to it.")
    @_disfavoredOverload
    public init<Wrapped>(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value == [Wrapped] {
        refusedByTheCompiler()
    }

    /// Not available: the bridge is for what the array holds.
    @available(*, unavailable, message: "The bridge is for one element: add `.array` to it.")
    @_disfavoredOverload
    public init<Wrapped>(
        wrappedValue: Value,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value == [Wrapped] {
        refusedByTheCompiler()
    }

    /// Not available: the bridge is for what the optional holds.
    @available(
        *,
        unavailable,
        message: "The bridge is for the value inside: add `.optional` to it, or use @DefaultStorageOptional."
    )
    @_disfavoredOverload
    public init<Wrapped>(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value == Wrapped? {
        refusedByTheCompiler()
    }

    /// Not available: the bridge is for what the optional holds.
    @available(
        *,
        unavailable,
        message: "The bridge is for the value inside: add `.optional` to it, or use @DefaultStorageOptional."
    )
    @_disfavoredOverload
    public init<Wrapped>(
        wrappedValue: Value,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value == Wrapped? {
        refusedByTheCompiler()
    }
}

// MARK: - A key without its label

extension DefaultStorage {
    /// Not available: a text is given as `key:`.
    @available(*, unavailable, message: "A key that is a text has a label: @DefaultStorage(key: \"port\").")
    @_disfavoredOverload
    public init(wrappedValue: Value, _ key: String, suite: SettingsSuite = .standard) {
        refusedByTheCompiler()
    }
}

/// The body of a declaration that no program can call, because the compiler refuses every call of it.
func refusedByTheCompiler() -> Never {
    fatalError("A declaration that is not available was called.")
}
