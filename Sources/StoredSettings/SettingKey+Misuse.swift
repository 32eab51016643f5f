// SPDX-License-Identifier: Apache-2.0

// What the compiler says where a key cannot mean anything: the message holds the fix.

// MARK: - No default

extension SettingKey where Value == Never {
    /// Not available: a key has a type.
    @available(
        *,
        unavailable,
        message: "Give the key a default, or the type of its values: SettingKey<Int?>(\"port\")."
    )
    @_disfavoredOverload
    public convenience init(_ name: String) {
        refusedByTheCompiler()
    }
}

extension SettingKey {
    /// Not available: the key needs a default.
    @available(*, unavailable, message: "The key needs a default, or an optional type: SettingKey<Int?>(\"port\").")
    @_disfavoredOverload
    public convenience init(_ name: String, validate: (@Sendable (Value) throws -> Bool)? = nil) {
        refusedByTheCompiler()
    }

    /// Not available: the key needs a default, even if its values lie in a range.
    @available(*, unavailable, message: "Give the key a default that lies in the range, or an optional type.")
    @_disfavoredOverload
    public convenience init(
        _ name: String,
        in range: some RangeExpression<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }
}

// MARK: - Not storable

extension SettingKey {
    /// Not available: the type has to be storable.
    @available(
        *,
        unavailable,
        message:
            "The key's type cannot be stored: declare its conformance to StoredValueConvertible, or give a bridge with `as:`."
    )
    @_disfavoredOverload
    public convenience init(
        _ name: String,
        default value: Value,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        refusedByTheCompiler()
    }
}

// MARK: - A bridge for a part

extension SettingKey {
    /// Not available: the bridge is for what the array holds.
    @available(*, unavailable, message: "The bridge is for one element: add `.array` to it.")
    @_disfavoredOverload
    public convenience init<Wrapped>(
        _ name: String,
        default value: Value,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value == [Wrapped] {
        refusedByTheCompiler()
    }

    /// Not available: the bridge is for what the optional holds.
    @available(
        *,
        unavailable,
        message: "The bridge is for the value inside: add `.optional` to it, or leave out the default."
    )
    @_disfavoredOverload
    public convenience init<Wrapped>(
        _ name: String,
        default value: Value,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value == Wrapped? {
        refusedByTheCompiler()
    }
}
