// SPDX-License-Identifier: Apache-2.0

// Without these the compiler has no message at all for `suite[.port] = "8080"`.

extension SettingsSuite {
    /// Not available: the value is of the key's type.
    @available(*, unavailable, message: "The value is of another type than the key.")
    @_disfavoredOverload
    public subscript<Value, Other>(key: SettingKey<Value>) -> Other {
        get { refusedByTheCompiler() }
        nonmutating set { refusedByTheCompiler() }
    }
}

extension SettingsTransaction {
    /// Not available: the value is of the key's type.
    @available(*, unavailable, message: "The value is of another type than the key.")
    @_disfavoredOverload
    public subscript<Value, Other>(key: SettingKey<Value>) -> Other {
        get { refusedByTheCompiler() }
        set { refusedByTheCompiler() }
    }
}

// MARK: - A text for a key

extension SettingsSuite {
    /// Not available: a text does not tell of which type the value is.
    @available(
        *,
        unavailable,
        message:
            "A text has no type: use a SettingKey, or storedValue(forKey:) and setStoredValue(_:forKey:) for what is stored."
    )
    @_disfavoredOverload
    public subscript(key: String) -> StoredValue? {
        get { refusedByTheCompiler() }
        nonmutating set { refusedByTheCompiler() }
    }

    /// Not available: a text does not tell of which type the value is.
    @available(
        *,
        unavailable,
        message:
            "A text has no type: use a SettingKey, or storedValue(forKey:) and setStoredValue(_:forKey:) for what is stored."
    )
    @_disfavoredOverload
    public subscript<Value>(key: String) -> Value {
        get { refusedByTheCompiler() }
        nonmutating set { refusedByTheCompiler() }
    }
}

extension SettingsTransaction {
    /// Not available: a text does not tell of which type the value is.
    @available(*, unavailable, message: "A text has no type: use a SettingKey, or the subscript `storedValueFor:`.")
    @_disfavoredOverload
    public subscript(key: String) -> StoredValue? {
        get { refusedByTheCompiler() }
        set { refusedByTheCompiler() }
    }

    /// Not available: a text does not tell of which type the value is.
    @available(*, unavailable, message: "A text has no type: use a SettingKey, or the subscript `storedValueFor:`.")
    @_disfavoredOverload
    public subscript<Value>(key: String) -> Value {
        get { refusedByTheCompiler() }
        set { refusedByTheCompiler() }
    }
}
