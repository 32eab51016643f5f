// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettings
import Synchronization

/// An observer that keeps what it is told.
final class CommitRecorder: StoreObserver {
    private struct State {
        var commits: [StoreCommit] = []
        var newest: [String: StoredValue] = [:]
    }

    private let state = Mutex(State())
    private let arrivals = DispatchSemaphore(value: 0)

    func record(_ commit: StoreCommit) -> StoreDelivery {
        state.withLock { state in
            state.commits.append(commit)
            for change in commit.changes {
                state.newest[change.key] = change.new
            }
        }
        arrivals.signal()
        return .none
    }

    func report(_ error: SettingsError) {}

    /// What was recorded so far.
    var commits: [StoreCommit] { state.withLock { $0.commits } }

    /// Forgets what was recorded so far, to begin at a known point.
    func removeAll() {
        state.withLock { $0.commits = [] }
    }

    /// What is stored under a key according to the records.
    func newest(_ key: String) -> StoredValue? {
        state.withLock { $0.newest[key] }
    }

    /// Waits for a record of a certain kind.
    ///
    /// - Returns: Whether it came in time.
    func wait(within limit: Duration, until condition: ([StoreCommit]) -> Bool) -> Bool {
        let deadline = DispatchTime.now() + limit.dispatchInterval
        while !state.withLock({ condition($0.commits) }) {
            guard arrivals.wait(timeout: deadline) == .success else {
                return state.withLock { condition($0.commits) }
            }
        }
        return true
    }
}

extension StoreCommit {
    /// Whether this is a commit of certain changes, in whatever order.
    func consists(of changes: [StoreChange], _ origin: SettingChangeOrigin) -> Bool {
        self.origin == origin && self.changes.count == changes.count && Set(self.changes) == Set(changes)
    }
}

extension StoredValue {
    /// An integer, from one that is counted with.
    init(_ count: Int) {
        self = .integer(Int128(count))
    }

    /// The integer that this is; 0 for anything else.
    var count: Int {
        if case .integer(let value) = self { Int(clamping: value) } else { 0 }
    }
}
