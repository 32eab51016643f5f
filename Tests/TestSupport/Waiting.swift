// SPDX-License-Identifier: Apache-2.0

package import Testing

/// How often to look for a condition at least, whatever the time.
///
/// Other tests may occupy all threads of tasks for longer than a deadline; what is waited for then needs its turn first.
private let leastLooks = 1_000

/// Waits until a condition holds; fails the test when it does not by the deadline.
package func eventually(
    _ what: Comment,
    within limit: Duration = .seconds(60),
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

/// Runs an operation and gives its result; `nil`, and a failed test, when it has none by the deadline.
package func within<Result: Sendable>(
    _ limit: Duration = .seconds(60),
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
        if first == nil { Issue.record("nothing came within \(limit)", sourceLocation: sourceLocation) }
        return first
    }
}

/// Between two looks at a condition.
func pause() async {
    do {
        try await Task.sleep(for: .milliseconds(2))
    } catch {
        // Cancelled: whoever waits looks once more and sees it.
    }
}
