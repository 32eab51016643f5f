// SPDX-License-Identifier: Apache-2.0

extension Setting {
    /// Calls a closure for every change from now on, by whomever.
    ///
    /// ```swift
    /// let observation = settings.$logLevel.observe { change in
    ///     logger.logLevel = change.new
    /// }
    /// ```
    ///
    /// A change made in this process is told on the thread that made it, before the assignment returns; one made outside
    /// is told on a thread of the library's. Calls come one at a time, in the order of the changes. While one is running,
    /// further changes are kept for the next call, as one, which the same thread makes. Several observers of one change
    /// are called in no particular order. The closure is called under no lock: it may use settings, change this one, and
    /// observe, and may end any observation.
    ///
    /// - Parameters:
    ///   - initial: Whether to call the closure at once with the current value as both old and new.
    ///   - onChange: What to call.
    /// - Returns: The observation, which ends with the last reference to it, unless it is tied to an object. See
    ///   ``SettingObservation`` for how to hold it.
    public func observe(
        initial: Bool = false,
        _ onChange: @escaping @Sendable (SettingChange<Value>) -> Void
    ) -> SettingObservation {
        let subscriber = CallbackSubscriber(isDelivering: initial, StoredValueChange.init) { change in
            if let change = self.change(change) { onChange(change) }
        }
        let (id, value) = engine.addSubscriber(subscriber, forKey: key)
        let observation = SettingObservation(subscriber, id: id, engine: engine)
        if initial {
            let value = box.reading(of: value).value
            onChange(SettingChange(old: value, new: value, origin: .local))
            subscriber.endDelivery()
        }
        return observation
    }
}

/// A closure that is called for changes, for as long as this object exists.
///
/// Store it in a property, or tie it to an object with ``tieToLifetime(of:)``. A local variable is not enough by itself: Swift
/// may release an object, and releases an array or a dictionary of them, after its last use instead of at the end of the
/// scope. An optimized build does. In a function, hold observations like this:
///
/// ```swift
/// let observations = [host, port].map { $0.observe { print($0.new) } }
/// try withExtendedLifetime(observations) {
///     try serve()
/// }
/// ```
///
/// ``invalidate()`` ends an observation at once, and is a use: `defer { observation.invalidate() }` holds it until then, too.
public final class SettingObservation: Sendable {
    private let subscriber: any CallbackEnding
    private let id: SettingsEngine.SubscriberID
    private let engine: SettingsEngine

    init(_ subscriber: any CallbackEnding, id: SettingsEngine.SubscriberID, engine: SettingsEngine) {
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
    /// A call that is running on another thread runs to its end; no other follows.
    public func invalidate() {
        subscriber.invalidate()
        engine.removeSubscriber(id)
        LifetimeTies.shared.remove(self)
    }

    /// Keeps the observation for as long as an object exists, and no longer, so that nobody else need keep it.
    ///
    /// ```swift
    /// settings.$logLevel.observe { [weak self] in self?.apply($0.new) }.tieToLifetime(of: self)
    /// ```
    ///
    /// The object is not kept, but for as long as a call of the closure takes. Once it is gone the closure is not called
    /// any more. The library has no way to hear of the end of an object, on any platform: it looks when it is about to
    /// call the closure, and now and then when other observations are tied. Until then the closure, and what it has
    /// captured, stay in memory, the suite too. Call ``invalidate()`` in the object's `deinit` if that is too late.
    ///
    /// A new tie takes the place of the one before.
    ///
    /// - Parameter object: The object; any thread may see the last of it.
    /// - Returns: This observation.
    @discardableResult
    public func tieToLifetime(of object: AnyObject) -> SettingObservation {
        let tie = LifetimeTie(object)
        // One that has ended is not kept: neither by this call, nor when it ends at the same time.
        if subscriber.setTie(tie) {
            LifetimeTies.shared.add(self, tie)
            if subscriber.isInvalid { LifetimeTies.shared.remove(self) }
        }
        return self
    }

    /// Undoes ``tieToLifetime(of:)``: from now on the observation ends with the last reference to it.
    ///
    /// Without a tie, or after the end of the object, it does nothing more.
    public func removeLifetimeTie() {
        if let tie = LifetimeTies.shared.remove(self), tie.object == nil { return invalidate() }
        _ = subscriber.setTie(nil)
    }
}
