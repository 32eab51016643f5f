// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "A set during a checkpoint does not copy the table".

/// The contents of a store while a commit changes them.
///
/// A store creates a transaction for the body of ``SettingsStore/commit(isBlind:_:)`` and stores its ``changes`` afterwards.
public struct StoreTransaction: Sendable {
    private let base: StoreContents
    private var edits: [String: StoredValue?] = [:]
    /// The new values by name where edits change members of objects: the objects, and none for the keys of these edits.
    private var objects: [String: StoredValue?] = [:]
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
            if !objects.isEmpty {
                // A new object replaces its members.
                edits = edits.filter { !$0.key.hasPrefix(key + ".") }
                objects[key] = nil
            }
            edits.updateValue(newValue, forKey: key)
            if declaredKeys != nil { placeInObject(key, newValue) }
            if !flushed.isEmpty { flushed.remove(key) }
        }
    }

    /// The value with a name, with the changes made so far.
    private func named(_ name: String) -> StoredValue? { objects[name] ?? edits[name] ?? base[name] }

    /// The value of a key at the start of the transaction.
    private func old(_ key: String) -> StoredValue? {
        declaredKeys == nil ? base[key] : value(ofKey: key) { base[$0] }
    }

    /// Replaces the value of a key in an object, or removes it from all objects, if it is in one or belongs into one.
    private mutating func placeInObject(_ key: String, _ value: StoredValue?) {
        guard value == nil || base[key] == nil else { return }
        var new: [String: StoredValue?] = [:]
        for (name, member) in key.divisions where value == nil || new.isEmpty {
            guard case .dictionary(var object)? = named(name), object.value(forKey: member) != nil else { continue }
            object.assign(value, toKey: member)
            new.updateValue(object.isEmpty ? nil : .dictionary(object), forKey: name)
        }
        if new.isEmpty, let value, let (name, object) = declaredKeys?.object(for: key, value, named) {
            new[name] = object
        }
        guard !new.isEmpty else { return }
        objects.merge(new) { $1 }
        objects.updateValue(nil, forKey: key)
    }

    /// Assigns a pending write, before the body of the transaction runs.
    mutating func flush(_ value: StoredValue?, forKey key: String) {
        self[key] = value
        flushed.insert(key)
    }

    /// Takes back a pending write that the body has not replaced, so that it does not belong to the transaction.
    mutating func revertFlushed(_ key: String) {
        guard flushed.remove(key) != nil else { return }
        edits[key] = nil
        guard !objects.isEmpty else { return }
        objects = [:]
        for (key, value) in edits.sorted(by: { $0.key < $1.key }) { placeInObject(key, value) }
    }

    /// Whether a value was assigned to a key, which may equal the stored one.
    func isEdited(_ key: String) -> Bool { edits.keys.contains(key) }

    /// The keys that have a value after the changes made so far, sorted.
    public var keys: [String] {
        Set(base.all.keys).union(edits.keys).filter { named($0) != nil }.sorted()
    }

    /// All values after the changes made so far.
    var contents: [String: StoredValue] { namedEdits.reduce(into: base.all) { $0[$1.key] = $1.new } }

    /// Removes every value.
    public mutating func removeAll() {
        for key in keys {
            self[key] = nil
        }
    }

    /// Throws ``SettingsError`` if an assigned value cannot be stored under its key.
    package func checkStorable() throws {
        for change in edited + (objects.isEmpty ? [] : changes) { try change.new?.checkStorable(forKey: change.key) }
    }

    /// The new values of keys, including those that equal the stored ones, sorted: those that were assigned, and those of declared keys
    /// in an assigned object.
    package var edited: [StoreChange] {
        var keys = Set(edits.keys)
        if let declaredKeys { keys.formUnion(declaredKeys.keys(in: edits.keys)) }
        return keys.map { StoreChange(key: $0, old: old($0), new: self[$0]) }.sorted { $0.key < $1.key }
    }

    /// The new values by name, including those that equal the stored ones, sorted.
    private var namedEdits: [StoreChange] {
        let names = objects.isEmpty ? Set(edits.keys) : Set(edits.keys).union(objects.keys)
        return names.map { StoreChange(key: $0, old: base[$0], new: named($0)) }
            .filter { objects[$0.key] == nil || $0.old != $0.new }
            .sorted { $0.key < $1.key }
    }

    /// Whether an assigned value equals the stored one.
    var hasEqualEdits: Bool { edits.contains { old($0.key) == $0.value?.storedAsJSON } }

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
