// SPDX-License-Identifier: Apache-2.0

extension String: StoredValueConvertible {
    /// Reads a string.
    public init(storedValue: StoredValue) throws {
        guard case .string(let text) = storedValue else {
            throw SettingsError.typeMismatch(expected: "a string", found: storedValue)
        }
        self = text
    }

    /// ``StoredValue/string(_:)``.
    public func storedValue() -> StoredValue {
        .string(self)
    }
}

extension Character: StoredValueConvertible {
    /// Reads a string of one character.
    public init(storedValue: StoredValue) throws {
        guard case .string(let text) = storedValue else {
            throw SettingsError.typeMismatch(expected: "a string of one character", found: storedValue)
        }
        guard let character = text.first, text.index(after: text.startIndex) == text.endIndex else {
            throw SettingsError.invalidValue("the string is not one character")
        }
        self = character
    }

    /// ``StoredValue/string(_:)``.
    public func storedValue() -> StoredValue {
        .string(String(self))
    }
}
