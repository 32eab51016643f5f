// SPDX-License-Identifier: Apache-2.0

/// One who waits for changes: a stream or an observation.
///
/// A change reaches a subscriber in two steps, so that the order of changes is that of the commits and yet nobody is woken
/// under a lock: ``offer(_:)`` keeps it, under the store's lock; ``wake(_:)`` acts on it, under none.
protocol ChangeSubscriber: AnyObject, Sendable {
    /// Keeps what a commit changed, merged with what is still to be taken.
    ///
    /// - Returns: Whether to call ``wake(_:)`` once the locks are free.
    func offer(_ commit: StoreCommit) -> Bool

    /// Acts on what was offered, if it has not been taken in the meantime.
    func wake(_ origin: SettingChangeOrigin)

    /// Ends the waiting: there will be no more changes.
    func finish()
}

/// A subscriber that runs code of the user's when it is woken.
protocol CallbackReceiver: ChangeSubscriber {
    /// Tells what was offered.
    func deliverAll()
}

extension CallbackReceiver {
    func wake(_ origin: SettingChangeOrigin) {
        switch origin {
        case .local:
            deliverAll()
        case .external:
            // It was met by a thread that only wanted to read, or that serves all suites.
            WorkScheduler.shared.soon { self.deliverAll() }
        }
    }
}

/// Something that has happened to stored values, and can be merged with what happened to them next, so that one who
/// is slow sees a single change and memory stays bounded.
protocol CoalescingChange: Sendable {
    /// Adds what happened next.
    mutating func absorb(_ later: Self)

    /// Whether what happened has been undone, so that there is nothing to tell.
    var isEmpty: Bool { get }
}

/// What happened to one key.
struct StoredValueChange: CoalescingChange, Hashable {
    var old: StoredValue?
    var new: StoredValue?
    var origin: SettingChangeOrigin

    var isEmpty: Bool { old == new }

    init(old: StoredValue?, new: StoredValue?, origin: SettingChangeOrigin) {
        self.old = old
        self.new = new
        self.origin = origin
    }

    /// What a commit that a subscriber of one key is offered means to it.
    init?(_ commit: StoreCommit) {
        guard let change = commit.changes.first else { return nil }
        self.init(old: change.old, new: change.new, origin: commit.origin)
    }

    mutating func absorb(_ later: StoredValueChange) {
        new = later.new
        origin = later.origin
    }
}

extension SettingsSuite.Change: CoalescingChange {
    init(_ commit: StoreCommit, keys: Set<String>?) {
        let pairs = commit.changes.lazy
            .filter { keys?.contains($0.key) ?? true }
            .map { ($0.key, SettingChange<StoredValue?>(old: $0.old, new: $0.new, origin: commit.origin)) }
        // A store that names a key twice breaks its contract, and is no reason to trap.
        self.init(changes: Dictionary(pairs) { _, later in later }, origin: commit.origin)
    }

    var isEmpty: Bool { changes.isEmpty }

    mutating func absorb(_ later: SettingsSuite.Change) {
        var merged = changes
        for (key, change) in later.changes {
            let old = merged[key].map(\.old) ?? change.old
            let same = old == change.new
            merged[key] = same ? nil : SettingChange(old: old, new: change.new, origin: change.origin)
        }
        self = SettingsSuite.Change(changes: merged, origin: later.origin)
    }
}
