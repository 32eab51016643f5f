// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "Two forms of a key are one setting".

import StoredSettings

/// The values of a suite as of one revision of etcd, with the keys in etcd that have them.
struct ReplicaContents {
    private let layout: ReplicaLayout
    /// The values.
    ///
    /// Each key has the form that it has in etcd.
    private(set) var values: [String: StoredValue] = [:]
    /// The revisions of the last changes of keys in etcd, also of removed ones.
    private var revisions: [Name: Int64] = [:]
    /// The keys in etcd that are another form of a key, and whose values are older.
    private(set) var hidden: [String: Set<[UInt8]>] = [:]

    /// The name of a key in etcd, which is hashed as a whole instead of byte by byte.
    private struct Name: Hashable {
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    init(_ layout: ReplicaLayout) {
        self.layout = layout
    }

    /// Creates the contents of a range.
    init(_ layout: ReplicaLayout, _ keyValues: [EtcdKeyValue]) {
        self.layout = layout
        for keyValue in keyValues {
            revisions[Name(keyValue.key)] = keyValue.modRevision
            guard let key = layout.key(named: keyValue.key) else { continue }
            if values[key] != nil, revision(ofKey: key) > keyValue.modRevision {
                hidden[key, default: []].insert(keyValue.key)
            } else {
                put(ReplicaLayout.value(of: keyValue.value), forKey: key)
            }
        }
    }

    /// Creates the contents of a replica from the disk.
    init(_ layout: ReplicaLayout, _ saved: SavedReplica) {
        self.layout = layout
        values = saved.values
        for (key, revision) in saved.revisions { revisions[Name(layout.name(ofKey: key))] = revision }
        if saved.head != nil { revisions[Name(layout.head)] = saved.headRevision }
    }

    /// The key in etcd that has, or gets, the value of a key.
    func name(ofKey key: String) -> [UInt8] { layout.name(ofKey: key, in: values) }

    private func storedForm(of key: String) -> String { values.index(forKey: key).map { values[$0].key } ?? key }

    /// The revision of a value; 0 if there is none.
    func revision(ofKey key: String) -> Int64 {
        values[key] == nil ? 0 : revision(ofName: name(ofKey: key))
    }

    /// The revision of the last change of a key in etcd; 0 if none is known.
    func revision(ofName name: [UInt8]) -> Int64 { revisions[Name(name)] ?? 0 }

    // MARK: - Changes

    /// Whether a value remains hidden whose newer form these events remove.
    func isIncomplete(after events: [EtcdEvent]) -> Bool {
        guard !hidden.isEmpty else { return false }
        let names = Set(events.map(\.keyValue.key))
        return events.contains { event in
            guard event.isDeletion, let key = layout.key(named: event.keyValue.key) else { return false }
            return name(ofKey: key) == event.keyValue.key && hidden[key]?.isSubset(of: names) == false
        }
    }

    /// Applies the events of a revision.
    mutating func apply(_ events: [EtcdEvent], at revision: Int64) -> [StoreChange] {
        var changes: [StoreChange] = []
        for event in events {
            let name = event.keyValue.key
            revisions[Name(name)] = revision
            guard let key = layout.key(named: name) else { continue }
            if event.isDeletion, values[key] != nil, self.name(ofKey: key) != name {
                reveal(name, ofKey: key)
                continue
            }
            var value: StoredValue?
            if !event.isDeletion { value = ReplicaLayout.value(of: event.keyValue.value) }
            changes.append(StoreChange(key: key, old: values[key], new: value))
            put(value, forKey: key)
        }
        return changes
    }

    /// Applies changes of a commit that has changed the head and removed other forms of the keys, too.
    mutating func apply(_ edits: [StoreChange], at revision: Int64) -> [StoreChange] {
        revisions[Name(layout.head)] = revision
        return edits.map { edit in
            let key = storedForm(of: edit.key)
            revisions[Name(layout.name(ofKey: key))] = revision
            for name in hidden.removeValue(forKey: edit.key) ?? [] { revisions[Name(name)] = revision }
            let change = StoreChange(key: edit.key, old: values[edit.key], new: edit.new)
            put(edit.new, forKey: key)
            return change
        }
    }

    private mutating func put(_ value: StoredValue?, forKey key: String) {
        if let index = values.index(forKey: key) {
            let known = values[index].key
            if value == nil || !known.utf8.elementsEqual(key.utf8) {
                // A dictionary does not replace the form of a key.
                values.remove(at: index)
                if value != nil { hidden[key, default: []].insert(layout.name(ofKey: known)) }
            }
        }
        guard let value else { return }
        values[key] = value
        if !hidden.isEmpty { reveal(layout.name(ofKey: key), ofKey: key) }
    }

    /// Removes a key in etcd from those that are hidden.
    private mutating func reveal(_ name: [UInt8], ofKey key: String) {
        hidden[key]?.remove(name)
        if hidden[key]?.isEmpty == true { hidden[key] = nil }
    }

    // MARK: - Comparison

    /// Whether the contents have all changes up to the revision of a result, which has the keys without their values.
    func include(_ result: EtcdRangeResult) -> Bool {
        var names: Set<[UInt8]> = []
        // Other stores write the fence, which has no value.
        for keyValue in result.keyValues where keyValue.key != layout.fence {
            names.insert(keyValue.key)
            let known = revision(ofName: keyValue.key)
            // A known revision that etcd no longer has was lost with the data that a backup has replaced.
            guard known == keyValue.modRevision || known > result.header.revision else { return false }
        }
        // A key that is missing in the result was removed before, or created later.
        return values.keys.map(layout.name(ofKey:))
            .allSatisfy { names.contains($0) || revision(ofName: $0) > result.header.revision }
    }
}

extension ReplicaState {
    /// What the contents were when a request was sent, with which its answer is compared.
    struct Start: Hashable {
        var revision: Int64
        var restorations = 0
    }

    /// What to do after the lock is released.
    struct Effects {
        var deliveries: [StoreDelivery] = []
        /// Retained until the lock is released, because an observer may hold objects of the user.
        var observers: [any StoreObserver] = []
        var errors: [SettingsError] = []
        var recoveries: [SettingsError] = []

        var isEmpty: Bool { deliveries.isEmpty && observers.isEmpty && errors.isEmpty && recoveries.isEmpty }
    }

    /// Adds the effects to others, and clears them.
    mutating func moveEffects(to others: inout Effects) {
        guard !effects.isEmpty else { return }
        others.deliveries += effects.deliveries
        others.observers += effects.observers
        others.errors += effects.errors
        others.recoveries += effects.recoveries
        effects = Effects()
    }
}
