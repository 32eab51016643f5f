// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Values-and-JSON.md, "A Codable value is decoded over its default".

extension SettingConversion {
    /// Decodes a stored value again, with the members that it lacks, after its decoding has failed.
    ///
    /// A member is added only after the decoding has failed because it is missing. So the default never changes a value that
    /// the type can decode by itself, and the default of a complete value is never encoded.
    ///
    /// - Parameters:
    ///   - stored: The stored value.
    ///   - error: The error of its decoding.
    ///   - makeDefault: Returns the default. It is called at most once, and only if a member is missing.
    /// - Returns: The value.
    /// - Throws: The error of the last decoding. It is about a member that the default lacks, too, or about another part.
    ///   An error in a part of the default is replaced by the error of the stored value.
    func decode(_ stored: StoredValue, after error: any Error, over makeDefault: () -> Value) throws -> Value {
        guard missingMember(in: error) != nil, let form = encodedOrNil(makeDefault()) else { throw error }
        var completed = stored
        var added: [[SettingsError.PathComponent]] = []
        var latest = error
        while let path = missingMember(in: latest), completed.add(memberAt: path[...], of: form) {
            added.append(path.map(SettingsError.PathComponent.key))
            do {
                return try decode(completed)
            } catch {
                latest = error
            }
        }
        // An error in an added member would name a part that is not stored.
        let place = (latest as? SettingsError)?.path ?? []
        throw added.contains { place.starts(with: $0) } ? error : latest
    }

    /// The path of the member that the decoding by this conversion lacks.
    private func missingMember(in error: any Error) -> [String]? {
        guard let member = (error as? SettingsError)?.missingMember else { return nil }
        return member.converter == ObjectIdentifier(converter) ? member.path : nil
    }

    /// The stored form of a value; `nil` when there is none.
    ///
    /// A default need not be storable.
    func encodedOrNil(_ value: Value) -> StoredValue? {
        do {
            return try encode(value)
        } catch {
            return nil
        }
    }
}

extension StoredValue {
    /// Adds a member of another value to this one.
    ///
    /// - Parameters:
    ///   - path: The names that lead to the member.
    ///   - other: The value that has the member.
    /// - Returns: Whether the member was added: the other value has one, and this value had none.
    fileprivate mutating func add(memberAt path: ArraySlice<String>, of other: StoredValue) -> Bool {
        guard let name = path.first, let member = other[name], case .dictionary(var entries) = self else {
            return false
        }
        let rest = path.dropFirst()
        if rest.isEmpty {
            guard entries[name] == nil else { return false }
            entries[name] = member
        } else {
            guard entries[name]?.add(memberAt: rest, of: member) == true else { return false }
        }
        self = .dictionary(entries)
        return true
    }
}
