// SPDX-License-Identifier: Apache-2.0

/// Reads `Codable` values from stored values.
///
/// ```swift
/// let limits = try StoredValueDecoder().decode(Limits.self, from: ["perSecond": 100, "burst": 20])
/// ```
///
/// It reads what a ``StoredValueEncoder`` writes, and what becomes of that in a file: dates, bytes and numbers such as
/// NaN as their text. An absent property and a null one are the same to an optional.
public struct StoredValueDecoder: Sendable {
    /// What the types that are decoded find in their decoder's `userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    /// Creates a decoder.
    ///
    /// - Parameter userInfo: What the types that are decoded find in their decoder's `userInfo`.
    public init(userInfo: [CodingUserInfoKey: any Sendable] = [:]) {
        self.userInfo = userInfo
    }

    /// Decodes a value, which may be a fragment: a number, an array, `nil`.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - storedValue: Its structure.
    /// - Returns: The value.
    /// - Throws: ``SettingsError`` with the path to the part that does not fit. Its ``SettingsError/underlying`` error is
    ///   the `DecodingError`, or what else a type threw; it may quote the value.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        from storedValue: StoredValue
    ) throws -> Value {
        do {
            return try DecodingRun(userInfo: userInfo).value(type, from: storedValue, at: .root)
        } catch {
            throw SettingsError.decoding(error, of: storedValue, as: type)
        }
    }
}
