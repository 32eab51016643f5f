// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension UUID: StoredValueConvertible {
    /// Reads the text of a UUID, in capital or small letters.
    public init(storedValue: StoredValue) throws {
        guard case .string(let text) = storedValue else {
            throw SettingsError.typeMismatch(expected: "the text of a UUID", found: storedValue)
        }
        guard let uuid = UUID(uuidString: text) else {
            throw SettingsError.invalidValue("the text is not a UUID")
        }
        self = uuid
    }

    /// The text of the UUID, in capital letters.
    public func storedValue() -> StoredValue {
        .string(uuidString)
    }
}
