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
    /// - Parameters:
    ///   - settings: Settings of this suite, of any types. A setting of another suite is reported, and its changes add no element.
    ///   - initial: Whether the first element has the values at the start of the loop. Otherwise, it has those after the first change.
    /// - Returns: The values.
    public func values<each Value: Sendable>(
        of settings: repeat Setting<each Value>,
        initial: Bool = true
    ) -> TupleValues<(repeat each Value)> {
        let engine = engine
        let keys = ownKeys(of: repeat each settings)
        return TupleValues(engine: engine, keys: keys, isInitial: initial) {
            engine.track(repeat each settings, keys: keys)
        }
    }

    // The types are generic over the tuple: those that are generic over a parameter pack crash compilers up to 6.3.

    /// The values of several settings over time: see ``SettingsSuite/values(of:initial:)``.
    ///
    /// The element is a tuple, or the value itself for a single setting.
    public struct TupleValues<Element>: AsyncSequence, Sendable {
        let engine: SettingsEngine
        let keys: Set<String>
        let isInitial: Bool
        /// Returns a function that reads all settings and tells whether a value has changed, and one that returns the values.
        let track: @Sendable () -> (readAll: () -> Bool, current: () -> Element)

        /// Starts with the current values.
        public func makeAsyncIterator() -> Iterator {
            Iterator(self)
        }

        /// The values for one loop.
        public struct Iterator: AsyncIteratorProtocol {
            private let subscription: EngineSubscription<StreamSubscriber<StoredValueChange>>
            private let readAll: () -> Bool
            private let current: () -> Element
            private var isFirst: Bool

            fileprivate init(_ sequence: TupleValues) {
                isFirst = sequence.isInitial
                let subscriber = StreamSubscriber(StoredValueChange.init(readingAfter:))
                subscription = EngineSubscription(subscriber, to: sequence.engine, forKeys: Array(sequence.keys))
                // After the subscription: a change in between is in both, and is then equal to what was read.
                (readAll, current) = sequence.track()
                _ = readAll()
            }

            /// The next values; `nil` when the task is canceled or the suite is finished.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Element? {
                if isFirst {
                    isFirst = false
                    return Task.isCancelled ? nil : current()
                }
                while await subscription.subscriber.next(isolation: actor) != nil {
                    if readAll() { return current() }
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
extension SettingsSuite.TupleValues.Iterator: Sendable {}

// MARK: - Reading once
// See Documentation/Decisions/Reading.md, "Several values are read between two equal versions".

extension SettingsSuite {
    /// The values of two settings at one moment.
    ///
    /// ```swift
    /// let (host, port) = suite.read(settings.$host, settings.$port)
    /// ```
    ///
    /// The values are those of one version of the store and of all sources: of a transaction, all changes or none. Two reads one
    /// after the other may have a change between them. The call waits for no other process. While nothing changes, it takes about
    /// as long as three reads.
    ///
    /// - Parameters:
    ///   - first: A setting of this suite. One of another suite is reported, and its value may be that of another moment.
    ///   - second: Another one, of any type.
    /// - Returns: The values.
    @inlinable
    public func read<First: Sendable, Second: Sendable>(
        _ first: Setting<First>,
        _ second: Setting<Second>
    ) -> (First, Second) {
        for _ in 0..<2 {
            // Values with one version are those of one moment.
            if let first = first.cache.current(as: First.self), let second = second.cache.current(as: Second.self),
                first.version == second.version
            {
                return (first.value, second.value)
            }
            _ = (first.value, second.value)
        }
        return consistentValues(of: first, second)
    }

    /// The values of several settings at one moment: see ``read(_:_:)``.
    ///
    /// It takes about 0.1 microseconds per setting.
    ///
    /// - Parameter settings: Settings of this suite, of any types. One of another suite is reported, and its value may be that of
    ///   another moment.
    /// - Returns: The values.
    public func read<each Value: Sendable>(_ settings: repeat Setting<each Value>) -> (repeat each Value) {
        var suites: [SettingsSuite] = []
        for setting in repeat each settings { suites.append(setting.suite) }
        if let version = engine.storeVersion?.version, suites.allSatisfy({ $0.engine === engine }) {
            let values = (repeat (each settings).value)
            if engine.storeVersion?.isCurrent(version) == true { return values }
        }
        return consistentValues(of: repeat each settings)
    }

    /// The values, of one consistent read of the store.
    @usableFromInline
    func consistentValues<each Value: Sendable>(of settings: repeat Setting<each Value>) -> (repeat each Value) {
        let (readAll, current) = engine.track(repeat each settings, keys: ownKeys(of: repeat each settings))
        repeat (each settings).box.access()
        _ = readAll()
        return current()
    }
}

// MARK: - Changes

extension SettingsSuite {
    /// Every change of any key from now on.
    ///
    /// The changes of a transaction are one element.
    ///
    /// As with ``Setting/changes()``, this subscribes: the first loop receives the changes since this call, and a
    /// slow loop receives several changes as one.
    public func changes() -> Changes { Changes(of: self, keys: nil) }

    /// Every change of some keys from now on.
    ///
    /// The changes of these keys in one transaction are one element.
    public func changes(of keys: String...) -> Changes {
        let keys = keys.map(fullKey)
        // Their values may be in objects.
        engine.noteDeclaration(of: keys)
        return Changes(of: self, keys: Set(keys))
    }

    /// Every change of some keys from now on.
    ///
    /// The changes of these keys in one transaction are one element.
    public func changes(of keys: AnySettingKey...) -> Changes {
        Changes(of: self, keys: Set(keys.flatMap { fullKeys($0).all }))
    }

    /// The changes of a suite over time: see ``SettingsSuite/changes()``.
    public struct Changes: AsyncSequence, Sendable {
        private let suite: SettingsSuite
        /// Keys of the whole suite; `nil` for all keys of the suite or the group.
        private let keys: Set<String>?
        /// Whether a change of a value that another layer has is a change as well.
        private let includesLayers: Bool
        private let subscription: EngineSubscription<StreamSubscriber<Change>>

        package init(of suite: SettingsSuite, keys: Set<String>?, includesLayers: Bool = false) {
            self.suite = suite
            self.keys = keys
            self.includesLayers = includesLayers
            let group = suite.group
            let subscriber = StreamSubscriber { Change($0, keys: keys, in: group, includesLayers: includesLayers) }
            subscription = EngineSubscription(subscriber, to: suite.engine)
        }

        /// Starts with the changes since the sequence was created; a second loop starts now.
        public func makeAsyncIterator() -> Iterator {
            let own = subscription.take() ? self : Self(of: suite, keys: keys, includesLayers: includesLayers)
            return Iterator(suite: suite, subscription: own.subscription)
        }

        /// The changes for one loop.
        public struct Iterator: AsyncIteratorProtocol {
            let suite: SettingsSuite
            let subscription: EngineSubscription<StreamSubscriber<Change>>

            /// The next change; `nil` when the task is canceled or the suite is finished.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Change? {
                await subscription.subscriber.next(isolation: actor)?.redacted(in: suite)
            }
        }
    }
}

@available(
    *,
    unavailable,
    message: "An iterator belongs to one loop; give each task its own loop over the sequence."
)
extension SettingsSuite.Changes.Iterator: Sendable {}

// MARK: - One of several settings

/// A setting of any type, whose last value a subscriber of several settings knows.
protocol ChangeTracking: AnyObject, Sendable {
    /// The number of the newest contents of the layers that change around the store; `nil` without such layers.
    var snapshotNumber: UInt64? { get }

    /// Reads the value, without using it yet.
    func read(in contents: [String: StoredValue])

    /// Uses the value that was read, and returns whether it differs from the last one.
    func adopt() -> Bool
}

extension [any ChangeTracking] {
    /// Reads all settings, with the layers of now.
    ///
    /// The stored values must be those of now, too: older ones and the layers, or layers of different moments, may be a
    /// combination that never was. The subscriber has been offered every change that is stored by now.
    ///
    /// - Returns: Whether a value has changed.
    func readAll(_ keys: Set<String>, of engine: SettingsEngine) -> Bool {
        for _ in 0..<LayerList.maximumOfReads {
            let (contents, layers) = (engine.contents(of: keys), map(\.snapshotNumber))
            for tracker in self { tracker.read(in: contents) }
            guard layers.contains(where: { $0 != nil }) else { break }
            if engine.contents(of: keys) == contents, layers == map(\.snapshotNumber) { break }
        }
        return reduce(false) { $1.adopt() || $0 }
    }
}

extension SettingsEngine {
    /// Returns a function that reads all settings and tells whether a value has changed, and one that returns the values.
    func track<each Value: Sendable>(
        _ settings: repeat Setting<each Value>,
        keys: Set<String>
    ) -> (readAll: @Sendable () -> Bool, current: @Sendable () -> (repeat each Value)) {
        let trackers = (repeat TrackedSetting(each settings, for: self))
        var all: [any ChangeTracking] = []
        for tracker in repeat each trackers { all.append(tracker) }
        return ({ [all] in all.readAll(keys, of: self) }, { (repeat (each trackers).value) })
    }

    /// The newest values of some keys, of one consistent read, which copies all values of the store only while they change.
    fileprivate func contents(of keys: Set<String>) -> [String: StoredValue] {
        // The first read brings the store up to date.
        if let key = keys.first { _ = value(forKey: key) }
        let version = storeVersion?.version
        let values = keys.reduce(into: [:]) { $0[$1] = value(forKey: $1) }
        if let version, storeVersion?.isCurrent(version) == true { return values }
        let contents = contents()
        return keys.reduce(into: [:]) { $0[$1] = self.value(ofKey: $1, in: contents) }
    }
}

/// The last value of a setting for one subscriber.
///
/// Unchecked: an iterator belongs to one loop, and the calls of an observer do not overlap.
final class TrackedSetting<Value: Sendable>: ChangeTracking, @unchecked Sendable {
    /// Owns the engine, which its box does not.
    private let setting: Setting<Value>
    /// Whether the setting belongs to the suite of the subscriber, so that its changes arrive here.
    private let isOwn: Bool
    private var reading: SettingBox<Value>.Reading
    private var next: SettingBox<Value>.Reading?

    init(_ setting: Setting<Value>, for engine: SettingsEngine) {
        self.setting = setting
        isOwn = setting.engine === engine
        reading = setting.box.consistentReading(of: setting.box.storedValue)
    }

    private var box: SettingBox<Value> { setting.box }

    var value: Value { reading.value }

    var snapshotNumber: UInt64? { box.layers?.files?.snapshot.number }

    func read(in contents: [String: StoredValue]) {
        guard isOwn else { return }
        next = box.reading(of: setting.storedKeys.value { contents[$0] })
    }

    func adopt() -> Bool {
        defer { next = nil }
        guard let next, box.identity(of: next) != box.identity(of: reading) else { return false }
        reading = next
        return true
    }
}
