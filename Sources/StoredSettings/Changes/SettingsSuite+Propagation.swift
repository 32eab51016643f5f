// SPDX-License-Identifier: Apache-2.0

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
