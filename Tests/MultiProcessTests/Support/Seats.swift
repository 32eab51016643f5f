// SPDX-License-Identifier: Apache-2.0

/// Lets only so many tests have processes at a time.
///
/// All tests run at once otherwise, and theirs are hundreds of processes. Then each takes long, and the tests have more
/// than 1,300 descriptors; Foundation reads beyond the end of their list when it starts a process, and may crash.
actor Seats {
    private static let shared = Seats(count: 24)

    /// Whether the test has a seat already: it may start more processes from within.
    @TaskLocal private static var isSeated = false

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private init(count: Int) {
        free = count
    }

    /// Runs a body as soon as there is a seat.
    static func take<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        guard !isSeated else { return try await body() }
        await shared.take()
        do {
            let result = try await $isSeated.withValue(true, operation: body, isolation: isolation)
            await shared.release()
            return result
        } catch {
            await shared.release()
            throw error
        }
    }

    private func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func release() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
