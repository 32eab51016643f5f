// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "changes() subscribes".

extension Setting {
    /// The current value, followed by every change of it.
    ///
    /// ```swift
    /// for await port in settings.$port.values {
    ///     await server.listen(on: port)
    /// }
    /// ```
    ///
    /// Each loop starts with the value at that moment and misses no later change, whether this process, another process
    /// or an editor made it. Equal values are not repeated. A slow loop receives the newest value instead of all values.
    /// The loop ends when its task is canceled or the suite is finished.
    ///
    /// The first loop starts to watch the path of the settings file.
    public var values: Values { Values(setting: self) }

    /// Every change from now on, with the values before and after it.
    ///
    /// This subscribes: the first loop over the sequence receives the changes since this call. Each further loop starts when
    /// it begins. As with ``values``, equal values are not a change, and a slow loop receives several changes as one.
    public func changes() -> Changes { Changes(self) }

    /// The values of a setting over time: see ``Setting/values``.
    public struct Values: AsyncSequence, Sendable {
        let setting: Setting<Value>

        /// Starts with the current value.
        public func makeAsyncIterator() -> Iterator {
            Iterator(setting)
        }

        /// The values for one loop.
        public struct Iterator: AsyncIteratorProtocol {
            private let setting: Setting<Value>
            private let subscription: EngineSubscription<StreamSubscriber<StoredValueChange>>
            private var isFirst = true
            private let first: StoredValue?
            private var last: StoredValue?

            init(_ setting: Setting<Value>) {
                self.setting = setting
                (subscription, first) = setting.subscribe { StreamSubscriber($0) }
            }

            /// The next value; `nil` when the task is canceled or the suite is finished.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Value? {
                if isFirst {
                    isFirst = false
                    guard !Task.isCancelled else { return nil }
                    let reading = setting.box.consistentReading(of: first)
                    last = setting.box.identity(of: reading)
                    return reading.value
                }
                while let change = await subscription.subscriber.next(isolation: actor) {
                    let reading = setting.newReading(of: change)
                    let identity = setting.box.identity(of: reading)
                    guard identity != last else { continue }
                    last = identity
                    return reading.value
                }
                return nil
            }
        }
    }

    /// The changes of a setting over time: see ``Setting/changes()``.
    public struct Changes: AsyncSequence, Sendable {
        private let setting: Setting<Value>
        private let subscription: EngineSubscription<StreamSubscriber<StoredValueChange>>
        private let last: LastReading<Value>

        init(_ setting: Setting<Value>) {
            self.setting = setting
            let (subscription, value) = setting.subscribe { StreamSubscriber($0) }
            self.subscription = subscription
            last = LastReading()
            last.note(setting.box.consistentReading(of: value, isReported: false))
        }

        /// Starts with the changes since the sequence was created; a second loop starts now.
        public func makeAsyncIterator() -> Iterator {
            let own = subscription.take() ? self : Changes(setting)
            return Iterator(setting: setting, subscription: own.subscription, last: own.last)
        }

        /// The changes for one loop.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let setting: Setting<Value>
            fileprivate let subscription: EngineSubscription<StreamSubscriber<StoredValueChange>>
            fileprivate let last: LastReading<Value>

            /// The next change; `nil` when the task is canceled or the suite is finished.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> SettingChange<
                Value
            >? {
                while let change = await subscription.subscriber.next(isolation: actor) {
                    if let change = setting.change(change, after: last) { return change }
                }
                return nil
            }
        }
    }
}

@available(
    *,
    unavailable,
    message: "An iterator belongs to one loop; give each task its own loop over the sequence."
)
extension Setting.Values.Iterator: Sendable {}

extension Setting.Values.Iterator: CustomReflectable {
    /// A mirror without children: a text of an iterator contains no value, which may be secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

@available(
    *,
    unavailable,
    message: "An iterator belongs to one loop; give each task its own loop over the sequence."
)
extension Setting.Changes.Iterator: Sendable {}

extension Setting {
    /// Adds a subscriber, which receives every change after the value that is returned.
    ///
    /// - Parameter makeSubscriber: Creates the subscriber with the function that returns the change that a commit makes for it.
    /// - Returns: The subscription, and the stored value.
    func subscribe<Subscriber: ChangeSubscriber>(
        _ makeSubscriber: (@escaping @Sendable (StoreCommit) -> StoredValueChange?) -> Subscriber
    ) -> (EngineSubscription<Subscriber>, StoredValue?) {
        guard !storedKeys.old.isEmpty else {
            let subscriber = makeSubscriber(StoredValueChange.init(of:))
            let (id, value) = engine.addSubscriber(subscriber, forKeys: [key])
            return (EngineSubscription(subscriber, engine, id: id), value)
        }
        let known = KnownValues(storedKeys)
        let subscription = EngineSubscription(
            makeSubscriber { known.change($0) },
            to: engine,
            forKeys: storedKeys.all
        )
        return (subscription, known.begin(with: engine.contents(), of: engine))
    }

    /// The value after a change.
    ///
    /// Layers that change are read as they are now. So the stored value must be that of now, too: with an older one, they may
    /// be a combination that never was. The subscriber has been offered every change that is stored by now.
    func newReading(of change: StoredValueChange) -> SettingBox<Value>.Reading {
        box.layers?.files == nil ? box.reading(of: change.new) : box.consistentReading(of: box.storedValue)
    }

    /// The value before a change, if `known` is the last value of the subscriber.
    private func oldReading(of change: StoredValueChange, _ known: SettingBox<Value>.Reading?)
        -> SettingBox<Value>.Reading
    {
        // The layers before the change are not known anymore.
        if box.layers?.files != nil, let known { return known }
        let reading = box.reading(of: change.old, isReported: false)
        // Which value was used instead of an unusable one, others may have changed since.
        return reading.isOfUnusable ? known ?? reading : reading
    }

    /// The change of this setting's value that follows from a change of the stored value; `nil` when the value is equal.
    func change(_ change: StoredValueChange, after last: LastReading<Value>) -> SettingChange<Value>? {
        let new = newReading(of: change)
        let known = last.note(new)
        let old = oldReading(of: change, known)
        guard box.identity(of: old) != box.identity(of: new) else { return nil }
        var result = SettingChange(old: old.value, new: new.value, origin: change.origin)
        result.isSecret = box.hasSecret || old.isFromSecretFile || new.isFromSecretFile
        return result
    }
}

/// The last value of a setting that a subscriber has received.
final class LastReading<Value: Sendable>: Sendable {
    private let reading = Locked<SettingBox<Value>.Reading?>(nil)

    /// Replaces the value, and returns the one before; `nil` at first.
    @discardableResult
    func note(_ new: SettingBox<Value>.Reading) -> SettingBox<Value>.Reading? {
        // The end of a value may run user code, so the old one leaves the lock.
        reading.withLock { reading in
            defer { reading = new }
            return reading
        }
    }
}
