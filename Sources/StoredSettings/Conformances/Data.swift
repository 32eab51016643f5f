// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data: StoredValueConvertible {
    /// Reads bytes, or their base64 text.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .data(let data):
            self = data
        case .string(let text):
            guard let data = Data(base64Encoded: text) else {
                throw SettingsError.invalidValue("the text is not base64")
            }
            self = data
        default:
            throw SettingsError.typeMismatch(expected: "bytes as base64 text", found: storedValue)
        }
    }

    /// ``StoredValue/data(_:)``.
    public func storedValue() -> StoredValue {
        .data(self)
    }
}
