// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Values-and-JSON.md, "A secret is a type, too".

import Synchronization

/// A value that appears in no text for people: it prints, logs and interpolates as `••••`.
///
/// ```swift
/// struct Database: Codable, StoredValueConvertible {
///     var host = "localhost"
///     var password: Secret<String>?
/// }
///
/// @DefaultStorage(key: "database") var database = Database()
/// @DefaultStorageOptional(key: "apiToken") var apiToken: Secret<String>?
/// ```
///
/// A setting whose values are secrets, or contain one, is secret as with ``SettingTraits/secret``: what the library makes for people
/// shows none of its values. A structure is known to contain one by its default and by the values to be shown, which are converted before;
/// one that cannot be converted is not shown. ``reveal()`` returns the value. The text `••••` is not accepted as a value.
///
/// It is stored like the value itself. An encoder of another library, such as `JSONEncoder`, writes `••••`, unless its
/// `userInfo` has `true` for `CodingUserInfoKey.revealsSecrets`. In memory, the value is not protected.
public struct Secret<Value: Sendable>: Sendable {
    private let value: Value

    /// Creates a secret.
    ///
    /// - Parameter value: The value that no text shows.
    public init(_ value: Value) {
        self.value = value
    }

    /// Returns the value.
    public func reveal() -> Value { value }
}

extension Secret: Equatable where Value: Equatable {}
extension Secret: Hashable where Value: Hashable {}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text `••••`.
    public var description: String { SettingTraits.redactedText }

    /// The text `••••`.
    public var debugDescription: String { description }

    /// A mirror without children, so that `dump` prints only the ``description``.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret {
    /// Throws if the value is the text that stands for a secret, so that it does not replace one.
    private func checkValue() throws {
        guard value as? String != SettingTraits.redactedText else { throw SettingsError.placeholder }
    }
}

// MARK: - The stored form

extension Secret: StoredValueConvertible where Value: StoredValueConvertible {
    /// Reads the stored form of the value.
    ///
    /// - Throws: ``SettingsError`` for `••••`, which only stands for a secret; the error of the value.
    public init(storedValue: StoredValue) throws {
        SecretMark.noteSecret()
        value = try Value(storedValue: storedValue)
        try checkValue()
    }

    /// Returns the stored form of the value.
    ///
    /// - Throws: ``SettingsError`` for `••••`, which only stands for a secret; the error of the value.
    public func storedValue() throws -> StoredValue {
        SecretMark.noteSecret()
        try checkValue()
        return try value.storedValue()
    }
}

extension Secret: Decodable where Value: Decodable {
    /// Decodes the value.
    public init(from decoder: any Decoder) throws {
        SecretMark.noteSecret()
        value = try decoder.singleValueContainer().decode(Value.self)
        if decoder is NodeDecoder { try checkValue() }
    }
}

extension Secret: Encodable where Value: Encodable {
    /// Encodes the value in a setting, and elsewhere the text `••••`.
    public func encode(to encoder: any Encoder) throws {
        SecretMark.noteSecret()
        if encoder is NodeEncoder { try checkValue() }
        var container = encoder.singleValueContainer()
        if encoder is NodeEncoder || encoder.userInfo[.revealsSecrets] as? Bool == true {
            try container.encode(value)
        } else {
            try container.encode(description)
        }
    }
}

extension CodingUserInfoKey {
    /// Makes an encoder write the values of secrets if it is `true` in its `userInfo`: see ``Secret``.
    public static var revealsSecrets: CodingUserInfoKey {
        guard let key = CodingUserInfoKey(rawValue: "StoredSettings.revealsSecrets") else {
            preconditionFailure("The initializer accepts every string.")
        }
        return key
    }
}

// MARK: - Types that contain secrets

/// A type whose values are secrets, or collections of them.
package protocol SecretType {
    /// The type of the values without the secrets.
    associatedtype Revealed
}

extension SecretType {
    package static var revealedType: Any.Type { Revealed.self }
}

extension Secret: SecretType {
    package typealias Revealed = Value
}

extension Optional: SecretType where Wrapped: SecretType {
    package typealias Revealed = Wrapped.Revealed?
}

extension Array: SecretType where Element: SecretType {
    package typealias Revealed = [Element.Revealed]
}

extension Set: SecretType where Element: SecretType {
    package typealias Revealed = [Element.Revealed]
}

extension Dictionary: SecretType where Value: SecretType {
    package typealias Revealed = [Key: Value.Revealed]
}

/// Whether the values of a setting are secret, or one of them has contained a ``Secret``.
final class SecretMark: Sendable {
    /// The marks of the setting whose value is being converted.
    @TaskLocal private static var current: [SecretMark] = []

    private let mark = Atomic(false)

    var isSet: Bool { mark.load(ordering: .relaxed) }

    func set() { mark.store(true, ordering: .relaxed) }

    /// Marks the setting whose value is being converted as secret.
    static func noteSecret() {
        for mark in current { mark.set() }
    }

    /// Converts a value of a setting.
    static func noting<Result>(_ marks: [SecretMark], _ convert: () throws -> Result) rethrows -> Result {
        // What is known need not be found out again.
        guard marks.contains(where: { !$0.isSet }) else { return try convert() }
        return try $current.withValue(marks, operation: convert)
    }
}

extension SettingConversion {
    /// Whether a value may contain a secret: numbers, strings, dates and enums with such raw values do not.
    static var mayMeetSecrets: Bool {
        let type = (Value.self as? any OptionalType.Type)?.wrappedType ?? Value.self
        return !(type is any CodingLeaf.Type) && (type as? any RawRepresentable.Type)?.hasPlainRawValue != true
    }

    /// The same conversion, which also finds out whether a value contains a secret.
    func noting(_ marks: [SecretMark]) -> SettingConversion {
        guard Self.mayMeetSecrets else { return self }
        return SettingConversion(
            decode: { stored in try SecretMark.noting(marks) { try decode(stored) } },
            encode: { value in try SecretMark.noting(marks) { try encode(value) } },
            converter: converter,
            isOwn: isOwn
        )
    }
}

extension RawRepresentable {
    fileprivate static var hasPlainRawValue: Bool { RawValue.self is any CodingLeaf.Type }
}
