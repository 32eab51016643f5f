// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
package import Testing

/// The time after which a test gives up waiting.
///
/// It is no measure of speed: on a busy machine, other tests may occupy all threads of Swift concurrency for minutes.
package let longestWait = Duration.seconds(600)

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that waits for itself.
    package static var deadlockLimit: Self { .timeLimit(.minutes(20)) }
}

/// The minimum number of checks of a condition, whatever the time.
///
/// Other tests may occupy all threads of Swift concurrency for longer than the deadline. The task that fulfills the
/// condition then needs time to run.
private let leastLooks = 1_000

/// Waits until a condition holds; fails the test if it does not hold before the deadline.
package func eventually(
    _ what: Comment,
    within limit: Duration = longestWait,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async rethrows {
    let deadline = ContinuousClock.now + limit
    var looks = 0
    while try await !condition() {
        looks += 1
        guard ContinuousClock.now < deadline || looks < leastLooks else {
            Issue.record(what, sourceLocation: sourceLocation)
            return
        }
        await pause()
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
            let deadline = ContinuousClock.now + limit
            var looks = 0
            while ContinuousClock.now < deadline || looks < leastLooks, !Task.isCancelled {
                looks += 1
                await pause()
            }
            return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        if first == nil { Issue.record("there is no result within \(limit)", sourceLocation: sourceLocation) }
        return first
    }
}

/// Pauses between two checks of a condition.
func pause() async {
    do {
        try await Task.sleep(for: .milliseconds(2))
    } catch {
        // Canceled: the caller checks the condition once more.
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

/// Runs blocking code on its own thread.
package func onThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            body()
            continuation.resume()
        }
    }
}
