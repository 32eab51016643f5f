// SPDX-License-Identifier: Apache-2.0

/// The contents of a store while a commit changes them.
///
/// A store makes one for the body of ``SettingsStore/commit(_:)`` and keeps its ``changes`` afterwards.
public struct StoreTransaction: Sendable {
    private let base: [String: StoredValue]
    private var edits: [(key: String, value: StoredValue?)] = []
    /// Where the edit of a key stands, once there are too many to be looked through.
    private var places: [String: Int] = [:]

    /// Comparing a few keys is quicker than hashing one.
    private static let fewEdits = 8

    /// Creates a transaction on some contents.
    ///
    /// - Parameter base: What is stored. It is shared, not copied.
    public init(base: [String: StoredValue]) {
        self.base = base
    }

    /// The value under a key, with the changes made so far.
    ///
    /// Assigning `nil` removes it.
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

    private func place(of key: String) -> Int? {
        edits.count > Self.fewEdits ? places[key] : edits.firstIndex { $0.key == key }
    }

    private mutating func notePlaces() {
        for place in places.count..<edits.count { places[edits[place].key] = place }
    }

    /// The keys that have a value, with the changes made so far, in order.
    public var keys: [String] {
        Set(base.keys).union(edits.map(\.key)).filter { self[$0] != nil }.sorted()
    }

    /// Removes every value.
    public mutating func removeAll() {
        for key in keys {
            self[key] = nil
        }
    }

    /// Throws ``SettingsError`` if a value that was set is nested too deep to be stored.
    package func checkDepth() throws {
        for (key, value) in edits { try value?.checkDepth(forKey: key) }
    }

    /// What was assigned, whether or not it differs from the contents it began with, in the order of the keys.
    package var edited: [StoreChange] {
        edits.map { StoreChange(key: $0.key, old: base[$0.key], new: $0.value) }.sorted { $0.key < $1.key }
    }

    /// What differs from the contents it began with, in the order of the keys.
    public var changes: [StoreChange] {
        var changes: [StoreChange] = []
        for (key, new) in edits {
            let old = base[key]
            if old != new { changes.append(StoreChange(key: key, old: old, new: new)) }
        }
        if changes.count > 1 { changes.sort { $0.key < $1.key } }
        return changes
    }
}
