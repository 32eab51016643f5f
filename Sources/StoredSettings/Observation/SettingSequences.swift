// SPDX-License-Identifier: Apache-2.0

extension Setting {
    /// The current value, and then every change of it, by whomever.
    ///
    /// ```swift
    /// for await port in settings.$port.values {
    ///     await server.listen(on: port)
    /// }
    /// ```
    ///
    /// Each loop gets its own: the value at its beginning, with no gap before the next. A value equal to the one before
    /// is not repeated, and a loop that is slow gets the newest value rather than all of them. The loop ends when its task
    /// is cancelled or the suite is finished.
    ///
    /// Changes by other processes and hand edits are noticed from the first loop on; the directory of the settings is
    /// made for that if need be.
    public var values: Setting.Values<Value> {
        Setting.Values(setting: self)
    }
}

/// The values of a setting over time: see ``Setting/values``.
public struct Setting.Values<Value: Sendable>: AsyncSequence, Sendable {
    let setting: Setting<Value>

    /// Begins with the current value.
    public func makeAsyncIterator() -> Iterator {
        Iterator(setting)
    }

    /// Gives one loop its values.
    public struct Iterator: AsyncIteratorProtocol {
        private let setting: Setting<Value>
        private let subscription: ChangeSubscription<StoredValueChange>
        private var isFirst = true
        private let first: StoredValue?
        private var last: StoredValue?

        init(_ setting: Setting<Value>) {
            self.setting = setting
            (subscription, first) = setting.subscribe()
        }

        /// The next value; `nil` when the task is cancelled or the suite is finished.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Value? {
            if isFirst {
                isFirst = false
                guard !Task.isCancelled else { return nil }
                let reading = setting.box.reading(of: first)
                last = reading.identity
                return reading.value
            }
            while let change = await subscription.storage.next(isolation: actor) {
                let reading = setting.box.reading(of: change.new)
                guard reading.identity != last else { continue }
                last = reading.identity
                return reading.value
            }
            return nil
        }
    }
}

@available(*, unavailable, message: "An iterator belongs to one loop; give each task its own loop over the sequence.")
extension Setting.Values.Iterator: Sendable {}

extension Setting {
    /// Adds a subscriber, which is told of every change after the value that is returned.
    func subscribe() -> (ChangeSubscription<StoredValueChange>, StoredValue?) {
        let storage = ChangeStorage(StoredValueChange.init)
        let (id, value) = engine.addSubscriber(storage, forKey: key)
        return (ChangeSubscription(storage, in: engine, id: id), value)
    }

    /// What a change of what is stored means to this setting, if it means anything.
    func change(_ change: StoredValueChange) -> SettingChange<Value>? {
        let (old, new) = (box.quietReading(of: change.old), box.reading(of: change.new))
        guard old.identity != new.identity else { return nil }
        return SettingChange(old: old.value, new: new.value, origin: change.origin)
    }
}

extension Setting {
    /// Every change from now on, by whomever, with the values before and after.
    ///
    /// The first loop over the sequence gets what has changed since this property was read, so nothing falls between
    /// the two; each further loop begins when it begins. Otherwise it is as ``values``: equal values are no change, and
    /// a loop that is slow gets several changes as one.
    public var changes: SettingChanges<Value> {
        SettingChanges(setting: self, subscription: subscribe().0)
    }
}

/// The changes of a setting over time: see ``Setting/changes``.
public struct SettingChanges<Value: Sendable>: AsyncSequence, Sendable {
    let setting: Setting<Value>
    let subscription: ChangeSubscription<StoredValueChange>

    /// Begins with what has changed since the sequence was made, or, from the second time on, since now.
    public func makeAsyncIterator() -> Iterator {
        Iterator(setting: setting, subscription: subscription.take() ? subscription : setting.subscribe().0)
    }

    /// Gives one loop its changes.
    public struct Iterator: AsyncIteratorProtocol {
        let setting: Setting<Value>
        let subscription: ChangeSubscription<StoredValueChange>

        /// The next change; `nil` when the task is cancelled or the suite is finished.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> SettingChange<Value>? {
            while let change = await subscription.storage.next(isolation: actor) {
                if let change = setting.change(change) { return change }
            }
            return nil
        }
    }
}

@available(*, unavailable, message: "An iterator belongs to one loop; give each task its own loop over the sequence.")
extension SettingChanges.Iterator: Sendable {}
