// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "A set during a checkpoint does not copy the table".

/// The contents of a store while a commit changes them.
///
/// A store creates a transaction for the body of ``SettingsStore/commit(isBlind:_:)`` and stores its ``changes`` afterwards.
public struct StoreTransaction: Sendable {
    private let base: StoreContents
    private var edits: [String: StoredValue?] = [:]
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

    init(base: StoreContents) {
        self.base = base
    }

    /// The value of a key, with the changes made so far.
    ///
    /// Assigning `nil` removes the value.
    public subscript(key: String) -> StoredValue? {
        get { edits[key] ?? base[key] }
        set {
            edits.updateValue(newValue, forKey: key)
            if !flushed.isEmpty { flushed.remove(key) }
        }
    }

    /// The value of a key at the start of the transaction.
    func stored(_ key: String) -> StoredValue? { base[key] }

    /// Assigns a pending write, before the body of the transaction runs.
    mutating func flush(_ value: StoredValue?, forKey key: String) {
        self[key] = value
        flushed.insert(key)
    }

    /// Takes back a pending write that the body has not replaced, so that it does not belong to the transaction.
    mutating func revertFlushed(_ key: String) {
        if flushed.remove(key) != nil { edits[key] = nil }
    }

    /// Whether a value was assigned to a key, which may equal the stored one.
    func isEdited(_ key: String) -> Bool { edits.keys.contains(key) }

    /// The keys that have a value after the changes made so far, sorted.
    public var keys: [String] {
        Set(base.all.keys).union(edits.keys).filter { self[$0] != nil }.sorted()
    }

    /// Removes every value.
    public mutating func removeAll() {
        for key in keys {
            self[key] = nil
        }
    }

    /// Throws ``SettingsError`` if an assigned value cannot be stored under its key.
    package func checkStorable() throws {
        for change in edited { try change.new?.checkStorable(forKey: change.key) }
    }

    /// The assigned values, including those that equal the stored ones, sorted by key.
    package var edited: [StoreChange] {
        edits.map { StoreChange(key: $0.key, old: base[$0.key], new: $0.value) }.sorted { $0.key < $1.key }
    }

    /// Whether an assigned value equals the stored one.
    var hasEqualEdits: Bool { edits.contains { base[$0.key] == $0.value?.storedAsJSON } }

    /// The differences from the contents at the start of the transaction, sorted by key.
    public var changes: [StoreChange] {
        edited.filter { $0.old != $0.new }
    }

    /// The changes, with every value in the form in which it is read from the file.
    ///
    /// - Parameter isIncludingEqual: Whether to include assignments that equal the previous value.
    /// - Returns: The changes, sorted by key.
    package func storedAsJSON(includingEqual isIncludingEqual: Bool) -> [StoreChange] {
        var changes = edited
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
