// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension SettingsStoreContract.Clause {
    /// Synchronizing changes nothing.
    public static let synchronizing = Self(
        "synchronizing",
        "A store in order can be synchronized at any time, and holds the same afterwards."
    ) { trial in
        let (store, recorder) = try trial.makeRecordedStore()
        try store.synchronize()
        try store.commit { $0["a"] = 1 }
        recorder.removeAll()
        try store.synchronize()
        trial.expect(store.value(forKey: "a") == 1, "a value is gone")
        trial.expect(recorder.commits.isEmpty, "something was recorded")
    }

    /// Reads can follow the close.
    public static let closing = Self(
        "closing",
        "A store may be closed more than once, and gives its last contents afterwards."
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        try store.commit { $0["a"] = 1 }
        store.watch()
        for _ in 0..<2 {
            store.close()
            _ = (store.version(), store.contents())
            trial.expect(store.value(forKey: "a") == 1, "a store that was closed does not give its last contents")
        }
    }

    /// A store made anew sees everything.
    public static let reopening = Self(
        "reopening",
        "A store that is made anew over the same place gives everything that was committed.",
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
            let isThere = shared.store.value(forKey: name)?.isKept(as: other.value(forKey: name)) ?? false
            trial.expect(isThere, "\(name) is another value in a store made anew")
        }
        shared.store.close()
        let last = try shared.reopen().store
        trial.expect(last.value(forKey: "begun") == true, "the values do not outlive the store that was given them")
    }

    /// Commits of several stores exclude each other.
    public static let sharedExclusion = Self(
        "sharedExclusion",
        "Commits of several stores over one place exclude each other and lose nothing.",
        needsReopening: true
    ) { trial in
        let shared = try trial.makeSharedStore()
        let other = try shared.reopen().store
        CountingThreads(trial).run([shared.store, other])
        let count = try shared.store.commit { $0["count"] }
        trial.expect(count == 16, "changes are lost when several stores commit")
    }

    /// Reads see what another store has committed.
    public static let externalReads = Self(
        "externalReads",
        "Reads see what another store over the same place has committed, and the version tells of it.",
        needsReopening: true
    ) { trial in
        let shared = try trial.makeSharedStore()
        let other = try shared.reopen().store
        for count in 1...3 {
            let version = shared.store.version()
            try other.commit { $0["a"] = StoredValue(count) }
            trial.expect(
                shared.store.version() != version,
                "the version does not tell of a change from outside"
            )
            trial.expect(shared.store.value(forKey: "a") == StoredValue(count), "a change from outside is not read")
        }
    }

    /// What another store has committed is recorded.
    public static let externalRecords = Self(
        "externalRecords",
        "What another store over the same place has committed is recorded as external, once, by the time a read sees it.",
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
                "\(recorded.count) records were made of \(count) changes from outside"
            )
            trial.expect(recorded.last?.consists(of: [change], .external) ?? false, "it is recorded wrongly")
            old = change.new
        }
    }

    /// A store that watches needs no read to notice.
    public static let watching = Self(
        "watching",
        "A store that watches records what another has committed without being read.",
        needsReopening: true
    ) { trial in
        let shared = try trial.makeSharedStore()
        let other = try shared.reopen().store
        shared.store.watch()
        shared.store.watch()
        shared.recorder.removeAll()
        try other.commit { $0["a"] = 1 }
        let change = StoreChange(key: "a", old: nil, new: 1)
        let isRecorded = shared.recorder.wait(within: trial.patience) { commits in
            commits.contains { $0.consists(of: [change], .external) }
        }
        trial.expect(isRecorded, "a change from outside is not recorded within \(trial.patience)")
    }
}
