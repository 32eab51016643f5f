// SPDX-License-Identifier: Apache-2.0

package import Testing

/// Waits until a condition holds; fails the test when it does not by the deadline.
package func eventually(
    _ what: Comment,
    within limit: Duration = .seconds(60),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async rethrows {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else {
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
            while ContinuousClock.now < deadline, !Task.isCancelled { await pause() }
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
