// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettings
import Synchronization

/// Threads that increment a counter, and detect commits that run at the same time.
final class CountingThreads: Sendable {
    private struct State {
        var waiting = 0
        var inside = 0
        var haveOverlapped = false
        var isFirst = true
    }

    private static let turns = 8

    private let trial: Trial
    private let state = Mutex(State())
    private let start = DispatchSemaphore(value: 0)
    private let atCommit = DispatchSemaphore(value: 0)
    private let visitors = DispatchSemaphore(value: 0)

    init(_ trial: Trial) {
        self.trial = trial
    }

    /// Adds 1 to a counter eight times on one thread per store.
    func run(_ stores: [any SettingsStore]) {
        let threads = stores.map { store in
            BackgroundWork { [self] in
                waitForAll(stores.count)
                atCommit.signal()
                for _ in 0..<Self.turns {
                    try store.commit(addOne)
                }
            }
        }
        for thread in threads {
            trial.expectToFinish("committing from several threads", thread)
        }
        trial.expect(!state.withLock { $0.haveOverlapped }, "two bodies ran at the same time")
    }

    /// Waits for all threads, so that none finishes before another starts.
    private func waitForAll(_ count: Int) {
        let isLast = state.withLock { state in
            state.waiting += 1
            return state.waiting == count
        }
        guard isLast else {
            _ = start.wait(timeout: .now() + trial.timeout.dispatchInterval)
            return
        }
        for _ in 1..<count {
            start.signal()
        }
    }

    private func addOne(_ transaction: inout StoreTransaction) {
        let count = transaction["count"]?.count ?? 0
        let isFirst = state.withLock { state in
            defer { state.isFirst = false }
            state.inside += 1
            if state.inside > 1 { state.haveOverlapped = true }
            return state.isFirst
        }
        // The first thread gives the others time to enter as well.
        if isFirst { waitForOthers() } else { visitors.signal() }
        transaction["count"] = StoredValue(count + 1)
        state.withLock { $0.inside -= 1 }
    }

    /// Waits until all threads are about to commit, and then a little longer.
    private func waitForOthers() {
        for _ in 0..<state.withLock({ $0.waiting }) {
            _ = atCommit.wait(timeout: .now() + trial.timeout.dispatchInterval)
        }
        _ = visitors.wait(timeout: .now() + .milliseconds(10))
    }
}
