// SPDX-License-Identifier: Apache-2.0

/// Turns `Codable` values into stored values: structure, not text.
///
/// ```swift
/// struct Limits: Codable { var perSecond = 100; var burst = 20 }
/// let stored = try StoredValueEncoder().encode(Limits())    // ["perSecond": 100, "burst": 20]
/// ```
///
/// Numbers, dates, bytes, URLs, UUIDs, decimals and durations take the form that their ``StoredValueConvertible``
/// conformances give, wherever they are. A property that is `nil` is left out, as `Codable` does it. Sets, and
/// dictionaries whose keys are no strings, are written in an order that is the same for equal values.
public struct StoredValueEncoder: Sendable {
    /// What the types that are encoded find in their encoder's `userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    /// Creates an encoder.
    ///
    /// - Parameter userInfo: What the types that are encoded find in their encoder's `userInfo`.
    public init(userInfo: [CodingUserInfoKey: any Sendable] = [:]) {
        self.userInfo = userInfo
    }

    /// Encodes a value, which may be a fragment: a number, an array, `nil`.
    ///
    /// - Parameter value: The value to encode.
    /// - Returns: Its structure.
    /// - Throws: ``SettingsError`` with the path to the part that cannot be encoded. Its ``SettingsError/underlying``
    ///   error is the `EncodingError`, or what else a type threw.
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
