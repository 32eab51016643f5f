// SPDX-License-Identifier: Apache-2.0

/// The contents of a store while a commit changes them.
///
/// A store creates a transaction for the body of ``SettingsStore/commit(_:)`` and stores its ``changes`` afterwards.
public struct StoreTransaction: Sendable {
    private let base: StoreContents
    private var edits: [(key: String, value: StoredValue?)] = []
    /// The index of each key's edit.
    ///
    /// It is used when there are too many edits for a linear search.
    private var places: [String: Int] = [:]

    /// Comparing a few keys is faster than hashing one.
    private static let fewEdits = 8

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
        get {
            place(of: key).map { edits[$0].value } ?? base[key]
        }
        set {
            if let place = place(of: key) {
                edits[place].value = newValue
            } else {
                edits.append((key, newValue))
                if edits.count > Self.fewEdits { notePlaces() }
            }
        }
    }

    /// Whether a value was assigned to a key, which may equal the stored one.
    func isEdited(_ key: String) -> Bool { place(of: key) != nil }

    private func place(of key: String) -> Int? {
        edits.count > Self.fewEdits ? places[key] : edits.firstIndex { $0.key == key }
    }

    private mutating func notePlaces() {
        for place in places.count..<edits.count { places[edits[place].key] = place }
    }

    /// The keys that have a value after the changes made so far, sorted.
    public var keys: [String] {
        Set(base.keys).union(edits.map(\.key)).filter { self[$0] != nil }.sorted()
    }

    /// Removes every value.
    public mutating func removeAll() {
        for key in keys {
            self[key] = nil
        }
    }

    /// Throws ``SettingsError`` if an assigned value cannot be stored under its key.
    package func checkStorable() throws {
        for (key, value) in edits { try value?.checkStorable(forKey: key) }
    }

    /// The assigned values, including those that equal the stored ones, sorted by key.
    package var edited: [StoreChange] {
        edits.map { StoreChange(key: $0.key, old: base[$0.key], new: $0.value) }.sorted { $0.key < $1.key }
    }

    /// The differences from the contents at the start of the transaction, sorted by key.
    public var changes: [StoreChange] {
        var changes: [StoreChange] = []
        for (key, new) in edits {
            let old = base[key]
            if old != new { changes.append(StoreChange(key: key, old: old, new: new)) }
        }
        if changes.count > 1 { changes.sort { $0.key < $1.key } }
        return changes
    }

    /// The changes, with every value in the form in which it is read from the file.
    ///
    /// - Parameter isIncludingEqual: Whether to include assignments that equal the previous value.
    /// - Returns: The changes, sorted by key.
    package func storedAsJSON(includingEqual isIncludingEqual: Bool) -> [StoreChange] {
        var changes = isIncludingEqual ? edited : changes
        var isAnyOther = false
        for index in changes.indices {
            guard let new = changes[index].new, !new.isStoredAsItself else { continue }
            changes[index].new = new.storedAsJSON
            isAnyOther = true
        }
        if isAnyOther, !isIncludingEqual { changes.removeAll { $0.old == $0.new } }
        return changes
    }
}
