// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsSuite {
    /// Changes settings without telling anybody in this process: observers, streams and publishers skip what the closure
    /// changes.
    ///
    /// ```swift
    /// let observation = settings.$theme.observe { change in
    ///     suite.withoutPropagation { settings.lastTheme = change.old }
    /// }
    /// ```
    ///
    /// Reads see the changes at once, as ever, and other processes hear of them. What counts is the task, or the thread
    /// outside of tasks: the changes it makes before the closure returns, of any key that is kept in this place, through
    /// whichever suite. Changes that others make meanwhile are told. The next change that is told has the skipped value
    /// as its old one. A loop that has an earlier change still to take gets that one, and not what was skipped after it.
    ///
    /// A closure inside a transaction has no effect on that, since a transaction changes everything at its end: put the
    /// transaction into the closure.
    ///
    /// - Parameter body: Changes settings of this suite.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws.
    public func withoutPropagation<Result>(_ body: () throws -> Result) rethrows -> Result {
        try Quiet.run(engine, body)
    }

    /// Changes settings without telling anybody in this process, in an asynchronous closure.
    ///
    /// The changes of tasks that the closure starts are skipped, too, until it returns.
    ///
    /// - Parameters:
    ///   - isolation: The actor that the closure runs on: the caller's.
    ///   - body: Changes settings of this suite.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws.
    public func withoutPropagation<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await Quiet.run(engine, isolation: isolation, body)
    }
}

/// A block whose changes are told to nobody in this process.
///
/// The tasks that the block starts inherit it, and may run on after its end; from then on theirs are changes like others.
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

    /// Whether the current task changes this engine's values inside of such a block.
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
