// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A member that a type ignores is an unknown key".

/// A search for the members of a stored structure that the type ignores.
///
/// A type reads its members with code of its own, so its members are not known. A name is suspicious if the encoded value has
/// no such member, and ignored if the value remains the same whatever the member contains.
struct MemberSearch {
    /// A member that the type ignores.
    struct Member {
        var path: [SettingsError.PathComponent]
        var name: String
        /// The names of the encoded value.
        var known: [String]
        /// Those that the stored value lacks.
        var others: [String]
    }

    /// The number of suspicious members that are examined, each of which has the value decoded again.
    private static let mostExamined = 16
    /// Two values of which a type that reads the member accepts at most one.
    private static let probes: [StoredValue] = ["", []]

    let stored: StoredValue
    /// The stored form of the value.
    let encoded: StoredValue
    /// Decodes a stored value, and encodes the result; `nil` if the type does not accept it.
    let recode: (StoredValue) -> StoredValue?
    private(set) var found: [Member] = []
    private var examined = 0

    /// - Returns: `nil` for a value that cannot be used or encoded.
    init?(of stored: StoredValue, recode: @escaping (StoredValue) -> StoredValue?) {
        guard let encoded = recode(stored) else { return nil }
        (self.stored, self.encoded, self.recode) = (stored, encoded, recode)
        visit(stored, encoded, at: [])
    }

    private mutating func visit(_ part: StoredValue, _ known: StoredValue, at path: [SettingsError.PathComponent]) {
        switch (part, known) {
        case (.dictionary(let members), .dictionary(let knownMembers)):
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                let place = path + [.key(name)]
                if let known = knownMembers[name] {
                    visit(member, known, at: place)
                } else if member != .null, isIgnored(place) {
                    let known = knownMembers.keys.sorted()
                    let others = known.filter { members[$0] == nil }
                    found.append(Member(path: place, name: name, known: known, others: others))
                }
            }
        case (.array(let elements), .array(let knownElements)) where elements.count == knownElements.count:
            for (index, (element, known)) in zip(elements, knownElements).enumerated() {
                visit(element, known, at: path + [.index(index)])
            }
        default:
            // The type has another form for this part.
            break
        }
    }

    private mutating func isIgnored(_ path: [SettingsError.PathComponent]) -> Bool {
        guard examined < Self.mostExamined else { return false }
        examined += 1
        return Self.probes.allSatisfy { recode(stored.replacing(partAt: path[...], with: $0)) == encoded }
    }
}

extension StoredValue {
    /// Returns the value with another part at a path that leads to one.
    fileprivate func replacing(partAt path: ArraySlice<SettingsError.PathComponent>, with part: StoredValue) -> Self {
        guard let component = path.first else { return part }
        switch (component, self) {
        case (.key(let name), .dictionary(var members)):
            members[name] = members[name]?.replacing(partAt: path.dropFirst(), with: part)
            return .dictionary(members)
        case (.index(let index), .array(var elements)) where elements.indices.contains(index):
            elements[index] = elements[index].replacing(partAt: path.dropFirst(), with: part)
            return .array(elements)
        default:
            return self
        }
    }
}
