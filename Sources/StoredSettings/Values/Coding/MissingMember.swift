// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Values-and-JSON.md, "A Codable value is decoded over its default".

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
