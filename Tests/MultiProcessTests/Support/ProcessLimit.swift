// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Limits the number of tests that run processes at the same time.
///
/// Without a limit, the tests run hundreds of processes at once. Each would be slow, and the tests would have more than
/// 1,300 descriptors: Foundation then reads beyond the end of their list when it starts a process, and may crash.
actor ProcessLimit {
    private static let shared = ProcessLimit(count: 24)

    /// Whether the test has a permit already; it may start more processes.
    @TaskLocal private static var hasPermit = false

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private init(count: Int) {
        free = count
    }

    /// Runs the body as soon as there is a permit.
    static func withPermit<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        guard !hasPermit else { return try await body() }
        await shared.acquire()
        do {
            let result = try await $hasPermit.withValue(true, operation: body, isolation: isolation)
            await shared.release()
            return result
        } catch {
            await shared.release()
            throw error
        }
    }

    private func acquire() async {
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

/// The URL of a program of the package, in the directory of the test program.
func program(_ name: String) throws -> URL {
    let arguments = CommandLine.arguments
    let bundles = arguments.firstIndex(of: "--test-bundle-path").map { arguments[($0 + 1)...].prefix(1) } ?? []
    let places = [Bundle.main.bundlePath, Bundle.main.executablePath ?? ""] + bundles + arguments.prefix(1)
    let candidates = places.flatMap { place in
        let url = URL(fileURLWithPath: place).standardizedFileURL
        return [url, url.deletingLastPathComponent()].map { $0.appendingPathComponent(name) }
    }
    return try #require(
        candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) },
        "\(name) is not beside the tests"
    )
}
