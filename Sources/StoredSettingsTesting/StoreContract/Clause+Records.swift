// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

extension SettingsStoreContract.Clause {
    /// Every change invalidates the version, if the store hands one out.
    public static let changingVersion = Self(
        "changingVersion",
        "Every change invalidates the version."
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        guard let shared = store.sharedVersion else { return }
        for value: StoredValue in [1, 2, 1, "1", 1.0, nil] {
            let version = shared.version
            try store.commit { $0["a"] = value }
            trial.expect(!shared.isCurrent(version), "a change does not invalidate the version")
        }
    }

    /// The version stays the same while nothing changes.
    public static let steadyVersion = Self(
        "steadyVersion",
        "The version stays the same while nothing changes, across reads and commits."
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        try store.commit { $0["a"] = 1 }
        guard let shared = store.sharedVersion else { return }
        _ = store.contents()
        let version = shared.version
        _ = (store.contents(), store.value(forKey: "a"), store.value(forKey: "b"), store.persistence)
        trial.expect(shared.isCurrent(version), "reading invalidates the version")
        try store.commit { _ in }
        try store.commit { $0["a"] = 1 }
        trial.expect(shared.isCurrent(version), "committing an equal value invalidates the version")
        do {
            try store.commit { transaction in
                transaction["a"] = 2
                throw CancellationError()
            }
        } catch is CancellationError {
            trial.expect(shared.isCurrent(version), "a commit whose body throws invalidates the version")
        }
    }

    /// Every commit is recorded once.
    public static let records = Self(
        "records",
        "Every commit is recorded once, in order and before it returns, as local and with the old and new values."
    ) { trial in
        let (store, recorder) = try trial.makeRecordedStore()
        let commits = [
            [StoreChange(key: "a", old: nil, new: 1)],
            [StoreChange(key: "a", old: 1, new: 2), StoreChange(key: "b", old: nil, new: 1)],
            [StoreChange(key: "b", old: 1, new: "1"), StoreChange(key: "c", old: nil, new: .null)],
            [StoreChange(key: "c", old: .null, new: false)],
        ]
        for (index, changes) in commits.enumerated() {
            try store.commit { transaction in
                for change in changes {
                    transaction[change.key] = change.new
                }
            }
            let recorded = recorder.commits
            trial.expect(recorded.count == index + 1, "after \(index + 1) commits, \(recorded.count) were recorded")
            trial.expect(
                recorded.last?.consists(of: changes, .local) ?? false,
                "a commit is recorded with other values"
            )
        }
    }

    /// No change is recorded between a read and its body.
    public static let subscription = Self(
        "subscription",
        "While the body of a read runs, its value is the newest recorded one, so that a subscription has no gap."
    ) { trial in
        let (store, recorder) = try trial.makeRecordedStore()
        let isOver = Mutex(false)
        let writer = BackgroundWork {
            var count = 0
            while !isOver.withLock({ $0 }) {
                count += 1
                try store.commit { $0["a"] = StoredValue(count) }
            }
        }
        _ = recorder.wait(within: trial.timeout) { !$0.isEmpty }
        var hasGap = false
        for _ in 0..<8 where !hasGap {
            hasGap = store.withValue(forKey: "a") { value in
                // Long enough for a record to arrive if the store does not prevent it.
                let count = recorder.commits.count
                _ = recorder.wait(within: .milliseconds(1)) { $0.count > count }
                return value != recorder.newest("a")
            }
        }
        isOver.withLock { $0 = true }
        trial.expectToFinish("committing while another thread reads", writer)
        trial.expect(!hasGap, "a change was recorded before the body of a read returned")
    }

    /// Subscribers are notified of each change.
    public static let delivery = Self(
        "delivery",
        "A commit notifies subscribers before it returns, and they may use the store."
    ) { trial in
        let store = try trial.makeStore()
        let suite = SettingsSuite(store: store, name: "contract", reporter: RecordingReporter())
        let received = Mutex<[Int]>([])
        let observation = Setting("a", default: 0, suite: suite)
            .observe { change in
                if Commit.isUnderWay { received.withLock { $0.append(change.new) } }
                trial.expectToFinish("committing from a subscriber") {
                    try store.commit { $0["b"] = 1 }
                }
            }
        try Commit.$isUnderWay.withValue(true) {
            try store.commit { $0["a"] = 1 }
        }
        observation.invalidate()
        let count = received.withLock { $0.count }
        trial.expect(
            received.withLock { $0 } == [1],
            "the commit notified a subscriber \(count) times"
        )
    }

    /// The store does not retain its observer.
    public static let observerLifetime = Self(
        "observerLifetime",
        "A store does not retain its observer, and works without it."
    ) { trial in
        let store = try trial.makeStore()
        weak var observer: CommitRecorder?
        do {
            let recorder = CommitRecorder()
            observer = recorder
            store.setObserver(recorder)
            try store.commit { $0["a"] = 1 }
        }
        trial.expect(observer == nil, "the store retains its observer")
        try store.commit { $0["a"] = 2 }
        trial.expect(store.value(forKey: "a") == 2, "a store without an observer does not store a commit")
    }
}

/// Whether the current thread is in a commit.
private enum Commit {
    @TaskLocal static var isUnderWay = false
}
