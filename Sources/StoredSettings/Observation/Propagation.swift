// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Streams.md, "Quiet changes belong to a task".

import Synchronization

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
        try Quiet.run(engine, body)
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
        try await Quiet.run(engine, isolation: isolation, body)
    }
}

/// A block whose changes are not delivered in this process.
///
/// The tasks that the block starts inherit it. Their changes after the end of the block are delivered.
final class Quiet: Sendable {
    @TaskLocal private static var current: Quiet?

    private let engine: ObjectIdentifier
    /// The block around this one, perhaps of another suite.
    private let outer: Quiet?
    private let isOver = Atomic(false)

    private init(_ engine: SettingsEngine) {
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

    static func run<Result>(_ engine: SettingsEngine, _ body: () throws -> Result) rethrows -> Result {
        let block = Quiet(engine)
        defer { block.isOver.store(true, ordering: .relaxed) }
        return try $current.withValue(block, operation: body)
    }

    static func run<Result>(
        _ engine: SettingsEngine,
        isolation: isolated (any Actor)?,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let block = Quiet(engine)
        defer { block.isOver.store(true, ordering: .relaxed) }
        return try await $current.withValue(block, operation: body, isolation: isolation)
    }
}
