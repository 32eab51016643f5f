// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "Lifetime ties are checked before each call".

import Synchronization

extension Setting {
    /// Calls a closure for every change from now on.
    ///
    /// ```swift
    /// let observation = settings.$logLevel.observe { change in
    ///     logger.logLevel = change.new
    /// }
    /// ```
    ///
    /// For a change by this process, the closure is called on the thread that makes the change, before the assignment
    /// returns. For a change by another process or an editor, it is called on a thread of the library. Calls do not overlap,
    /// and come in the order of the changes. Changes that arrive during a call are delivered as one by the next call, on the
    /// same thread. Several observers of one change are called in no particular order. The closure is called under no lock:
    /// it may read and change settings, this one included, and start and end observations.
    ///
    /// - Parameters:
    ///   - initial: Whether to call the closure at once, with the current value as both old and new.
    ///   - onChange: The closure to call.
    /// - Returns: The observation. It ends with the last reference to it, unless it is tied to an object. See
    ///   ``SettingObservation`` for how to hold it.
    public func observe(
        initial: Bool = false,
        _ onChange: @escaping @Sendable (SettingChange<Value>) -> Void
    ) -> SettingObservation {
        let last = LastReading<Value>()
        let (subscription, value) = subscribe { change in
            CallbackSubscriber(change) { change in
                if let change = self.change(change, after: last) { onChange(change) }
            }
        }
        let observation = SettingObservation(subscription)
        let reading = box.consistentReading(of: value, isReported: initial)
        last.note(reading)
        if initial {
            var change = SettingChange(old: reading.value, new: reading.value, origin: .local)
            change.isSecret = isSecret || reading.isFromSecretFile
            onChange(change)
        }
        observation.subscriber.endDelivery()
        return observation
    }
}

/// The registration of a closure that is called for changes.
///
/// An observation ends with the last reference to it. Store it in a property, or tie it to an object with
/// ``tieToLifetime(of:)``. A local variable is not enough: an optimized build may release an object after its last use
/// instead of at the end of the scope. In a function, hold observations like this:
///
/// ```swift
/// let observations = [host, port].map { $0.observe { print($0.new) } }
/// try withExtendedLifetime(observations) {
///     try serve()
/// }
/// ```
///
/// ``invalidate()`` ends an observation at once. `defer { observation.invalidate() }` holds it until then, too.
public final class SettingObservation: Sendable {
    private let subscription: EngineSubscription<CallbackSubscriber>

    init(_ subscription: EngineSubscription<CallbackSubscriber>) {
        self.subscription = subscription
    }

    deinit {
        subscriber.invalidate()
    }

    var subscriber: CallbackSubscriber { subscription.subscriber }

    /// Ends the observation.
    ///
    /// A call that is running on another thread continues to its end. No other call follows.
    public func invalidate() {
        subscriber.invalidate()
        subscription.end()
        LifetimeTies.shared.remove(self)
    }

    /// Ties the observation to an object: it is held until the object no longer exists, and then ends.
    ///
    /// ```swift
    /// settings.$logLevel.observe { [weak server] in server?.apply($0.new) }.tieToLifetime(of: server)
    /// ```
    ///
    /// The object is owned only during a call of the closure, and the closure is not called after the object's end. Nothing
    /// notifies the library of that end. It checks before each call of the closure, and sometimes when other observations
    /// are tied. Until then the closure, its captured values and the suite stay in memory. Call ``invalidate()`` in the
    /// object's `deinit` to release them earlier.
    ///
    /// A new tie replaces the earlier one.
    ///
    /// - Parameter object: The object. Its last reference may be released on any thread.
    /// - Returns: This observation.
    @discardableResult
    public func tieToLifetime(of object: AnyObject) -> SettingObservation {
        // An observation that has ended is not held, even when it ends during this call.
        if subscriber.setTie(WeakReference(object)) {
            LifetimeTies.shared.add(self)
            if subscriber.isInvalid { LifetimeTies.shared.remove(self) }
        }
        return self
    }

    /// Removes the tie of ``tieToLifetime(of:)``, so that the observation ends with the last reference to it.
    ///
    /// If the object no longer exists, the observation ends.
    public func removeLifetimeTie() {
        if subscriber.endIfUnowned() { return invalidate() }
        LifetimeTies.shared.remove(self)
        _ = subscriber.setTie(nil)
    }
}

// MARK: - Lifetime ties

/// The observations that are tied to an object.
///
/// They are owned here until the object no longer exists.
///
/// The check whether an object exists may hold its last reference for a moment. The end of the object runs user code, so the
/// check happens under no lock.
final class LifetimeTies: Sendable {
    static let shared = LifetimeTies()

    private struct Table {
        var observations: [ObjectIdentifier: SettingObservation] = [:]
        /// The number of observations at which ``sweep()`` is due.
        var limit = leastLimit
    }

