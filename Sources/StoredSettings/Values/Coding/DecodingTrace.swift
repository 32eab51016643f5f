// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Layers.md, "A structure takes each member from the highest source that has it".

import Synchronization

/// What a type asks a stored value for while it decodes itself.
///
/// The conversion of a setting calls a ``StoredValueDecoder`` that does not know of it: it finds the trace of its value here.
final class DecodingTrace: Sendable {
    @TaskLocal static var current: DecodingTrace?

    /// The parts of a value, each by the names that lead to it.
    struct Parts {
        /// Those of which the type asks for members by their names.
        fileprivate(set) var structures: Set<[String]> = []
        /// Those of which it asks for all names, such as dictionaries and enums with associated values.
        fileprivate var wholes: Set<[String]> = []
        /// The members that were there, and were asked for.
        fileprivate(set) var found: Set<[String]> = []
        /// The types that parts were to be.
        fileprivate(set) var types: [[String]: [Any.Type]] = [:]
        /// The members that may be null.
        fileprivate(set) var nullable: Set<[String]> = []
    }

    private let value: StoredValue
    /// Whether more is noted than that a member was missing, which is fast.
    private let notesParts: Bool
    private let parts = Locked(Parts())
    private let isAnyMissing = Atomic(false)

    private init(_ value: StoredValue, notesParts: Bool) {
        (self.value, self.notesParts) = (value, notesParts)
    }

    /// Decodes a value.
    ///
    /// - Returns: The result, and whether the type has asked for a member that the value lacks.
    static func run<Result>(
        _ value: StoredValue,
        _ decode: (StoredValue) throws -> Result
    ) -> (result: Swift.Result<Result, any Error>, isAnyMissing: Bool) {
        let trace = DecodingTrace(value, notesParts: false)
        let result = trace.result(decode)
        return (result, trace.isAnyMissing.load(ordering: .relaxed))
    }

    /// Decodes a value.
    ///
    /// - Returns: The result, and the parts that the type has asked for.
    static func parts<Result>(
        _ value: StoredValue,
        _ decode: (StoredValue) throws -> Result
    ) -> (result: Swift.Result<Result, any Error>, parts: Parts) {
        let trace = DecodingTrace(value, notesParts: true)
        let result = trace.result(decode)
        var parts = trace.parts.withLock(\.self)
        parts.structures.subtract(parts.wholes)
        return (result, parts)
    }

    private func result<Result>(_ decode: (StoredValue) throws -> Result) -> Swift.Result<Result, any Error> {
        Self.$current.withValue(self) { Swift.Result { try decode(value) } }
    }

    /// The trace of a value; `nil` for a value that is not traced, such as a part that a conversion decodes by itself.
    static func ofDecoding(_ value: StoredValue) -> DecodingTrace? {
        guard let current, value == current.value else { return nil }
        return current
    }

    /// Notes that the type asks for members by their names.
    func noteStructure(at place: CodingPlace) {
        note(place) { $0.structures.insert($1) }
    }

    /// Notes that the type takes the value as a whole.
    func noteWhole(at place: CodingPlace) {
        note(place) { $0.wholes.insert($1) }
    }

    /// Notes that a part is to be a value of a type.
    func noteType(_ type: any Decodable.Type, at place: CodingPlace) {
        note(place) { parts, path in
            parts.types[path, default: []].append(type)
            if type is any OptionalType.Type { parts.nullable.insert(path) }
        }
    }

    /// Notes that the type asks whether a member is null.
    func noteNullable(_ key: any CodingKey, at place: CodingPlace) {
        note(place) { $0.nullable.insert($1 + [key.stringValue]) }
    }

    /// Notes that the type asks for a member.
    func noteMember(_ key: any CodingKey, of entries: [String: StoredValue], at place: CodingPlace) {
        if entries[key.stringValue] == nil {
            isAnyMissing.store(true, ordering: .relaxed)
        } else {
            note(place) { $0.found.insert($1 + [key.stringValue]) }
        }
    }

    private func note(_ place: CodingPlace, _ body: (inout Parts, [String]) -> Void) {
        guard notesParts, let path = place.memberPath else { return }
        parts.withLock { body(&$0, path) }
    }
}

/// The members of a structure, and of the structures inside.
final class StructureShape: Sendable {
    /// The structure.
    let form: StoredValue
    /// What its type asks for when it decodes it.
    let parts: DecodingTrace.Parts
    /// The names that lead to the members, those of members of members first.
    let memberPaths: [[String]]

    var structures: Set<[String]> { parts.structures }

    /// - Returns: `nil` for a value that is no structure.
    init?(of form: StoredValue, _ makeParts: (StoredValue) -> DecodingTrace.Parts) {
        guard case .dictionary = form else { return nil }
        let parts = makeParts(form)
        guard parts.structures.contains([]) else { return nil }
        let leaves = form.leaves(parts.structures)
        let inner = parts.structures.subtracting(leaves + [[]]).sorted { ($1.count, $0[0]) < ($0.count, $1[0]) }
        (self.form, self.parts, memberPaths) = (form, parts, leaves + inner)
    }
}

