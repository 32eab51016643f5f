// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension SettingsStoreContract.Clause {
    /// Synchronizing changes nothing.
    public static let synchronizing = Self(
        "synchronizing",
        "A store can be synchronized at any time, which changes no value."
    ) { trial in
        let (store, recorder) = try trial.makeRecordedStore()
        try store.synchronize()
        try store.commit { $0["a"] = 1 }
        recorder.removeAll()
        try store.synchronize()
        trial.expect(store.value(forKey: "a") == 1, "a value disappeared")
        trial.expect(recorder.commits.isEmpty, "a commit was recorded")
    }

    /// Reads work after the store is closed.
    public static let closing = Self(
        "closing",
        "A store may be closed more than once, and returns its last contents afterward."
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        try store.commit { $0["a"] = 1 }
        store.watch()
        for _ in 0..<2 {
            store.close()
            _ = store.contents()
            trial.expect(store.value(forKey: "a") == 1, "a closed store does not return its last contents")
        }
    }

    /// A reopened store has all values.
    public static let reopening = Self(
        "reopening",
        "A new store over the same place has all committed values.",
        needsReopening: true
    ) { trial in
        let shared = try trial.makeSharedStore()
        try shared.store.commit { transaction in
            for (name, value) in samples {
                transaction[name] = value
            }
        }
        let other = try shared.reopen().store
        for (name, _) in samples {
            let isThere = shared.store.value(forKey: name)?.isPreserved(by: other.value(forKey: name)) ?? false
            trial.expect(isThere, "\(name) is not preserved in a reopened store")
        }
        shared.store.close()
        let last = try shared.reopen().store
        trial.expect(last.value(forKey: "begun") == true, "the values do not outlive the store")
    }

    /// Commits of several stores exclude each other.
    public static let sharedExclusion = Self(
        "sharedExclusion",
        "Commits of several stores over one place exclude each other and lose no change.",
        needsReopening: true
    ) { trial in
        let shared = try trial.makeSharedStore()
        let other = try shared.reopen().store
        CountingThreads(trial).run([shared.store, other])
        let count = try shared.store.commit { $0["count"] }
        trial.expect(count == 16, "changes are lost when several stores commit")
    }

    /// Reads return the commits of another store.
    public static let externalReads = Self(
        "externalReads",
        "Reads return the commits of another store over the same place, and the version changes.",
        needsReopening: true
    ) { trial in
        let shared = try trial.makeSharedStore()
        let other = try shared.reopen().store
        for count in 1...3 {
            let version = shared.store.sharedVersion?.version
            try other.commit { $0["a"] = StoredValue(count) }
            if let version {
                let isCurrent = shared.store.sharedVersion?.isCurrent(version) == true
                trial.expect(!isCurrent, "an external change does not invalidate the version")
            }
            trial.expect(shared.store.value(forKey: "a") == StoredValue(count), "an external change is not read")
        }
    }

    /// The commits of another store are recorded.
    public static let externalRecords = Self(
        "externalRecords",
        "A commit of another store over the same place is recorded once, as external, before a read returns it.",
        needsReopening: true
    ) { trial in
        let shared = try trial.makeSharedStore()
        let other = try shared.reopen().store
        shared.recorder.removeAll()
        var old: StoredValue?
        for count in 1...3 {
            let change = StoreChange(key: "a", old: old, new: StoredValue(count))
            try other.commit { $0["a"] = change.new }
            _ = shared.store.value(forKey: "a")
            let recorded = shared.recorder.commits
            trial.expect(
                recorded.count == count,
                "\(count) external changes were recorded \(recorded.count) times"
            )
            trial.expect(
                recorded.last?.consists(of: [change], .external) ?? false,
                "an external change is recorded with other values"
            )
            old = change.new
        }
    }

    /// A store that watches notices changes without a read.
    public static let watching = Self(
        "watching",
        "A store that watches records the commits of another store without a read.",
        needsReopening: true
    ) { trial in
        let shared = try trial.makeSharedStore()
        let other = try shared.reopen().store
        shared.store.watch()
        shared.store.watch()
        shared.recorder.removeAll()
        try other.commit { $0["a"] = 1 }
        let change = StoreChange(key: "a", old: nil, new: 1)
        let isRecorded = shared.recorder.wait(within: trial.timeout) { commits in
            commits.contains { $0.consists(of: [change], .external) }
        }
        trial.expect(isRecorded, "an external change is not recorded within \(trial.timeout)")
    }
}
