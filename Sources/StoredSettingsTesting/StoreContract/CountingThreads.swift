// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettings
import Synchronization

/// Threads that count together, and meet inside their commits where nothing keeps them apart.
final class CountingThreads: Sendable {
    private struct State {
        var waiting = 0
        var inside = 0
        var haveMet = false
        var isFirst = true
    }

    private static let turns = 8

    private let trial: Trial
    private let state = Mutex(State())
    private let start = DispatchSemaphore(value: 0)
    private let atTheDoor = DispatchSemaphore(value: 0)
    private let visitors = DispatchSemaphore(value: 0)

    init(_ trial: Trial) {
        self.trial = trial
    }

    /// Lets a thread for each store add 1 to a count, eight times.
    func run(_ stores: [any SettingsStore]) {
        let errands = stores.map { store in
            Errand { [self] in
                waitForAll(stores.count)
                atTheDoor.signal()
                for _ in 0..<Self.turns {
                    try store.commit(addOne)
                }
            }
        }
        for errand in errands {
            trial.expectToEnd("committing from several threads", errand)
        }
        trial.expect(!state.withLock { $0.haveMet }, "two bodies have run at once")
    }

    /// Returns once all threads are here, so that none is done before another begins.
    private func waitForAll(_ count: Int) {
        let isLast = state.withLock { state in
            state.waiting += 1
            return state.waiting == count
        }
        guard isLast else {
            _ = start.wait(timeout: .now() + trial.patience.dispatchInterval)
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
            if state.inside > 1 { state.haveMet = true }
            return state.isFirst
        }
        // The first to come leaves the others time to come in as well.
        if isFirst { letOthersIn() } else { visitors.signal() }
        transaction["count"] = StoredValue(count + 1)
        state.withLock { $0.inside -= 1 }
    }

    /// Waits for all threads to be at the store's door, and then a little for one to pass it.
    private func letOthersIn() {
        for _ in 0..<state.withLock({ $0.waiting }) {
            _ = atTheDoor.wait(timeout: .now() + trial.patience.dispatchInterval)
        }
        _ = visitors.wait(timeout: .now() + .milliseconds(10))
    }
}