extension StoredValue {
    /// Whether it consists of other values.
    var hasParts: Bool {
        switch self {
        case .array, .dictionary: true
        default: false
        }
    }

    /// Whether it is null, or a null is inside.
    var hasNull: Bool {
        switch self {
        case .null: true
        case .array(let elements): elements.contains(where: \.hasNull)
        case .dictionary(let members): members.values.contains(where: \.hasNull)
        default: false
        }
    }

    /// Whether structures lack members of another value.
    func lacksMember(of other: StoredValue, _ structures: Set<[String]>, at path: [String] = []) -> Bool {
        guard structures.contains(path), case .dictionary(let members) = self, case .dictionary(let others) = other
        else { return false }
        return others.contains { name, other in
            guard let member = members[name] else { return true }
            guard case .dictionary = other else { return false }
            return member.lacksMember(of: other, structures, at: path + [name])
        }
    }

    /// Returns the value without the members of structures that are null.
    func withoutNulls(_ structures: Set<[String]>, at path: [String] = []) -> StoredValue {
        guard structures.contains(path), case .dictionary(let members) = self else { return self }
        let rest = members.filter { $0.value != .null }
        return .dictionary(
            Dictionary(uniqueKeysWithValues: rest.map { ($0, $1.withoutNulls(structures, at: path + [$0])) })
        )
    }

    /// Returns the value with the members that its structures lack, which are those of another value.
    ///
    /// - Parameters:
    ///   - lower: The other value.
    ///   - structures: The structures, by the names that lead to them.
    ///   - path: The names that lead to this value.
    /// - Returns: The merged value.
    func merged(over lower: StoredValue, _ structures: Set<[String]>, at path: [String] = []) -> StoredValue {
        guard structures.contains(path), case .dictionary(var members) = self, case .dictionary(let others) = lower
        else { return self }
        for (name, other) in others {
            guard let member = members[name] else {
                members[name] = other
                continue
            }
            members[name] = member.merged(over: other, structures, at: path + [name])
        }
        return .dictionary(members)
    }

    /// Returns the members of structures that differ from those of another value; `nil` if there are none.
    func changes(from old: StoredValue, _ structures: Set<[String]>, at path: [String] = []) -> StoredValue? {
        guard self != old else { return nil }
        guard structures.contains(path), case .dictionary(let members) = self, case .dictionary(let others) = old
        else { return self }
        var changes: [String: StoredValue] = [:]
        for (name, member) in members {
            let change = others[name].map { member.changes(from: $0, structures, at: path + [name]) } ?? member
            if let change { changes[name] = change }
        }
        return .dictionary(changes)
    }

    /// The members of structures that another value lacks, by the names that lead to them.
    func paths(missingIn other: StoredValue, _ structures: Set<[String]>, at path: [String] = []) -> [[String]] {
        guard structures.contains(path), case .dictionary(let members) = self, case .dictionary(let others) = other
        else { return [] }
        return members.flatMap { name, member -> [[String]] in
            guard let other = others[name] else { return [path + [name]] }
            return member.paths(missingIn: other, structures, at: path + [name])
        }
    }

    /// Returns the members of structures that another value has, too.
    func restricted(to part: StoredValue, _ structures: Set<[String]>, at path: [String] = []) -> StoredValue {
        guard structures.contains(path), case .dictionary(let members) = self, case .dictionary(let names) = part
        else { return self }
        let common = members.compactMap { name, member in
            names[name].map { (name, member.restricted(to: $0, structures, at: path + [name])) }
        }
        return .dictionary(Dictionary(uniqueKeysWithValues: common))
    }

    /// The paths of all members of structures that are no structures themselves, sorted.
    func leaves(_ structures: Set<[String]>, at path: [String] = []) -> [[String]] {
        guard structures.contains(path), case .dictionary(let members) = self else { return path.isEmpty ? [] : [path] }
        return members.sorted { $0.key < $1.key }.flatMap { $1.leaves(structures, at: path + [$0]) }
    }

    /// Returns the value without a part, and without what only led to it; `nil` if it has no such part.
    func removing(_ path: ArraySlice<String>) -> StoredValue? {
        guard let name = path.first, case .dictionary(var members) = self, let member = members[name] else {
            return nil
        }
        if path.count == 1 {
            members.removeValue(forKey: name)
        } else {
            guard let rest = member.removing(path.dropFirst()) else { return nil }
            members.removeValue(forKey: name)
            if rest != [:] { members[name] = rest }
        }
        return .dictionary(members)
    }

    /// Returns a value in which some names lead to this one.
    func nested(at path: [String]) -> StoredValue { path.reversed().reduce(self) { [$1: $0] } }

    /// The part that some names lead to.
    func part(at path: some Collection<String>) -> StoredValue? {
        path.reduce(Optional(self)) { $0?[$1] }
    }
}
