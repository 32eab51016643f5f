// SPDX-License-Identifier: Apache-2.0

extension Bool: StoredValueConvertible {
    /// Reads a Boolean, and nothing that merely looks like one: no 0 or 1, no text.
    public init(storedValue: StoredValue) throws {
        guard case .bool(let value) = storedValue else {
            throw SettingsError.typeMismatch(expected: "a Boolean", found: storedValue)
        }
        self = value
    }

    /// ``StoredValue/bool(_:)``.
    public func storedValue() -> StoredValue {
        .bool(self)
    }
}
