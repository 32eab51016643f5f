// SPDX-License-Identifier: Apache-2.0

// What the compiler says where a declaration cannot mean anything: the message holds the fix.

// MARK: - A default

extension DefaultStorageOptional {
    /// Not available: here `nil` means that nothing is stored, so there is no default.
    @available(
        *,
        unavailable,
        message:
            "An optional setting has no default: leave out the initial value, or use @DefaultStorage for a default."
    )
    public init(
        wrappedValue: Value?,
        key: String,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }

    /// Not available: here `nil` means that nothing is stored, so there is no default.
    @available(
        *,
        unavailable,
        message:
            "An optional setting has no default: leave out the initial value, or use @DefaultStorage for a default."
    )
    public init(
        wrappedValue: Value?,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }

    /// Not available: here `nil` means that nothing is stored, so there is no default.
    @available(
        *,
        unavailable,
        message:
            "An optional setting has no default: leave out the initial value, or use @DefaultStorage for a default."
    )
    public init(wrappedValue: Value?, _ key: SettingKey<Value?>, suite: SettingsSuite = .standard) {
        refusedByTheCompiler()
    }
}

// MARK: - Not storable

extension DefaultStorageOptional {
    /// Not available: the type has to be storable.
    @available(
        *,
        unavailable,
        message:
            "The property's type cannot be stored: declare its conformance to StoredValueConvertible, or give a bridge with `as:`."
    )
    @_disfavoredOverload
    public init(
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
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }
}

// MARK: - A key without its label

extension DefaultStorageOptional {
    /// Not available: a text is given as `key:`.
    @available(*, unavailable, message: "A key that is a text has a label: @DefaultStorageOptional(key: \"port\").")
    @_disfavoredOverload
    public init(_ key: String, suite: SettingsSuite = .standard) {
        refusedByTheCompiler()
    }
}
