// SPDX-License-Identifier: Apache-2.0

/// The contents of a store while a commit changes them.
///
/// A store makes one for the body of ``SettingsStore/commit(_:)`` and keeps its ``changes`` afterwards.
public struct StoreTransaction: Sendable {
    private let base: [String: StoredValue]
    private var edits: [String: StoredValue?] = [:]

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
            if let edit = edits[key] { return edit }
            return base[key]
        }
        set {
            edits.updateValue(newValue, forKey: key)
        }
    }

    /// The keys that have a value, with the changes made so far, in order.
    public var keys: [String] {
        Set(base.keys).union(edits.keys).filter { self[$0] != nil }.sorted()
    }

    /// Removes every value.
    public mutating func removeAll() {
        for key in keys {
            self[key] = nil
        }
    }

    /// What differs from the contents it began with, in the order of the keys.
    public var changes: [StoreChange] {
        edits.keys.sorted()
            .compactMap { key in
                let (old, new) = (base[key], self[key])
                return old == new ? nil : StoreChange(key: key, old: old, new: new)
            }
    }
}
