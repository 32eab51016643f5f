// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettings
import Synchronization

/// An observer that records commits.
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

    /// The commits recorded so far.
    var commits: [StoreCommit] { state.withLock { $0.commits } }

    /// Removes the commits recorded so far.
    func removeAll() {
        state.withLock { $0.commits = [] }
    }

    /// The newest recorded value of a key.
    func newest(_ key: String) -> StoredValue? {
        state.withLock { $0.newest[key] }
    }

    /// Waits until the recorded commits fulfill a condition.
    ///
    /// - Returns: Whether they did in time.
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
    /// Whether the commit has these changes, in any order.
    func consists(of changes: [StoreChange], _ origin: SettingChangeOrigin) -> Bool {
        self.origin == origin && self.changes.count == changes.count && Set(self.changes) == Set(changes)
    }
}

extension StoredValue {
    /// An integer value.
    init(_ count: Int) {
        self = .integer(Int128(count))
    }

    /// The integer; 0 for any other value.
    var count: Int {
        if case .integer(let value) = self { Int(clamping: value) } else { 0 }
    }
}
