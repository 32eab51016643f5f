// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "Quiet changes belong to a task".

import Synchronization

extension SettingsSuite {
    /// Calls a closure whenever one of several settings has changed.
    ///
    /// ```swift
    /// let observation = suite.observe(settings.$host, settings.$port) {
    ///     server.listen(on: settings.host, settings.port)
    /// }
    /// ```
    ///
    /// The changes of a transaction are one call. Threads and order are those of ``Setting/observe(initial:_:)``.
    ///
    /// - Parameters:
    ///   - settings: Settings of this suite, of any types. A setting of another suite is reported and not observed.
    ///   - initial: Whether to call the closure at once as well.
    ///   - onChange: The closure to call.
    /// - Returns: The observation. It ends with the last reference to it, unless it is tied to an object.
    public func observe<each Value: Sendable>(
        _ settings: repeat Setting<each Value>,
        initial: Bool = false,
        _ onChange: @escaping @Sendable () -> Void
    ) -> SettingObservation {
        let keys = ownKeys(of: repeat each settings)
        return observe(keys, engine.track(repeat each settings, keys: keys).readAll, initial: initial, onChange)
    }

    /// Calls a closure with the values of several settings whenever one of them has changed.
    ///
    /// ```swift
    /// let observation = suite.observe(settings.$host, settings.$port) { host, port in
    ///     server.listen(on: host, port)
    /// }
    /// ```
    ///
    /// The values are those of one moment, as with ``values(of:initial:)``. The changes of a transaction are one call. Threads and
    /// order are those of ``Setting/observe(initial:_:)``.
    ///
    /// - Parameters:
    ///   - settings: Settings of this suite, of any types. A setting of another suite is reported and not observed.
    ///   - initial: Whether to call the closure at once as well.
    ///   - onChange: The closure to call.
    /// - Returns: The observation. It ends with the last reference to it, unless it is tied to an object.
    public func observe<each Value: Sendable>(
        _ settings: repeat Setting<each Value>,
        initial: Bool = false,
        _ onChange: @escaping @Sendable (repeat each Value) -> Void
    ) -> SettingObservation {
        let keys = ownKeys(of: repeat each settings)
        let (readAll, current) = engine.track(repeat each settings, keys: keys)
        return observe(keys, readAll, initial: initial) { onChange(repeat each current()) }
    }

    /// Calls a closure whenever the value of one of several keys has changed.
    ///
    /// ```swift
    /// let observation = suite.observe(.host, .port) { restart() }
    /// ```
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - initial: Whether to call the closure at once as well.
    ///   - onChange: The closure to call.
    /// - Returns: The observation. It ends with the last reference to it, unless it is tied to an object.
    public func observe(
        _ keys: AnySettingKey...,
        initial: Bool = false,
        _ onChange: @escaping @Sendable () -> Void
    ) -> SettingObservation {
        let trackers = keys.map { $0.tracker(in: self) }
        let (engine, keys) = (engine, Set(keys.flatMap { fullKeys($0).all }))
        return observe(keys, { trackers.readAll(keys, of: engine) }, initial: initial, onChange)
    }

    private func observe(
        _ keys: Set<String>,
        _ readAll: @escaping @Sendable () -> Bool,
        initial: Bool,
        _ onChange: @escaping @Sendable () -> Void
    ) -> SettingObservation {
        let subscriber = CallbackSubscriber(StoredValueChange.init(readingAfter:)) { _ in
            if readAll() { onChange() }
        }
        let observation = SettingObservation(EngineSubscription(subscriber, to: engine, forKeys: Array(keys)))
        // After the subscription: a change in between is in both, and is then equal to what was read.
        _ = readAll()
        if initial { onChange() }
        subscriber.endDelivery()
        return observation
    }

    /// The keys under which the values of those settings may be stored that belong to this suite.
    ///
    /// Those of other suites are reported.
    func ownKeys<each Value: Sendable>(of settings: repeat Setting<each Value>) -> Set<String> {
        var keys: Set<String> = []
        for setting in repeat each settings {
            if setting.suite.engine === engine {
                keys.formUnion(setting.storedKeys.all)
            } else {
                reportForeign(
                    setting.otherSuite(
                        than: "'\(name)', which reads or observes it with others",
                        consequence:
                            "its value may be that of another moment, and its changes are not delivered",
                        remedy: "read and observe the settings of each suite separately"
                    )
                )
            }
        }
        return keys
    }

    /// Reports the use of a setting of another suite once for each key.
    private func reportForeign(_ error: SettingsError) {
        guard engine.foreignKeys.withLock({ $0.insert(error.key ?? "").inserted }) else { return }
        engine.afterTransaction { [reporter] in reporter.report(error) }
    }
}

extension Setting {
    /// The error of a call on one suite for a setting of another one.
    func otherSuite(than other: String, consequence: String, remedy: String) -> SettingsError {
        SettingsError(
            .otherSuite,
            fact: "the setting belongs to another suite than \(other)",
            consequence: consequence,
            remedy: remedy,
            key: key,
            suite: suite.name
        )
    }
}

// MARK: - Propagation

extension SettingsSuite {
    /// Changes settings without notifying the observers, streams and publishers of this process.
    ///
    /// ```swift
    /// let observation = settings.$theme.observe { change in
    ///     suite.withoutPropagation { settings.lastTheme = change.old }
    /// }
    /// ```
    ///
    /// Reads return the new values at once, and other processes are notified. The closure covers the changes that its task,
    /// or its thread outside tasks, makes before it returns: of any key in the same store, through any suite. Changes by
    /// other tasks and threads are delivered as usual. The next change that is delivered has the skipped value as its old
    /// one. A loop with a pending earlier change receives that change, without the skipped one.
    ///
    /// Put a transaction into the closure, not the closure into a transaction: a transaction makes its changes when it ends.
    ///
    /// - Parameter body: Changes settings of this suite.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure.
    public func withoutPropagation<Result>(_ body: () throws -> Result) rethrows -> Result {
        let block = Quiet(engine)
        defer { block.isOver.store(true, ordering: .relaxed) }
        return try Quiet.$current.withValue(block, operation: body)
    }

    /// Changes settings in an asynchronous closure, without notifying the observers and streams of this process.
    ///
    /// The changes of tasks that the closure starts are skipped, too, until it returns.
    ///
    /// - Parameters:
    ///   - isolation: The actor of the caller, on which the closure runs.
    ///   - body: Changes settings of this suite.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure.
    public func withoutPropagation<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let block = Quiet(engine)
        defer { block.isOver.store(true, ordering: .relaxed) }
        return try await Quiet.$current.withValue(block, operation: body, isolation: isolation)
    }
}

/// A block whose changes are not delivered in this process.
///
/// The tasks that the block starts inherit it. Their changes after the end of the block are delivered.
final class Quiet: Sendable {
    @TaskLocal fileprivate static var current: Quiet?

    private let engine: ObjectIdentifier
    /// The block around this one, perhaps of another suite.
    private let outer: Quiet?
    fileprivate let isOver = Atomic(false)

    fileprivate init(_ engine: SettingsEngine) {
        self.engine = ObjectIdentifier(engine)
        outer = Self.current
    }

    /// Returns whether the current task is inside a block for an engine.
    static func covers(_ engine: SettingsEngine) -> Bool {
        var quiet = current
        while let block = quiet {
            if block.engine == ObjectIdentifier(engine), !block.isOver.load(ordering: .relaxed) { return true }
            quiet = block.outer
        }
        return false
    }
}
