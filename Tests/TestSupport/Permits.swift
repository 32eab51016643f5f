// SPDX-License-Identifier: Apache-2.0

/// Limits how many tests with files, processes or servers work at the same time.
///
/// Swift Testing starts all tests at once. Without a limit, each of them would be slow, and all together would have hundreds of
/// processes and more descriptors than 1,024.
private actor Permits {
    static let shared = Permits(count: 8)

    /// Whether the test has a permit already.
    @TaskLocal static var hasPermit = false

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private init(count: Int) {
        free = count
    }

    func acquire() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func release() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}

/// Runs a part of a test as soon as few enough others run.
package func withPermit<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Result
) async rethrows -> Result {
    guard !Permits.hasPermit else { return try await body() }
    await Permits.shared.acquire()
    do {
        let result = try await Permits.$hasPermit.withValue(true, operation: body, isolation: isolation)
        await Permits.shared.release()
        return result
    } catch {
        await Permits.shared.release()
        throw error
    }
}
