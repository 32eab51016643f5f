// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("The threads of a replica")
struct ReplicaThreadTests {
    /// A thread that resumes the tasks that wait for it.
    private final class Resumer: Sendable {
        private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
        private let resumptions = Atomic(0)
        private let isOver = Atomic(false)

        init() {
            Thread.detachNewThread { [self] in
                while !isOver.load(ordering: .relaxed) {
                    for continuation in waiting.withLock({ exchange(&$0, with: []) }) {
                        resumptions.add(1, ordering: .relaxed)
                        continuation.resume()
                    }
                }
            }
        }

        func suspend() async {
            await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
        }

        /// Keeps the calling thread until the resumption of a task has begun.
        func spin(until count: Int) {
            while resumptions.load(ordering: .relaxed) < count {}
        }

        func end() { isOver.store(true, ordering: .relaxed) }
    }

    @Test("a caller may go on while the thread that resumed its task is still on its way")
    func resumption() async throws {
        let count = TestRun.count(quick: 2_000, exhaustive: 100_000)
        try await blocking {
            let resumer = Resumer()
            defer { resumer.end() }
            for number in 1...count {
                let result = try ReplicaThread.shared.run { () -> Int in
                    async let suspended: Void = resumer.suspend()
                    // The job of the child task runs here.
                    await Task.yield()
                    resumer.spin(until: number)
                    await suspended
                    return number
                }
                #expect(result == number)
            }
        }
    }
}
