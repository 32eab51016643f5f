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
    static func decoding(_ error: any Error, of root: StoredValue, as type: Any.Type) -> SettingsError {
        guard let coding = error as? DecodingError, let context = coding.context else {
            return wrapping(error, as: .invalidValue)
        }
        let path = context.codingPath.map(PathComponent.init)
        let found = root.phrase(at: path)
        let (code, fact): (Code, String) =
            switch coding {
            case .typeMismatch(let expected, _), .valueNotFound(let expected, _):
                (.typeMismatch, "expected \(expected), found \(found)")
            case .keyNotFound(let key, _):
                (.invalidValue, .missing(key, in: found))
            default:
                (.invalidValue, "found \(found) that the decoding of \(type) rejected")
            }
        return stating(context.underlyingError, at: path, or: .init(code, fact: fact, underlying: error))
    }

    /// Returns the error to throw for an error that a type's encoding threw.
    static func encoding(_ error: any Error) -> SettingsError {
        guard case EncodingError.invalidValue(let value, let context)? = error as? EncodingError else {
            return wrapping(error, as: .unstorable)
        }
        let fact = "found a value of type \(Swift.type(of: value)) that cannot be encoded"
        return stating(
            context.underlyingError,
            at: context.codingPath.map(PathComponent.init),
            or: .init(.unstorable, fact: fact, underlying: error)
        )
    }

    /// Returns the error of this library that a coding error wraps, or another one, with the path of the coding error.
    private static func stating(
        _ cause: (any Error)?,
        at path: [PathComponent],
        or other: SettingsError
    ) -> SettingsError {
        guard var error = cause as? SettingsError else {
            var error = other
            error.path = path
            return error
        }
        error.path = path + error.path
        error.underlying = other.underlying
        return error
    }
}

extension DecodingError {
    /// Wraps an error of this library in a `DecodingError`; ``SettingsError/decoding(_:of:as:)`` unwraps it.
    static func stating(
        _ error: SettingsError,
        reading type: Any.Type,
        found: StoredValue,
        at place: CodingPlace
    ) -> DecodingError {
        var error = error
        let isNull = found.kind == .null
        // The part of a superclass is read as null where it is missing. An error of another decoding, which the type has started,
        // has another root.
        error.missingMember = isNull ? place.memberPath : nil
        let context = Context(error, at: place.codingPath)
        guard !isNull else { return .valueNotFound(type, context) }
        return error.code == .typeMismatch ? .typeMismatch(type, context) : .dataCorrupted(context)
    }

    static func missing(_ key: any CodingKey, at place: CodingPlace) -> DecodingError {
        var error = SettingsError.invalidValue(.missing(key, in: StoredValue.Kind.dictionary.phrase))
        error.missingMember = place.inside(key).memberPath
        return .keyNotFound(key, Context(error, at: place.codingPath))
    }

    fileprivate var context: Context? {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }
}

extension DecodingError.Context {
    init(_ error: SettingsError, at path: [any CodingKey]) {
        self.init(codingPath: path, debugDescription: error.fact, underlyingError: error)
    }
}

extension EncodingError {
    /// Wraps an error of this library in an `EncodingError`; ``SettingsError/encoding(_:)`` unwraps it.
    static func stating(_ error: SettingsError, writing value: Any, at path: [any CodingKey]) -> EncodingError {
        .invalidValue(value, Context(codingPath: path, debugDescription: error.fact, underlyingError: error))
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
