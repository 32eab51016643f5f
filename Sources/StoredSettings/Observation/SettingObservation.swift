// SPDX-License-Identifier: Apache-2.0

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
        let known = knownValues
        let change: @Sendable (StoreCommit) -> StoredValueChange? = { commit in
            known.map { $0.change(commit) } ?? StoredValueChange(of: commit)
        }
        let last = LastReading<Value>()
        // Until the value that changes start from is known, changes wait.
        let subscriber = CallbackSubscriber(isDelivering: true, change) { change in
            if let change = self.change(change, after: last) { onChange(change) }
        }
        let (id, value) =
            known.map { (engine.addSubscriber(subscriber, forKeys: storedKeys.all), $0.begin(with: engine.contents())) }
            ?? engine.addSubscriber(subscriber, forKey: key)
        let observation = SettingObservation(subscriber, id: id, engine: engine)
        let reading = box.consistentReading(of: value, isReported: initial)
        last.note(reading)
        if initial {
            let isSecret = isSecret || reading.isFromSecretFile
            onChange(SettingChange(old: reading.value, new: reading.value, origin: .local, isSecret: isSecret))
        }
        subscriber.endDelivery()
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
    private let subscriber: any ObservationSubscriber
    private let id: SettingsEngine.SubscriberID
    private let engine: SettingsEngine

    init(_ subscriber: any ObservationSubscriber, id: SettingsEngine.SubscriberID, engine: SettingsEngine) {
        self.subscriber = subscriber
        self.id = id
        self.engine = engine
    }

    deinit {
        subscriber.invalidate()
        engine.removeSubscriber(id)
    }

    /// Ends the observation.
    ///
    /// A call that is running on another thread continues to its end. No other call follows.
    public func invalidate() {
        subscriber.invalidate()
        engine.removeSubscriber(id)
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
        let tie = LifetimeTie(object)
        // An observation that has ended is not held, even when it ends during this call.
        if subscriber.setTie(tie) {
            LifetimeTies.shared.add(self, tie)
            if subscriber.isInvalid { LifetimeTies.shared.remove(self) }
        }
        return self
    }

    /// Removes the tie of ``tieToLifetime(of:)``, so that the observation ends with the last reference to it.
    ///
    /// If the object no longer exists, the observation ends.
    public func removeLifetimeTie() {
        if let tie = LifetimeTies.shared.remove(self), tie.object == nil { return invalidate() }
        _ = subscriber.setTie(nil)
    }
}
