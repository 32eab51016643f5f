// SPDX-License-Identifier: Apache-2.0

extension SettingsSuite {
    /// The current values of several settings as a tuple, followed by a tuple for every change of them.
    ///
    /// ```swift
    /// for await (host, port) in suite.values(of: settings.$host, settings.$port) {
    ///     await server.listen(on: host, port)
    /// }
    /// ```
    ///
    /// The sequence makes the promises of ``Setting/values``: each loop starts with the values at that moment and misses no
    /// later change, equal values are not repeated, a slow loop receives the newest values, and the loop ends when its task
    /// is canceled or the suite is finished. The values of a tuple were stored at the same moment, so the changes of a
    /// transaction arrive together.
    ///
    /// - Parameter settings: Settings of this suite, of any types. A setting of another suite is reported, and its changes
    ///   add no element.
    /// - Returns: The values.
    public func values<each Value: Sendable>(
        of settings: repeat Setting<each Value>
    ) -> TupleValues<repeat each Value> {
        let keys = Set(observed(repeat each settings).map(\.key))
        return TupleValues(engine: engine, keys: keys, settings: (repeat each settings))
    }

    /// The values of several settings over time: see ``SettingsSuite/values(of:)``.
    public struct TupleValues<each Value: Sendable>: AsyncSequence, Sendable {
        /// One value for each setting.
        public typealias Element = (repeat each Value)

        let engine: SettingsEngine
        let keys: Set<String>
        let settings: (repeat Setting<each Value>)

        /// Starts with the current values.
        public func makeAsyncIterator() -> Iterator {
            Iterator(self)
        }

        /// The values for one loop.
        public struct Iterator: AsyncIteratorProtocol {
            private let sequence: TupleValues<repeat each Value>
            private let subscription: ChangeSubscription<NewStoredValues>
            private var readings: (repeat SettingBox<each Value>.Reading)
            private var isFirst = true

            init(_ sequence: TupleValues<repeat each Value>) {
                self.sequence = sequence
                let (engine, keys) = (sequence.engine, sequence.keys)
                let storage = ChangeStorage { NewStoredValues($0, keys: keys) }
                subscription = ChangeSubscription(storage, in: engine, id: engine.addSubscriber(storage))
                // After the subscription: a change in between is in both, and is then equal to what was read.
                let contents = engine.contents()
                readings = (repeat (each sequence.settings).reading(in: contents, of: engine))
            }

            /// The next values; `nil` when the task is canceled or the suite is finished.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Element? {
                if isFirst {
                    isFirst = false
                    return Task.isCancelled ? nil : (repeat (each readings).value)
                }
                while let change = await subscription.storage.next(isolation: actor) {
                    var isChanged = false
                    readings =
                        (repeat (each sequence.settings)
                            .reading(
                                after: change,
                                of: sequence.engine,
                                each readings,
                                &isChanged
                            ))
                    if isChanged { return (repeat (each readings).value) }
                }
                return nil
            }
        }
    }
}

@available(*, unavailable, message: "An iterator belongs to one loop; give each task its own loop over the sequence.")
extension SettingsSuite.TupleValues.Iterator: Sendable {}

extension Setting {
    /// The value in the contents of an engine.
    ///
    /// A setting of another engine is read there.
    fileprivate func reading(in contents: [String: StoredValue], of engine: SettingsEngine) -> SettingBox<Value>.Reading
    {
        box.reading(of: engine === self.engine ? contents[key] : self.engine.value(forKey: key))
    }

    /// The value after a change, or the last one if the change leaves it equal.
    fileprivate func reading(
        after change: NewStoredValues,
        of engine: SettingsEngine,
        _ last: SettingBox<Value>.Reading,
        _ isChanged: inout Bool
    ) -> SettingBox<Value>.Reading {
        guard engine === self.engine, let stored = change.values[key] else { return last }
        let reading = box.reading(of: stored)
        guard box.identity(of: reading) != box.identity(of: last) else { return last }
        isChanged = true
        return reading
    }
}

/// The new values of some keys, without the old ones.
///
/// Unlike ``SettingsSuite/Change``, a change and its reversal do not cancel out: the subscriber may have read its first
/// values in between.
private struct NewStoredValues: CoalescingChange {
    var values: [String: StoredValue?]

    init(_ commit: StoreCommit, keys: Set<String>) {
        let pairs = commit.changes.lazy.filter { keys.contains($0.key) }.map { ($0.key, $0.new) }
        // A store that lists a key twice violates its contract, which must not trap.
        values = Dictionary(pairs) { _, later in later }
    }

    var isEmpty: Bool { values.isEmpty }

    func followed(by later: NewStoredValues) -> NewStoredValues {
        var merged = self
        merged.values.merge(later.values) { _, later in later }
        return merged
    }
}
