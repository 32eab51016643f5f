// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettings
import Synchronization

extension SettingsStoreContract.Clause {
    /// A body that throws changes nothing.
    public static let throwing = Self(
        "throwing",
        "A commit rethrows the error of its body, changes nothing, and is not recorded."
    ) { trial in
        struct Refusal: Error {}
        let (store, recorder) = try trial.makeRecordedStore()
        try store.commit { $0["a"] = 1 }
        recorder.removeAll()
        do {
            try store.commit { transaction in
                transaction["a"] = 2
                transaction["b"] = 2
                throw Refusal()
            }
            trial.record("the error of the body is not rethrown")
        } catch {
            trial.expect(error is Refusal, "another error than that of the body is thrown")
        }
        trial.expect(store.value(forKey: "a") == 1, "a value changed")
        trial.expect(store.value(forKey: "b") == nil, "a value was added")
        trial.expect(recorder.commits.isEmpty, "a commit was recorded")
        try store.commit { $0["a"] = 3 }
        trial.expect(store.value(forKey: "a") == 3, "the next commit is not stored")
    }

    /// A blind write is a commit that does not depend on the stored values.
    public static let blindWrites = Self(
        "blindWrites",
        "A blind write stores and removes values as one commit."
    ) { trial in
        let (store, recorder) = try trial.makeRecordedStore()
        try store.commit { $0["b"] = 1 }
        recorder.removeAll()
        try store.commit(isBlind: true) {
            $0["a"] = 2
            $0["b"] = nil
            $0["c"] = 3
        }
        trial.expect(store.contents() == ["a": 2, "c": 3], "the contents differ from the written values")
        let changes = [
            StoreChange(key: "a", old: nil, new: 2), StoreChange(key: "b", old: 1, new: nil),
            StoreChange(key: "c", old: nil, new: 3),
        ]
        let isOne = recorder.commits.count == 1 && recorder.commits.allSatisfy { $0.consists(of: changes, .local) }
        trial.expect(isOne, "the changes are not recorded as one commit")
        recorder.removeAll()
        try store.write(4, forKey: "a")
        try store.write(nil, forKey: "c")
        trial.expect(store.contents() == ["a": 4], "a write of one key is not stored")
        let isEach =
            recorder.commits.count == 2
            && recorder.commits.first?.consists(of: [StoreChange(key: "a", old: 2, new: 4)], .local) == true
        trial.expect(isEach, "the writes of one key are not recorded as one commit each")
        recorder.removeAll()
        let isWritten = try store.write(5, forKey: "a", mayWait: false)
        trial.expect(store.value(forKey: "a") == (isWritten ? 5 : 4), "a write without waiting has another result")
        trial.expect(recorder.commits.count == (isWritten ? 1 : 0), "a write without waiting is recorded differently")
    }

    /// Assigning an equal value is not a change.
    public static let equalValues = Self(
        "equalValues",
        "A commit that changes no value is recorded without changes."
    ) { trial in
        let (store, recorder) = try trial.makeRecordedStore()
        func expectNoChange(_ what: String) {
            trial.expect(recorder.commits.allSatisfy(\.changes.isEmpty), "\(what) is recorded as a change")
        }
        for (name, value) in samples {
            try store.commit { $0["sample"] = value }
            recorder.removeAll()
            try store.commit { $0["sample"] = value }
            let isOne = recorder.commits.count == 1 && recorder.commits.allSatisfy { $0.origin == .local }
            trial.expect(isOne, "a commit that sets \(name) to an equal value is not recorded once")
            try store.write(value, forKey: "sample")
            expectNoChange("setting \(name) to an equal value")
        }
        recorder.removeAll()
        try store.commit { transaction in
            transaction["sample"] = 7
            transaction["sample"] = samples.last?.value
            transaction["missing"] = nil
        }
        try store.commit { _ in }
        try store.write(nil, forKey: "missing")
        expectNoChange("a commit whose changes cancel out")
    }

    /// The changes of a commit are visible together.
    public static let wholeness = Self(
        "wholeness",
        "All changes of a commit become visible at once."
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        let isOver = Mutex(false)
        let isTorn = Mutex(false)
        let hasBegun = DispatchSemaphore(value: 0)
        let reader = BackgroundWork {
            while !isOver.withLock({ $0 }) {
                let contents = store.contents()
                if contents["a"] != contents["b"] { isTorn.withLock { $0 = true } }
                hasBegun.signal()
            }
        }
        defer {
            isOver.withLock { $0 = true }
            trial.expectToFinish("reading", reader)
            trial.expect(!isTorn.withLock { $0 }, "a read returned one change of a commit without the other")
        }
        _ = hasBegun.wait(timeout: .now() + trial.timeout.dispatchInterval)
        for count in 1...20 {
            try store.commit { transaction in
                transaction["a"] = StoredValue(count)
                transaction["b"] = StoredValue(count)
            }
        }
    }

    /// Commits exclude each other.
    public static let exclusion = Self(
        "exclusion",
        "Commits of several threads exclude each other, lose no change, and are recorded in order."
    ) { trial in
        let (store, recorder) = try trial.makeRecordedStore()
        CountingThreads(trial).run([store, store, store, store])
        trial.expect(store.value(forKey: "count") == 32, "changes are lost when several threads commit")
        let changes = recorder.commits.flatMap(\.changes)
        let isChain = zip(changes, changes.dropFirst()).allSatisfy { $0.new == $1.old }
        trial.expect(isChain && changes.last?.new == 32, "commits of several threads are recorded out of order")
    }

    /// Reads continue while the body of a commit runs.
    public static let freeReads = Self(
        "freeReads",
        "Reads do not wait for the body of a commit, and return nothing of it yet."
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        try store.commit { $0["a"] = 1 }
        try store.commit { transaction in
            transaction["a"] = 2
            trial.expectToFinish("reading while a commit's body runs") {
                _ = store.contents()
                trial.expect(store.value(forKey: "a") == 1, "a read returns an uncommitted value")
            }
        }
        trial.expect(store.value(forKey: "a") == 2, "the committed value is not read")
    }
}
