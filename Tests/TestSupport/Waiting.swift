// SPDX-License-Identifier: Apache-2.0

package import Dispatch
import Foundation
package import ProcessSupport
import Synchronization
package import Testing

/// The time after which a test gives up waiting.
package let longestWait = Deadline.longest

/// A timeout for calls of the library that a test ends itself, so that no test reaches it however busy the machine is.
package let noTimeout = Duration.seconds(600)

/// Reports and cancels a test that is stuck.
///
/// Unlike the time limit of Swift Testing, it does not count the time in which the test waits for a permit.
package struct DeadlockLimit: TestTrait, SuiteTrait, TestScoping {
    /// The exhaustive tier has tests that work for minutes.
    private static let limit = Duration.seconds(TestRun.isExhaustive ? 1_800 : 50)

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        // For a suite, or a test with all its cases.
        guard testCase != nil else { return try await function() }
        try await withPermit {
            try await withoutActuallyEscaping(function) { function in
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    group.addTask {
                        try await Teardown.run(after: function)
                        return true
                    }
                    group.addTask { await !hasPassed(Self.limit) }
                    let hasEnded = try await group.next() ?? true
                    group.cancelAll()
                    guard !hasEnded else { return }
                    Issue.record("the test has not ended within \(Self.limit), and is canceled")
                    // The group waits for the test, which may block a thread for ever.
                    let abort = Task.detached {
                        guard await hasPassed(longestWait) else { return }
                        fatalError("'\(test.name)' was canceled and does not end: the run is given up")
                    }
                    defer { abort.cancel() }
                    try await group.waitForAll()
                }
            }
        }
    }
}

/// What happens at the end of a test that has the trait `deadlockLimit`.
package final class Teardown: Sendable {
    @TaskLocal private static var current: Teardown?

    private let bodies = Mutex<[@Sendable () -> Void]>([])

    /// Runs a body at the end of the test.
    package static func add(_ body: @escaping @Sendable () -> Void) {
        guard let current else { preconditionFailure("the test needs the trait 'deadlockLimit'") }
        current.bodies.withLock { $0.append(body) }
    }

    static func run(after test: () async throws -> Void) async throws {
        let teardown = Teardown()
        defer { for body in teardown.bodies.withLock(\.self).reversed() { body() } }
        try await $current.withValue(teardown) { try await test() }
    }
}

extension Trait where Self == DeadlockLimit {
    /// Ends a test that waits for itself.
    package static var deadlockLimit: Self { DeadlockLimit() }
}

/// Waits for a time, or until the task is canceled.
///
/// - Returns: Whether the time has passed.
private func hasPassed(_ limit: Duration) async -> Bool {
    var deadline = Deadline(after: limit)
    while !Task.isCancelled {
        guard !deadline.hasPassed else { return true }
        await pause(&deadline)
    }
    return false
}

/// Waits until a condition holds; fails the test if it does not hold before the deadline.
///
/// - Parameters:
///   - what: The condition.
///   - limit: The deadline.
///   - process: The process that has to fulfill the condition, whose state and output the failure contains.
///   - sourceLocation: The place of the failure.
///   - condition: Checks the condition.
package func eventually(
    _ what: Comment,
    within limit: Duration = longestWait,
    of process: ChildProcess? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async rethrows {
    var deadline = Deadline(after: limit)
    while try await !condition() {
        guard !deadline.hasPassed else {
            let seen = process.map { ": \($0)" } ?? ""
            Issue.record("not within \(limit): \(what)\(seen)", sourceLocation: sourceLocation)
            return
        }
        await pause(&deadline)
    }
}

/// Runs an operation and returns its result; returns `nil` and fails the test if the deadline passes.
package func within<Result: Sendable>(
    _ limit: Duration = longestWait,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ operation: @escaping @Sendable () async -> Result
) async -> Result? {
    await withTaskGroup(of: Result?.self) { group in
        group.addTask { await operation() }
        group.addTask {
            _ = await hasPassed(limit)
            return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        if first == nil { Issue.record("there is no result within \(limit)", sourceLocation: sourceLocation) }
        return first
    }
}

/// Pauses between two checks of a condition.
func pause(_ deadline: inout Deadline) async {
    let start = ContinuousClock.now
    do {
        try await Task.sleep(for: Deadline.pause)
    } catch {
        // Canceled: the caller checks the condition once more, and others run meanwhile.
        await Task.yield()
    }
    deadline.count(pauseFrom: start)
}

extension DispatchSemaphore {
    /// Waits on the calling thread.
    ///
    /// - Returns: Whether the semaphore was signaled before the deadline.
    @discardableResult
    package func waitUntilSignaled() -> Bool {
        var deadline = Deadline(after: longestWait)
        while wait(timeout: .now()) == .timedOut {
            guard !deadline.hasPassed else { return false }
            deadline.pauseOnThread()
        }
        return true
    }
}

/// Runs code on another thread, and waits for its end.
package func onAnotherThread(_ body: @escaping @Sendable () throws -> Void) throws {
    let result = Mutex<Result<Void, any Error>?>(nil)
    let end = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        let outcome = Result { try body() }
        result.withLock { $0 = outcome }
        end.signal()
    }
    end.wait()
    try result.withLock(\.self)?.get()
}

/// Runs code that works or waits for long on its own thread, so that it occupies no thread of Swift concurrency.
package func blocking<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
}
