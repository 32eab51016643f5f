// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Nothing blocks a cooperative thread on another process".

/// Limits how long the current operation waits for other writers.
///
/// Without a limit, an operation waits as long as the lock allows.
package struct WaitLimit: Sendable {
    @TaskLocal private static var current: WaitLimit?

    /// When the operation began to wait.
    private let begin: ContinuousClock.Instant
    /// When to stop waiting; `nil` for no time.
    private let end: ContinuousClock.Instant?
    /// Whether to stop waiting when the current task is canceled.
    private let isCancelable: Bool

    /// The interval at which a thread that waits for another one checks the limit, in seconds.
    private static let pause = 0.000_5

    /// Runs a body that waits for a limited time.
    ///
    /// - Throws: ``WaitLimitError`` if the time is not enough; the error of the body.
    static func run<Result>(for time: Duration, _ body: () throws -> Result) throws -> Result {
        let begin = ContinuousClock.now
        return try $current.withValue(
            WaitLimit(begin: begin, end: begin + time, isCancelable: false),
            operation: body
        )
    }

    /// Runs a body that waits only until the current task is canceled.
    ///
    /// - Parameters:
    ///   - begin: When the operation began to wait.
    ///   - body: The body.
    /// - Returns: The result of the body.
    /// - Throws: `CancellationError` if the task is canceled before the body has changed anything; the error of the body.
    static func runCancelably<Result>(
        since begin: ContinuousClock.Instant,
        _ body: () throws -> Result
    ) throws -> Result {
        try $current.withValue(WaitLimit(begin: begin, end: nil, isCancelable: true), operation: body)
    }

    /// Runs a body without the limit of the current operation.
    package static func runWithout<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard current != nil else { return try body() }
        return try $current.withValue(nil, operation: body)
    }

    /// When the current operation began to wait, perhaps for others that are carried out before it.
    static var begin: ContinuousClock.Instant { current?.begin ?? .now }

    /// Whether the current operation has a limit.
    package static var isSet: Bool { current != nil }

    /// Throws if the current operation must not wait any longer.
    package static func check() throws {
        guard let current else { return }
        if current.isCancelable { try Task.checkCancellation() }
        if let end = current.end, end < .now { throw WaitLimitError() }
    }

    /// Acquires a lock of this process, within the limit of the current operation.
    ///
    /// - Throws: The error of the body, or that of ``check()``.
    package static func withLock<Value: Sendable, Result>(
        _ lock: borrowing Locked<Value>,
        _ body: (inout Value) throws -> Result
    ) throws
        -> Result
    {
        guard current != nil else { return try lock.withLock { try body(&$0) } }
        while true {
            // The closure runs once: an optional of the result tells whether it did.
            if let result = try lock.withLockIfAvailable({ try body(&$0) }) { return result }
            try check()
            SystemCalls.sleep(seconds: pause)
        }
    }
}

/// The error of an operation that would have to wait for longer than it may.
struct WaitLimitError: Error {}

extension Error {
    /// Whether this error, or an error that it wraps, has the given type.
    func isCaused<Cause: Error>(by type: Cause.Type) -> Bool {
        if self is Cause { return true }
        return (self as? SettingsError)?.underlying?.isCaused(by: type) ?? false
    }
}
