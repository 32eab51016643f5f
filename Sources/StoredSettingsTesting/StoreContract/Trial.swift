// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettings
import Synchronization

/// One check of one clause: makes the stores it needs and takes down what is wrong with them.
final class Trial: Sendable {
    let patience: Duration

    private let contract: SettingsStoreContract
    private let found = Mutex<[String]>([])
    private let opened = Mutex<[any SettingsStore]>([])

    init(of contract: SettingsStoreContract) {
        self.contract = contract
        patience = contract.patience
    }

    /// Runs a clause's check, and gives up when it does not end.
    func violations(of clause: SettingsStoreContract.Clause) -> [String] {
        // A check may wait a few times, each time in vain.
        let limit = patience * 4
        let check = Errand { [self] in
            defer { closeAll() }
            try clause.check(self)
        }
        switch check.outcome(within: limit) {
        case .success: break
        case .failure(let error): note("it throws \(error)")
        case nil: note("it does not come to an end within \(limit)")
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

    /// A new store, with no observer.
    func makeStore() throws -> any SettingsStore {
        let store = try contract.open().store
        opened.withLock { $0.append(store) }
        return store
    }

    /// A new store and what it records.
    func makeRecordedStore() throws -> (store: any SettingsStore, recorder: CommitRecorder) {
        let store = try makeStore()
        let recorder = CommitRecorder()
        store.setObserver(recorder)
        return (store, recorder)
    }

    /// A new store with something in it already, what it records, and the way to another over the same place.
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

    // MARK: - Findings

    /// Takes down a violation.
    func note(_ violation: String) {
        found.withLock { $0.append(violation) }
    }

    /// Takes down a violation unless a condition holds.
    func expect(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { note(violation()) }
    }

    /// Runs a body on another thread, and takes down a violation when it throws or does not end soon.
    func expectToEnd(_ what: String, _ body: @escaping @Sendable () throws -> Void) {
        expectToEnd(what, Errand(body))
    }

    /// Takes down a violation when a body on another thread throws or does not end soon.
    func expectToEnd(_ what: String, _ errand: Errand) {
        switch errand.outcome(within: patience) {
        case .success: break
        case .failure(let error): note("\(what) throws \(error)")
        case nil: note("\(what) does not end within \(patience)")
        }
    }
}

/// A body that runs on a thread of its own.
struct Errand: Sendable {
    private final class Ending: Sendable {
        let outcome = Mutex<Result<Void, any Error>?>(nil)
        let semaphore = DispatchSemaphore(value: 0)
    }

    private let ending = Ending()

    init(_ body: @escaping @Sendable () throws -> Void) {
        let ending = ending
        // A queue of its own is a thread of its own, whatever else is going on.
        DispatchQueue(label: "StoredSettingsTesting.errand")
            .async {
                let outcome = Result { try body() }
                ending.outcome.withLock { $0 = outcome }
                ending.semaphore.signal()
            }
    }

    /// How the body has ended.
    ///
    /// To be asked once.
    ///
    /// - Returns: `nil` when it has not ended in time.
    func outcome(within limit: Duration) -> Result<Void, any Error>? {
        _ = ending.semaphore.wait(timeout: .now() + limit.dispatchInterval)
        return ending.outcome.withLock { $0 }
    }
}

extension Duration {
    /// The same to the microsecond, for Dispatch.
    var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        let (product, isTooLong) = Int(clamping: seconds).multipliedReportingOverflow(by: 1_000_000)
        let (sum, isTooLongStill) = product.addingReportingOverflow(Int(attoseconds / 1_000_000_000_000))
        return isTooLong || isTooLongStill ? .never : .microseconds(sum)
    }
}
