// SPDX-License-Identifier: Apache-2.0

extension SettingBox {
    /// Validates and encodes a value.
    ///
    /// - Throws: ``SettingsError`` that names the setting.
    func encode(_ value: Value) throws -> StoredValue? {
        do {
            guard !key.name.isEmpty else { throw SettingsError.emptyKey }
            try key.validate(value)
            return try key.conversion.encode(value)
        } catch {
            var error = naming(shown(error, as: .unstorable), as: .unstorable)
            error.consequence = "the setting keeps the value it had"
            if error.remedy.isEmpty { error.remedy = "assign a value that the conversion of \(Value.self) accepts" }
            throw error
        }
    }

    /// The stored form of a value that was read, which tells whether two readings are equal; encodes the value.
    func identity(of reading: Reading) -> StoredValue? {
        // A bridge that only reads cannot encode the value. Then the stored value stands for it.
        encoded(reading.value) ?? reading.stored
    }

    /// The stored form of a value; `nil` when there is none.
    ///
    /// A default need not be storable. Two of those count as equal, which is right: there is one default.
    func encoded(_ value: Value) -> StoredValue? {
        key.conversion.encodedOrNil(value)
    }

    /// An error of a conversion or a validator, without their texts if the setting is secret.
    func shown(_ error: any Error, as code: SettingsError.Code) -> SettingsError {
        var error = SettingsError.wrapping(error, as: code)
        // The type may have more values than the setting accepts.
        if error.path.isEmpty, [.typeMismatch, .invalidValue].contains(error.code),
            let choices = key.validator.valid?.choiceTexts
        {
            error.remedy = "use one of \(choices.joined(separator: ", "))"
        }
        return metadata.traits.isSecret ? error.withoutUserText : error
    }

    /// The error, with the names of this setting, its suite and its file.
    func naming(_ error: any Error, as code: SettingsError.Code) -> SettingsError {
        var error = SettingsError.wrapping(error, as: code)
        error.key = key.name
        return engine.naming(error, suite: suiteName)
    }
}
