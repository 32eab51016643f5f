// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettings
import Synchronization

/// One check of one clause, which creates stores and records violations.
final class Trial: Sendable {
    let timeout: Duration

    private let contract: SettingsStoreContract
    private let found = Mutex<[String]>([])
    private let opened = Mutex<[any SettingsStore]>([])

    init(of contract: SettingsStoreContract) {
        self.contract = contract
        timeout = contract.timeout
    }

    /// Runs the check of a clause, and stops waiting for it after a limit.
    func violations(of clause: SettingsStoreContract.Clause) -> [String] {
        // A check may time out a few times.
        let limit = timeout * 4
        let check = BackgroundWork { [self] in
            defer { closeAll() }
            try clause.check(self)
        }
        switch check.outcome(within: limit) {
        case .success: break
        case .failure(let error): record("the check throws \(error)")
        case nil: record("the check does not finish within \(limit)")
        }
        return found.withLock { $0 }
    }

    private func closeAll() {
        let stores = opened.withLock { stores in
            defer { stores = [] }
            return stores
        }
        for store in stores {
            store.close()
        }
    }

    // MARK: - Stores

    /// A new store without an observer.
    func makeStore() throws -> any SettingsStore {
        let store = try contract.open().store
        opened.withLock { $0.append(store) }
        return store
    }

    /// A new store and a recorder of its commits.
    func makeRecordedStore() throws -> (store: any SettingsStore, recorder: CommitRecorder) {
        let store = try makeStore()
        let recorder = CommitRecorder()
        store.setObserver(recorder)
        return (store, recorder)
    }

    /// A new store with one value, a recorder of its commits, and a function that opens another store over the same
    /// place.
    func makeSharedStore() throws -> SharedStore {
        let open = try contract.open()
        let recorder = CommitRecorder()
        open.store.setObserver(recorder)
        opened.withLock { $0.append(open.store) }
        try open.store.commit { $0["begun"] = true }
        return SharedStore(store: open.store, recorder: recorder) { [self] in
            guard let other = try open.reopen() else { throw NotReopened() }
            opened.withLock { $0.append(other) }
            let recorder = CommitRecorder()
            other.setObserver(recorder)
            return (other, recorder)
        }
    }

    struct SharedStore {
        var store: any SettingsStore
        var recorder: CommitRecorder
        var reopen: () throws -> (store: any SettingsStore, recorder: CommitRecorder)
    }

    private struct NotReopened: Error {}

    // MARK: - Violations

    /// Records a violation.
    func record(_ violation: String) {
        found.withLock { $0.append(violation) }
    }

    /// Records a violation unless a condition holds.
    func expect(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { record(violation()) }
    }

    /// Runs a body on another thread, and records a violation if it throws or times out.
    func expectToFinish(_ what: String, _ body: @escaping @Sendable () throws -> Void) {
        expectToFinish(what, BackgroundWork(body))
    }

    /// Records a violation if the work on another thread throws or times out.
    func expectToFinish(_ what: String, _ work: BackgroundWork) {
        switch work.outcome(within: timeout) {
        case .success: break
        case .failure(let error): record("\(what) throws \(error)")
        case nil: record("\(what) does not finish within \(timeout)")
        }
    }
}

/// A body that runs on its own thread.
struct BackgroundWork: Sendable {
    private final class Ending: Sendable {
        let outcome = Mutex<Result<Void, any Error>?>(nil)
        let semaphore = DispatchSemaphore(value: 0)
    }

    private let ending = Ending()

    init(_ body: @escaping @Sendable () throws -> Void) {
        let ending = ending
        // A separate queue has its own thread, however busy the others are.
        DispatchQueue(label: "StoredSettingsTesting.work")
            .async {
                let outcome = Result { try body() }
                ending.outcome.withLock { $0 = outcome }
                ending.semaphore.signal()
            }
    }

    /// The outcome of the body.
    ///
    /// Call this once.
    ///
    /// - Returns: `nil` if the body has not finished in time.
    func outcome(within limit: Duration) -> Result<Void, any Error>? {
        _ = ending.semaphore.wait(timeout: .now() + limit.dispatchInterval)
        return ending.outcome.withLock { $0 }
    }
}

extension Duration {
    /// The duration in microseconds, for Dispatch.
    var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        let (product, isTooLong) = Int(clamping: seconds).multipliedReportingOverflow(by: 1_000_000)
        let (sum, isTooLongStill) = product.addingReportingOverflow(Int(attoseconds / 1_000_000_000_000))
        return isTooLong || isTooLongStill ? .never : .microseconds(sum)
    }
}
