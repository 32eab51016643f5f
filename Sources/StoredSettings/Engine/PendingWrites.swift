// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Pending writes outlive their settings".

/// Assignments that could not be saved yet.
///
/// Readers and subscribers see them in place of the stored values, until a commit saves them or stores another value. They
/// are ordered like commits: a pending write ends with every later commit of its key.
struct PendingWrites {
    typealias Version = UInt64

    struct Entry {
        var value: StoredValue?
        var version: Version
        /// The version of the newest value that was assigned together with this one; they are saved or dropped together.
        var assignment: Version
    }

    /// The pending writes that a commit saves.
    struct Flush {
        var entries: [String: Entry] = [:]
        /// The newest version of these writes.
        var version: Version = 0

        func value(forKey key: String) -> StoredValue?? { entries[key].map(\.value) }

        /// Adds the writes to a transaction that has no other changes yet.
        func apply(to transaction: inout StoreTransaction) {
            // An object and a member of it may be assigned one after the other.
            for (key, entry) in entries.inOrder { transaction.flush(entry.value, forKey: key) }
        }
    }

    private var entries: [String: Entry] = [:]
    private(set) var version: Version = 0
    /// The keys whose entries were dropped since the current commit began.
    private var dropped: Set<String> = []
    /// The version up to which the current commit saves entries.
    private var flushing: Version = 0

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    func contains(_ key: String) -> Bool { entries[key] != nil }

    /// Whether a key has an entry whose assignment is not newer than a version.
    func contains(anyOf keys: Set<String>, upTo version: Version = .max) -> Bool {
        entries.contains { keys.contains($0.key) && $0.value.assignment <= version }
    }

    /// The keys of the assignments that some keys belong to, first those whose values are removed.
    ///
    /// If they are dropped in this order, a renamed setting has its new value until it has the one under its old key again.
    func keys(assignedWith keys: some Collection<String>) -> [String] {
        let assignments = Set(keys.compactMap { entries[$0]?.assignment })
        let assigned = entries.filter { assignments.contains($0.value.assignment) }
        return assigned.filter { $0.value.value == nil }.keys.sorted()
            + assigned.filter { $0.value.value != nil }.keys.sorted()
    }

    func value(forKey key: String, over stored: StoredValue?) -> StoredValue? {
        guard let entry = entries[key] else { return stored }
        return entry.value
    }

    func applied(to contents: [String: StoredValue]) -> [String: StoredValue] {
        entries.inOrder.reduce(into: contents) { $0.assign($1.value.value, toKey: $1.key) }
    }

    /// Keeps the values of an assignment.
    mutating func keep(_ edits: [(key: String, value: StoredValue?)]) {
        version += 1
        // The removal of a value under an old key now belongs to the newer value under the new one.
        let replaced = Set(edits.compactMap { entries[$0.key]?.assignment })
        for (key, entry) in entries where replaced.contains(entry.assignment) { entries[key]?.assignment = version }
        for (key, value) in edits { entries[key] = Entry(value: value, version: version, assignment: version) }
    }

    /// The entries that a commit saves.
    ///
    /// - Parameters:
    ///   - keys: The only keys to save; `nil` for all.
    ///   - excluded: Keys that this commit cannot save. What was assigned with them is not saved either.
    /// - Returns: The entries.
    func saved(of keys: Set<String>? = nil, except excluded: Set<String> = []) -> [String: Entry] {
        let others = keys.map { keys in entries.keys.filter { !keys.contains($0) } } ?? []
        let unsaved = Set(self.keys(assignedWith: excluded.union(others)))
        return entries.filter { !unsaved.contains($0.key) }
    }

    /// Begins a commit that saves some entries: see ``saved(of:except:)``.
    mutating func beginFlush(of keys: Set<String>? = nil, except excluded: Set<String> = []) -> Flush {
        flushing = version
        dropped = []
        return Flush(entries: saved(of: keys, except: excluded), version: version)
    }

    /// Takes entries out of the transaction of a commit whose body has returned that were dropped meanwhile.
    ///
    /// A newer value of another process must not be overwritten, and one that was dropped must not be stored. A newer
    /// assignment stays pending above the stored value.
    ///
    /// - Returns: Their keys.
    func revertDropped(_ flush: Flush, in transaction: inout StoreTransaction) -> [String] {
        let keys = flush.entries.keys.filter { dropped.contains($0) || entries[$0] == nil }
        for key in keys { transaction.revertFlushed(key) }
        return keys
    }

    /// Ends the entry of a key that a commit has changed, unless it is newer.
    ///
    /// A local commit is later than the entries it saves. An external one is later than every entry, because a write becomes
    /// pending on the newest contents of the store.
    ///
    /// - Returns: The entry; `nil` if none has ended.
    mutating func end(_ key: String, with origin: SettingChangeOrigin) -> Entry? {
        guard let entry = entries[key], origin == .external || entry.version <= flushing else { return nil }
        entries[key] = nil
        if origin == .external { dropped.insert(key) }
        return entry
    }

    /// Drops the entry of a key, unless its assignment is newer than a version.
    ///
    /// - Returns: The dropped entry; `nil` if there is none.
    mutating func drop(_ key: String, upTo version: Version) -> Entry? {
        guard let entry = entries[key], entry.assignment <= version else { return nil }
        entries[key] = nil
        dropped.insert(key)
        return entry
    }

    /// The change from one visible value to another; `nil` when they are equal.
    static func change(ofKey key: String, from old: StoredValue?, to new: StoredValue?) -> StoreChange? {
        // A pending value still has its own kind. A store may return the JSON value that represents it.
        guard old != new, old?.storedAsJSON != new?.storedAsJSON else { return nil }
        return StoreChange(key: key, old: old, new: new)
    }
}

extension [String: PendingWrites.Entry] {
    /// The entries in the order in which they were assigned.
    fileprivate var inOrder: [Element] { sorted { ($0.value.version, $0.key) < ($1.value.version, $1.key) } }
}
