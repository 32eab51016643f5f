// SPDX-License-Identifier: Apache-2.0

/// Encodes `Encodable` types as structured stored values.
///
/// ```swift
/// struct Limits: Codable { var perSecond = 100; var burst = 20 }
/// let stored = try StoredValueEncoder().encode(Limits())    // ["perSecond": 100, "burst": 20]
/// ```
///
/// Numbers, dates, bytes, URLs, UUIDs, decimals and durations have the form of their ``StoredValueConvertible``
/// conformances at any depth. A property that is `nil` is omitted, as `Codable` specifies. Sets, and dictionaries whose
/// keys are not strings, are written in an order that is the same for equal values.
public struct StoredValueEncoder: Sendable {
    /// The `userInfo` of the encoders that are passed to the encoded types.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    /// Creates an encoder.
    ///
    /// - Parameter userInfo: The `userInfo` of the encoders that are passed to the encoded types.
    public init(userInfo: [CodingUserInfoKey: any Sendable] = [:]) {
        self.userInfo = userInfo
    }

    /// Encodes a value.
    ///
    /// The value may be a fragment: a number, an array or `nil`.
    ///
    /// - Parameter value: The value to encode.
    /// - Returns: The stored value.
    /// - Throws: ``SettingsError`` with the path to the part that cannot be encoded. Its ``SettingsError/underlying``
    ///   error is the `EncodingError`, or another error that a type threw.
    public func encode<Value: Encodable>(_ value: Value) throws -> StoredValue {
        let run = EncodingRun(userInfo: userInfo)
        do {
            let result = try run.storedValue(of: value, at: .root)
            if let failure = run.failure { throw failure }
            return result
        } catch {
            throw SettingsError.encoding(error)
        }
    }
}