    static let leastLimit = 64

    private let table = Locked(Table())

    /// Owns an observation.
    func add(_ observation: SettingObservation) {
        let isSweepDue = table.withLock { table in
            table.observations[ObjectIdentifier(observation)] = observation
            return table.observations.count > table.limit
        }
        if isSweepDue { sweep() }
    }

    /// Releases an observation, to which the caller has a reference.
    func remove(_ observation: SettingObservation) {
        table.withLock { $0.observations[ObjectIdentifier(observation)] = nil }
    }

    /// Ends all observations whose object no longer exists.
    func sweep() {
        let observations = table.withLock { $0.observations }
        for observation in observations.values where observation.subscriber.endIfUnowned() {
            remove(observation)
            observation.invalidate()
        }
        table.withLock { $0.limit = max(Self.leastLimit, 2 * $0.observations.count) }
    }

    /// The number of observations.
    var count: Int { table.withLock { $0.observations.count } }
}

// MARK: - The subscriber

/// Calls a closure for changes, in order and on one thread at a time.
///
/// Changes that arrive during a call are merged into one pending change. So are those that arrive until the first call of
/// ``endDelivery()``, before which the value that changes start from is not known.
final class CallbackSubscriber: CallbackReceiver {
    private struct State {
        var pending: StoredValueChange?
        var tie: WeakReference<AnyObject>?
        var isDelivering = true
        var isFinished = false
        var isInvalid = false

        var isDeliveryDue: Bool { pending != nil && !isDelivering }

        /// Whether no call can follow.
        var isOver: Bool { isInvalid || isFinished && pending == nil && !isDelivering }

        mutating func end() {
            isFinished = true
            isInvalid = true
            pending = nil
            tie = nil
        }
    }

    private let state = Locked(State())
    private let change: @Sendable (StoreCommit) -> StoredValueChange?
    private let callback: @Sendable (StoredValueChange) -> Void

    /// - Parameters:
    ///   - change: Returns the change that a commit makes for this subscriber; `nil` for none.
    ///   - callback: Called for each change.
    init(
        _ change: @escaping @Sendable (StoreCommit) -> StoredValueChange?,
        callback: @escaping @Sendable (StoredValueChange) -> Void
    ) {
        self.change = change
        self.callback = callback
    }

    func offer(_ commit: StoreCommit) -> Bool {
        guard let change = change(commit), !change.isEmpty else { return false }
        return state.withLock { state in
            guard !state.isFinished else { return false }
            state.pending = StoredValueChange.merging(state.pending, with: change)
            return true
        }
    }

    func skip(_ commit: StoreCommit) {
        _ = change(commit)
    }

    /// Accepts no more changes.
    ///
    /// The pending change is still delivered, as in a stream.
    func finish() {
        state.withLock { $0.isFinished = true }
    }

    /// Accepts no more changes, and drops the pending one.
    func invalidate() {
        state.withLock { $0.end() }
    }

    /// Whether ``invalidate()`` was called.
    var isInvalid: Bool { state.withLock { $0.isInvalid } }

    /// Ends the subscriber with an object.
    ///
    /// - Parameter tie: A weak reference to the object; `nil` for none.
    /// - Returns: Whether the subscriber can still deliver a change.
    func setTie(_ tie: WeakReference<AnyObject>?) -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.tie = tie
            return true
        }
    }

    /// Ends the caller's own delivery, and delivers the change that is pending by now.
    func endDelivery() {
        state.withLock { $0.isDelivering = false }
        deliverAll()
    }

    func deliverAll() {
        while let tie = state.withLock({ $0.isDeliveryDue ? .some($0.tie) : nil }) {
            // A strong reference, so that the object exists during the call.
            let object = tie?.object
            if tie != nil, object == nil {
                if endIfUnowned() { return LifetimeTies.shared.sweep() }
                // The subscriber has another tie by now, or none.
                continue
            }
            guard let change = takePending(tiedTo: tie) else { continue }
            withExtendedLifetime(object) { callback(change) }
            state.withLock { $0.isDelivering = false }
        }
    }

    /// Begins to deliver the pending change, unless the subscriber has another tie by now.
    private func takePending(tiedTo tie: WeakReference<AnyObject>?) -> StoredValueChange? {
        state.withLock { state in
            guard state.isDeliveryDue, state.tie === tie else { return nil }
            state.isDelivering = true
            return state.pending.take()
        }
    }

    /// Ends the subscriber if the object of its tie no longer exists.
    ///
    /// - Returns: Whether the subscriber has ended, now or before.
    func endIfUnowned() -> Bool {
        let tie = state.withLock { $0.tie }
        let isUnowned = tie.map { $0.object == nil } ?? false
        return state.withLock { state in
            if isUnowned, state.tie === tie { state.end() }
            return state.isInvalid
        }
    }
}
