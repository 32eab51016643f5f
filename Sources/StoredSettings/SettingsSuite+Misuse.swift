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
