// SPDX-License-Identifier: Apache-2.0

/// Decodes `Decodable` types from stored values.
///
/// ```swift
/// let limits = try StoredValueDecoder().decode(Limits.self, from: ["perSecond": 100, "burst": 20])
/// ```
///
/// The decoder reads the output of a ``StoredValueEncoder``, also after it was stored in a file, which holds strings
/// for dates, bytes and numbers such as NaN. An optional property is `nil` if it is missing or null.
public struct StoredValueDecoder: Sendable {
    /// The `userInfo` of the decoders that are passed to the decoded types.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    /// Creates a decoder.
    ///
    /// - Parameter userInfo: The `userInfo` of the decoders that are passed to the decoded types.
    public init(userInfo: [CodingUserInfoKey: any Sendable] = [:]) {
        self.userInfo = userInfo
    }

    /// Decodes a value.
    ///
    /// The stored value may be a fragment: a number, an array or null.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - storedValue: The stored value to decode.
    /// - Returns: The decoded value.
    /// - Throws: ``SettingsError`` with the path to the invalid part. Its ``SettingsError/underlying`` error is the
    ///   `DecodingError`, or another error that a type threw. The underlying error may quote the value.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        from storedValue: StoredValue
    ) throws -> Value {
        try decode(type, from: storedValue, for: nil)
    }

    /// Decodes a value for a conversion, whose errors name the member that is missing.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - storedValue: The stored value to decode.
    ///   - converter: The type that converts; `nil` for a decoding that is not the whole of a conversion.
    /// - Returns: The decoded value.
    /// - Throws: ``SettingsError`` with the path to the invalid part.
    func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        from storedValue: StoredValue,
        for converter: Any.Type?
    ) throws -> Value {
        let run = DecodingRun(userInfo: userInfo)
        do {
            return try run.value(type, from: storedValue, at: .root)
        } catch {
            var stated = SettingsError.decoding(error, of: storedValue, as: type, inside: run.failure.path)
            // An error of another decoding, which the type has started, has another root.
            stated.missingMember = converter.flatMap { MissingMember(statedBy: error, for: $0) }
            throw stated
        }
    }
}
