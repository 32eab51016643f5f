// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "A set during a checkpoint does not copy the table".

/// The contents of a store while a commit changes them.
///
/// A store creates a transaction for the body of ``SettingsStore/commit(isBlind:_:)`` and stores its ``changes`` afterwards.
public struct StoreTransaction: Sendable {
    private let base: StoreContents
    /// The new values by name.
    private var edits: [String: StoredValue?] = [:]
    /// The keys of new values in objects, by the names of these; an object that was assigned as a whole has none.
    private var members: [String: Set<String>] = [:]
    /// The objects of ``edits`` that were not assigned themselves.
    private var objects: Set<String> = []
    /// The declared keys, for a store that finds the value of a key in an object; `nil` for any other store.
    private let declaredKeys: DeclaredKeys?
    /// The keys whose values are pending writes.
    private var flushed: Set<String> = []
    /// Whether other processes have to see assignments that equal the stored values.
    var isRecordingEqual = false

    /// Creates a transaction on the contents of a store.
    ///
    /// - Parameter base: The stored values. They are shared, not copied.
    public init(base: [String: StoredValue]) {
        self.init(base: StoreContents(base))
    }

    init(base: StoreContents, declaredKeys: DeclaredKeys? = nil) {
        (self.base, self.declaredKeys) = (base, declaredKeys)
    }

    /// The value of a key, with the changes made so far.
    ///
    /// Assigning `nil` removes the value.
    public subscript(key: String) -> StoredValue? {
        get { declaredKeys == nil ? named(key) : value(ofKey: key, named) }
        set {
            if declaredKeys == nil || !assignInObjects(newValue, toKey: key) {
                edits.updateValue(newValue, forKey: key)
                // A new object replaces its members.
                if !members.isEmpty { forgetMembers(of: key) }
            }
            if !flushed.isEmpty { flushed.remove(key) }
        }
    }

    /// Whether values in objects have changed.
    var isInObjects: Bool { !members.isEmpty }

    /// The value with a name, with the changes made so far.
    private func named(_ name: String) -> StoredValue? { edits[name] ?? base[name] }

    /// The value of a key at the start of the transaction.
    private func old(_ key: String) -> StoredValue? {
        declaredKeys == nil ? base[key] : value(ofKey: key) { base[$0] }
    }

    private mutating func forgetMembers(of object: String) {
        members[object] = nil
        objects.remove(object)
    }

    /// Replaces the value of a key in an object, or removes it everywhere, if it is in one or belongs into one.
    ///
    /// - Returns: Whether it is and does.
    private mutating func assignInObjects(_ value: StoredValue?, toKey key: String) -> Bool {
        let divisions = key.divisions
        guard !divisions.isEmpty, value == nil || named(key) == nil else { return false }
        var isFound = false
        for (name, member) in divisions where value == nil || !isFound {
            guard has(member, in: name) else { continue }
            change(name, key) { $0.assign(value, toKey: member) }
            isFound = true
        }
        if isFound {
            if named(key) != nil { edits.updateValue(nil, forKey: key) }
            return true
        }
        // A member is nested more deeply than a value with a name.
        guard let value, value.isNested(within: StoredValue.maximumDepth - String.mostPeriods),
            let (name, path) = declaredKeys?.place(of: key, named)
        else { return false }
        change(name, key) { $0.insert(value, at: path[...]) }
        return true
    }

    private func has(_ member: String, in name: String) -> Bool {
        guard case .dictionary(let object)? = named(name) else { return false }
        return object.value(forKey: member) != nil
    }

    /// Changes an object in place.
    private mutating func change(_ name: String, _ key: String, _ body: (inout [String: StoredValue]) -> Void) {
        guard case .dictionary(var object)? = named(name) else { return }
        if !edits.keys.contains(name) { objects.insert(name) }
        // The only reference to the members is the one that changes.
        edits.updateValue(nil, forKey: name)
        body(&object)
        edits.updateValue(object.isEmpty ? nil : .dictionary(object), forKey: name)
        members[name, default: []].insert(key)
    }

    /// Assigns a pending write, before the body of the transaction runs.
    mutating func flush(_ value: StoredValue?, forKey key: String) {
        self[key] = value
        flushed.insert(key)
    }

    /// Takes back a pending write that the body has not replaced, so that it does not belong to the transaction.
    mutating func revertFlushed(_ key: String) {
        guard flushed.remove(key) != nil else { return }
        let changed = key.divisions.filter { members[$0.object]?.contains(key) == true }
        if changed.isEmpty || base[key] != nil { edits.removeValue(forKey: key) }
        for (name, member) in changed {
            let value: StoredValue? =
                if case .dictionary(let object)? = base[name] { object.value(forKey: member) } else { nil }
            change(name, key) { $0.assign(value, toKey: member) }
            if named(name) == nil, let value { edits.updateValue(.dictionary([member: value]), forKey: name) }
            members[name]?.remove(key)
            guard members[name]?.isEmpty == true else { continue }
            if objects.contains(name) { edits.removeValue(forKey: name) }
            forgetMembers(of: name)
        }
    }

