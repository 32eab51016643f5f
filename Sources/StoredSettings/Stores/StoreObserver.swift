// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "Changes are recorded under the lock and delivered outside it".

/// Receives the changes and failures of a store.
public protocol StoreObserver: AnyObject, Sendable {
    /// Records the changes of one commit.
    ///
    /// The store calls this in the order of the commits, under the lock that determines the order. It returns quickly
    /// and runs no user code.
    ///
    /// - Parameter commit: The changes.
    /// - Returns: The delivery to perform after the lock is released. Retain it until then, even if it is not
    ///   performed.
    func record(_ commit: StoreCommit) -> StoreDelivery

    /// Reports a failure that cannot be thrown to a caller.
    ///
    /// This runs user code, so the store calls it without holding a lock.
    ///
    /// - Parameter error: The fact, the consequence and the fix.
    func report(_ error: SettingsError)

    /// Reports that a failure is settled.
    ///
    /// This runs user code, so the store calls it without holding a lock.
    ///
    /// - Parameter error: The failure as it was reported.
    func reportRecovery(from error: SettingsError)
}

extension StoreObserver {
    /// Does nothing.
    public func reportRecovery(from error: SettingsError) {}
}

/// The changes that became visible together.
public struct StoreCommit: Sendable, Hashable {
    /// The changes, one per key; none for a commit of this process that has left all values as they were.
    ///
    /// A change of an object is followed by those of the declared keys in it.
    ///
    /// In each of them, the old and the new value differ.
    public var changes: [StoreChange]
    /// The process that made the changes.
    public var origin: SettingChangeOrigin
    /// Whether the layers around the store have changed, and not the stored values.
    var isLayered = false
    /// The stored values that another process has assigned again, as changes from each value to itself.
    var reassigned: [StoreChange] = []
    /// The keys that may have had other values since the last commit.
    var gap: Gap?
    /// The keys whose values are in objects, and have no names of their own.
    var keysInObjects: Set<String> = []

    enum Gap: Sendable, Hashable {
        case key(String)
        /// The contents were read first, or again as a whole.
        case allKeys
    }

    /// Creates a commit.
    public init(changes: [StoreChange], origin: SettingChangeOrigin) {
        self.changes = changes
        self.origin = origin
    }
}

/// A change of the stored value of one key.
///
/// `nil` means that no value is stored.
public struct StoreChange: Sendable, Hashable {
    /// The key.
    public var key: String
    /// The value before the change.
    public var old: StoredValue?
    /// The value after the change.
    public var new: StoredValue?

    /// Creates a change of one key.
    public init(key: String, old: StoredValue?, new: StoredValue?) {
        self.key = key
        self.old = old
        self.new = new
    }
}

extension [StoreChange] {
    /// Creates the changes that lead from one state of the contents to another, sorted by key.
    package init(from old: [String: StoredValue], to new: [String: StoredValue]) {
        var changes: [StoreChange] = []
        for (key, value) in new {
            let before = old[key]
            if before != value { changes.append(StoreChange(key: key, old: before, new: value)) }
        }
        // Usually no key was removed, which the counts show. Then the old keys need no check.
        let added = changes.count { $0.old == nil }
        if new.count - added < old.count {
            for (key, value) in old where new[key] == nil {
                changes.append(StoreChange(key: key, old: value, new: nil))
            }
        }
        self = changes.sorted { $0.key < $1.key }
    }

    /// Returns these changes of names, with the changes of keys whose values may be in objects.
    func completed(with others: [StoreChange]) -> [StoreChange] {
        guard !others.isEmpty else { return self }
        let keys = Set(others.map(\.key))
        return (filter { !keys.contains($0.key) } + others.filter { $0.old != $0.new }).sorted { $0.key < $1.key }
    }
}

/// An object that acts on the changes of a commit after the store's lock is released.
protocol DeliveryReceiver: AnyObject, Sendable {
    /// Acts on the pending change, unless it has been consumed already.
    func wake(_ origin: SettingChangeOrigin)
}

/// The rest of the work for a commit after the store's lock is released: waking the subscribers.
public struct StoreDelivery: Sendable {
    var subscribers: [any DeliveryReceiver] = []
    var origin = SettingChangeOrigin.local
    /// Whether the recorder has to check requirements, which may notify more subscribers.
    var isCheckDue = false
    /// The failures that the recorder reports.
    var errors: [SettingsError] = []
    /// The observer that recorded the commit.
    ///
    /// It may hold the last reference to objects of the user, which must not be deinitialized under the store's lock.
    var recorder: (any StoreObserver)?

    /// A delivery without subscribers.
    public static var none: StoreDelivery { StoreDelivery() }

    /// Wakes the subscribers.
    ///
    /// Call it once, without holding a lock.
    public func perform() {
        guard !subscribers.isEmpty || !errors.isEmpty || isCheckDue else { return }
        // The code of the user, and the tasks that it starts, may wait for longer than the caller.
        WaitLimit.runWithout {
            for subscriber in subscribers {
                subscriber.wake(origin)
            }
            for error in errors {
                recorder?.report(error)
            }
            if isCheckDue, let engine = recorder as? SettingsEngine { engine.checkIfDue() }
        }
    }
}
