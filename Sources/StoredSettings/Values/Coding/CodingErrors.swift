// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Values-and-JSON.md, "A Codable value is decoded over its default".

extension SettingsError {
    static var tooDeep: SettingsError {
        .invalidValue("the value is nested deeper than \(CodingPlace.depthLimit) levels")
    }

    /// Returns the error to throw for an error that a type's decoding threw.
    ///
    /// The message repeats only facts that this library has stated. The message of any other error may quote the value,
    /// so only the kind, the path and the types are taken from it.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - root: The value that was decoded.
    ///   - type: The type that was decoded.
    ///   - part: The path of the innermost part whose decoding has thrown the error.
    /// - Returns: The error to throw.
    static func decoding(
        _ error: any Error,
        of root: StoredValue,
        as type: Any.Type,
        inside part: [PathComponent]
    ) -> SettingsError {
        guard let error = error as? DecodingError else {
            var stated = wrapping(error, as: .invalidValue)
            stated.path = part + stated.path
            return stated
        }
        switch error {
        case .typeMismatch(let expected, let context), .valueNotFound(let expected, let context):
            return stated(by: context, inside: part, of: error) { path in
                .init(.typeMismatch, fact: "expected \(expected), found \(root.phrase(at: path))", underlying: error)
            }
        case .keyNotFound(let key, let context):
            return stated(by: context, inside: part, of: error) { path in
                .init(.invalidValue, fact: .missing(key, in: root.phrase(at: path)), underlying: error)
            }
        case .dataCorrupted(let context):
            return stated(by: context, inside: part, of: error) { path in
                .init(
                    .invalidValue,
                    fact: "found \(root.phrase(at: path)) that the decoding of \(type) rejected",
                    underlying: error
                )
            }
        @unknown default:
            return wrapping(error as any Error, as: .invalidValue)
        }
    }

    private static func stated(
        by context: DecodingError.Context,
        inside part: [PathComponent],
        of original: DecodingError,
        otherwise: ([PathComponent]) -> SettingsError
    ) -> SettingsError {
        var path = context.codingPath.map(PathComponent.init)
        // A type may throw an error with the path of an outer part, or with none.
        if part.starts(with: path) { path = part }
        return restated(context.underlyingError, under: path, underlying: original, otherwise: otherwise(path))
    }

    /// Returns the error to throw for an error that a type's encoding threw.
    static func encoding(_ error: any Error) -> SettingsError {
        guard case EncodingError.invalidValue(let value, let context)? = error as? EncodingError else {
            return wrapping(error, as: .unstorable)
        }
        let fact = "found a value of type \(Swift.type(of: value)) that cannot be encoded"
        return restated(
            context.underlyingError,
            under: context.codingPath.map(PathComponent.init),
            underlying: error,
            otherwise: .init(.unstorable, fact: fact, underlying: error)
        )
    }

    /// Returns the error of this library that a coding error wraps, or another one, with the path of the coding error.
    private static func restated(
        _ cause: (any Error)?,
        under path: [PathComponent],
        underlying: any Error,
        otherwise: @autoclosure () -> SettingsError
    ) -> SettingsError {
        guard let cause = cause as? SettingsError else {
            var error = otherwise()
            error.path = path
            return error
        }
        var error = SettingsError(
            cause.code,
            fact: cause.fact,
            consequence: cause.consequence,
            remedy: cause.remedy,
            key: cause.key,
            location: cause.location,
            underlying: underlying
        )
        error.path = path + cause.path
        return error
    }
}

extension DecodingError {
    /// Wraps an error of this library in a `DecodingError`; ``SettingsError/decoding(_:of:as:)`` unwraps it.
    static func stating(_ error: SettingsError, reading type: Any.Type, at place: CodingPlace) -> DecodingError {
        let context = Context(codingPath: place.codingPath, debugDescription: error.fact, underlyingError: error)
        return error.code == .typeMismatch ? .typeMismatch(type, context) : .dataCorrupted(context)
    }

    static func mismatch(_ type: Any.Type, expected: String, found: StoredValue, at place: CodingPlace) -> DecodingError
    {
        var error = SettingsError.typeMismatch(expected: expected, found: found)
        guard case .null = found else { return stating(error, reading: type, at: place) }
        // The part of a superclass is read as null where it is missing.
        error.missingMember = MissingMember(path: place.memberPath)
        let context = Context(codingPath: place.codingPath, debugDescription: error.fact, underlyingError: error)
        return .valueNotFound(type, context)
    }

    static func missing(_ key: any CodingKey, at place: CodingPlace) -> DecodingError {
        var error = SettingsError.invalidValue(.missing(key, in: StoredValue.Kind.dictionary.phrase))
        error.missingMember = MissingMember(path: place.inside(key).memberPath)
        let context = Context(codingPath: place.codingPath, debugDescription: error.fact, underlyingError: error)
        return .keyNotFound(key, context)
    }
}

extension EncodingError {
    /// Wraps an error of this library in an `EncodingError`; ``SettingsError/encoding(_:)`` unwraps it.
    static func stating(_ error: SettingsError, writing value: Any, at place: CodingPlace) -> EncodingError {
        .invalidValue(
            value,
            Context(codingPath: place.codingPath, debugDescription: error.fact, underlyingError: error)
        )
    }
}

extension String {
    fileprivate static func missing(_ key: any CodingKey, in container: String) -> String {
        "expected a value under '\(key.stringValue)', found \(container) without one"
    }
}

extension StoredValue {
    /// The kind of the value at a path, with its article.
    fileprivate func phrase(at path: [SettingsError.PathComponent]) -> String {
        var value = self
        for component in path {
            let part: StoredValue? =
                switch component {
                case .key(let name): value[name]
                case .index(let index): value[index]
                }
            guard let part else { return "nothing" }
            value = part
        }
        return value.phrase
    }
}

/// A member that a type's decoding requires and the stored value lacks.
///
/// An error carries it from the decoder to the setting, which knows the default. Code of other types can lie between them
/// and decode a part of the value only. So the setting uses it only if its own conversion has stated it.
struct MissingMember: Sendable {
    /// The names that lead from the value to the member, which is the last one.
    let path: [String]
    /// The type whose conversion the path belongs to: a type of values or a bridge; `nil` inside a decoder.
    fileprivate(set) var converter: ObjectIdentifier?

    /// Returns `nil` without a path, which is the place of an element.
    init?(path: [String]?) {
        guard let path else { return nil }
        self.path = path
    }

    /// Returns the member that an error of the decoder states; `nil` for an error that a type has thrown by itself.
    init?(statedBy error: any Error, for converter: Any.Type) {
        switch error as? DecodingError {
        case .keyNotFound(_, let context), .valueNotFound(_, let context):
            guard let member = (context.underlyingError as? SettingsError)?.missingMember else { return nil }
            self = member
            self.converter = ObjectIdentifier(converter)
        default:
            return nil
        }
    }
}

extension SettingsError {
    /// Runs a conversion that is the whole of another conversion, so that its missing members are those of the other one.
    static func forwarding<Result>(
        _ inner: Any.Type,
        as outer: Any.Type,
        _ convert: () throws -> Result
    ) throws -> Result {
        do {
            return try convert()
        } catch var error as SettingsError {
            if error.missingMember?.converter == ObjectIdentifier(inner) {
                error.missingMember?.converter = ObjectIdentifier(outer)
            }
            throw error
        }
    }
}
