// SPDX-License-Identifier: Apache-2.0

/// What a store tells of its changes and failures.
public protocol StoreObserver: AnyObject, Sendable {
    /// Takes down the changes of one commit.
    ///
    /// Call this in the order of the commits, under the lock that makes the order. It is short and runs no user code.
    ///
    /// - Parameter commit: What has changed.
    /// - Returns: What remains to be done after letting go of the lock. Keep it until then, even if it is dropped after that.
    func record(_ commit: StoreCommit) -> StoreDelivery

    /// Takes notice of a failure that no caller can be told of. Call this under no lock: it runs user code.
    ///
    /// - Parameter error: The fact, the consequence and the fix.
    func report(_ error: SettingsError)
}

/// The changes that became visible together.
public struct StoreCommit: Sendable, Hashable {
    /// What has changed, one entry a key; in every entry old and new differ.
    public var changes: [StoreChange]
    /// Who changed it.
    public var origin: SettingChangeOrigin

    /// Creates a commit of some changes.
    public init(changes: [StoreChange], origin: SettingChangeOrigin) {
        self.changes = changes
        self.origin = origin
    }
}

/// What has changed under one key.
///
/// `nil` means that nothing is stored.
public struct StoreChange: Sendable, Hashable {
    /// The key.
    public var key: String
    /// What was stored before.
    public var old: StoredValue?
    /// What is stored now.
    public var new: StoredValue?

    /// Creates a change of one key.
    public init(key: String, old: StoredValue?, new: StoredValue?) {
        self.key = key
        self.old = old
        self.new = new
    }
}

extension [StoreChange] {
    /// The changes that lead from some contents to others, in the order of their keys.
    package init(from old: [String: StoredValue], to new: [String: StoredValue]) {
        var changes: [StoreChange] = []
        for (key, value) in new {
            let before = old[key]
            if before != value { changes.append(StoreChange(key: key, old: before, new: value)) }
        }
        // Mostly nothing is gone, which the number of what is new tells: then the old keys need no look.
        let added = changes.count { $0.old == nil }
        if new.count - added < old.count {
            for (key, value) in old where new[key] == nil {
                changes.append(StoreChange(key: key, old: value, new: nil))
            }
        }
        self = changes.sorted { $0.key < $1.key }
    }
}

/// What remains to be done for a commit once the store's lock is free: waking those who wait for the change.
public struct StoreDelivery: Sendable {
    var subscribers: [any ChangeSubscriber] = []
    var origin = SettingChangeOrigin.local
    /// Failures that the recorder reports.
    var errors: [SettingsError] = []
    /// Who has recorded the commit.
    ///
    /// The store may have held the last reference to it, for the call alone. What ends with it may be the user's, and must
    /// not end under the store's lock.
    var recorder: (any StoreObserver)?

    /// A delivery to nobody.
    public static var none: StoreDelivery { StoreDelivery() }

    /// Wakes those who wait.
    ///
    /// Call it once, under no lock.
    public func perform() {
        for subscriber in subscribers {
            subscriber.wake(origin)
        }
        for error in errors {
            recorder?.report(error)
        }
    }
}
