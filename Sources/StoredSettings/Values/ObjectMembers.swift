// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A key with periods may be in an object".

extension String {
    /// The greatest number of periods of a key that may be in an object.
    static var mostPeriods: Int { 8 }

    /// Whether there is a period; every set asks that.
    var hasPeriod: Bool {
        let period = UInt8(ascii: ".")
        return utf8.withContiguousStorageIfAvailable { $0.contains(period) } ?? utf8.contains(period)
    }

    /// The ways to divide a key at a period, the longest name of an object first: `a.b` and `c`, then `a` and `b.c`.
    ///
    /// There are none for a key with more than ``mostPeriods``. Bytes are compared: a mark after a period may be combined with it.
    package var divisions: [(object: String, member: String)] {
        guard hasPeriod else { return [] }
        let period = UInt8(ascii: ".")
        guard utf8.count(where: { $0 == period }) <= Self.mostPeriods else { return [] }
        return utf8.indices.reversed().filter { utf8[$0] == period }
            .compactMap { index in
                let (object, member) = (utf8[..<index], utf8[utf8.index(after: index)...])
                guard !object.isEmpty, !member.isEmpty else { return nil }
                return (String(decoding: object, as: UTF8.self), String(decoding: member, as: UTF8.self))
            }
    }
}

/// Returns the value of a key among named values: that with the key as its name, or else the member of an object with the rest of
/// the key.
///
/// - Parameters:
///   - key: The key.
///   - named: Returns the value with a name.
/// - Returns: The value, in the object with the longest name.
func value(ofKey key: String, _ named: (String) -> StoredValue?) -> StoredValue? {
    if let value = named(key) { return value }
    for (object, member) in key.divisions {
        guard case .dictionary(let members)? = named(object) else { continue }
        if let value = members.value(forKey: member) { return value }
    }
    return nil
}

/// Returns the name of an object with a value of a key that has no effect, because the key is the name of a value, too; `nil` if there
/// is none.
func ignoredObject(ofKey key: String, _ named: (String) -> StoredValue?) -> String? {
    let divisions = key.divisions
    guard !divisions.isEmpty, named(key) != nil else { return nil }
    return divisions.first { object, member in
        guard case .dictionary(let members)? = named(object) else { return false }
        return members.value(forKey: member) != nil
    }?
    .object
}

extension StoredValue {
    var isDictionary: Bool {
        if case .dictionary = self { true } else { false }
    }
}

extension [String: StoredValue] {
    /// The value of a key, which may be in an object.
    package func value(forKey key: String) -> StoredValue? { StoredSettings.value(ofKey: key) { self[$0] } }

    /// The names of the objects around the value of a key, and its own; `nil` if it has none.
    func path(ofKey key: String) -> [String]? {
        guard self[key] == nil else { return [key] }
        for (object, member) in key.divisions {
            guard case .dictionary(let members)? = self[object], let path = members.path(ofKey: member) else {
                continue
            }
            return [object] + path
        }
        return nil
    }

    /// The values with the members of some objects in place of these, under their whole keys.
    ///
    /// - Parameter isObject: Returns whether the value with a name is replaced by its members, if it is an object.
    /// - Returns: The values.
    package func separated(where isObject: (String) -> Bool) -> [String: StoredValue] {
        var all = self
        // A value in the object with the longest name precedes the others.
        for (name, value) in sorted(by: { $0.key.utf8.count > $1.key.utf8.count }) {
            guard case .dictionary(let members) = value, isObject(name) else { continue }
            all[name] = nil
            for (member, value) in members.separated(where: { isObject("\(name).\($0)") }) {
                let key = "\(name).\(member)"
                if all[key] == nil { all[key] = value }
            }
        }
        return all
    }

    /// The values with the members of the objects that contain some keys in place of these, under their whole keys.
    package func separated(by keys: Set<String>) -> [String: StoredValue] {
        let objects = Set(keys.flatMap { $0.divisions.map(\.object) }).subtracting(keys)
        return objects.isEmpty ? self : separated(where: objects.contains)
    }

    /// Replaces the value of a key where it is.
    ///
    /// An object from which the last member is removed is removed as well.
    ///
    /// - Returns: Whether the key has a value.
    mutating func replace(_ key: String, by value: StoredValue?) -> Bool {
        if self[key] != nil {
            self[key] = value
            return true
        }
        for (object, member) in key.divisions {
            guard case .dictionary(var members)? = self[object], members.replace(member, by: value) else { continue }
            self[object] = members.isEmpty ? nil : .dictionary(members)
            return true
        }
        return false
    }

    /// Adds a member to an object that some names lead to.
    mutating func insert(_ value: StoredValue, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            self[name] = value
            return
        }
        guard case .dictionary(var members)? = self[name] else { return }
        members.insert(value, at: path.dropFirst())
        self[name] = .dictionary(members)
    }

    /// Stores the value of a key where it is, or under its own name; `nil` removes it everywhere.
    mutating func assign(_ value: StoredValue?, toKey key: String) {
        if let value {
            if !replace(key, by: value) { self[key] = value }
        } else {
            while replace(key, by: nil) {}
        }
    }
}
