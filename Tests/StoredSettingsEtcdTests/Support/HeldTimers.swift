// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

@testable import StoredSettingsEtcd

/// Timers that a test fires, so that no wait ends because of the time that has passed.
final class HeldTimers: Sendable {
    private struct State {
        var count = 0
        var works: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// The number of timers that were ever started.
    var count: Int { state.withLock { $0.count } }

    /// Threads of replicas whose timers are held.
    var thread: ReplicaThread {
        ReplicaThread { [self] _, work in
            state.withLock { state in
                state.count += 1
                state.works.append(work)
            }
        }
    }

    /// Ends the time of all timers.
    func fire() {
        let works = state.withLock { state in
            defer { state.works = [] }
            return state.works
        }
        for work in works { work() }
    }
}