    /// Whether a value was assigned to a key, which may equal the stored one.
    func isEdited(_ key: String) -> Bool {
        edits.keys.contains(key) && !objects.contains(key)
            || !members.isEmpty && key.divisions.contains { members[$0.object]?.contains(key) == true }
    }

    /// The keys that have a value after the changes made so far, sorted.
    public var keys: [String] {
        Set(base.all.keys).union(edits.keys).filter { named($0) != nil }.sorted()
    }

    /// All values after the changes made so far.
    var contents: [String: StoredValue] { edits.reduce(into: base.all) { $0[$1.key] = $1.value } }

    /// Removes every value.
    public mutating func removeAll() {
        for key in keys {
            self[key] = nil
        }
    }

    /// Throws ``SettingsError`` if an assigned value cannot be stored under its key.
    package func checkStorable() throws {
        for (name, value) in edits { try value?.checkStorable(forKey: name) }
    }

    /// The new values of keys, including those that equal the stored ones, sorted: those that were assigned, and those of declared keys
    /// in an assigned object.
    package var edited: [StoreChange] {
        var keys = Set(edits.keys).subtracting(objects)
        if let declaredKeys { keys.formUnion(declaredKeys.keys(in: keys)) }
        for others in members.values { keys.formUnion(others) }
        return keys.map { StoreChange(key: $0, old: old($0), new: self[$0]) }.sorted { $0.key < $1.key }
    }

    /// The new values by name, including those that equal the stored ones, sorted.
    private var namedEdits: [StoreChange] {
        edits.map { StoreChange(key: $0.key, old: base[$0.key], new: $0.value) }.sorted { $0.key < $1.key }
    }

    /// Whether an assigned value equals the stored one.
    var hasEqualEdits: Bool {
        edits.contains { base[$0.key] == $0.value?.storedAsJSON }
            || members.values.contains { $0.contains { old($0) == self[$0]?.storedAsJSON } }
    }

    /// The differences from the contents at the start of the transaction, sorted by key.
    public var changes: [StoreChange] {
        namedEdits.filter { $0.old != $0.new }
    }

    /// The changes, with every value in the form in which it is read from the file.
    ///
    /// - Parameter isIncludingEqual: Whether to include assignments that equal the previous value.
    /// - Returns: The changes, sorted by key.
    package func storedAsJSON(includingEqual isIncludingEqual: Bool) -> [StoreChange] {
        var changes = namedEdits
        for index in changes.indices { changes[index].new = changes[index].new?.storedAsJSON }
        return isIncludingEqual ? changes : changes.filter { $0.old != $0.new }
    }
}

// MARK: - Contents

/// The values of a store, which can change while a snapshot of them is written.
///
/// A dictionary that is shared is copied as a whole by its next change. While there is a snapshot, changes are stored
/// beside the dictionary instead.
struct StoreContents: Sendable {
    /// All values; while there is a snapshot, all values at the time of the snapshot.
    private var base: [String: StoredValue]
    /// The values that have been set or removed since the snapshot; `nil` while there is no snapshot.
    private var newer: [String: StoredValue?]?

    init(_ values: [String: StoredValue] = [:]) {
        base = values
    }

    /// All values.
    ///
    /// This copies the dictionary if values have changed since the snapshot.
    var all: [String: StoredValue] {
        var all = base
        for (key, value) in newer ?? [:] { all[key] = value }
        return all
    }

    // MARK: - The snapshot

    /// Returns all values.
    ///
    /// Changes do not copy them until ``endSnapshot()``. The caller releases the values before that. A previous snapshot ends.
    mutating func beginSnapshot() -> [String: StoredValue] {
        endSnapshot()
        newer = [:]
        return base
    }

    /// Makes the changes since the snapshot part of the dictionary.
    mutating func endSnapshot() {
        guard let newer else { return }
        self.newer = nil
        for (key, value) in newer { base[key] = value }
    }

    /// The value of a key, which may be in an object.
    func value(forKey key: String) -> StoredValue? { StoredSettings.value(ofKey: key) { self[$0] } }

    subscript(key: String) -> StoredValue? {
        get {
            if let value = newer?[key] { return value }
            return base[key]
        }
        set {
            if newer == nil {
                base[key] = newValue
            } else {
                newer?.updateValue(newValue, forKey: key)
            }
        }
    }
}
