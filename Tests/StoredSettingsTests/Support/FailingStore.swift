// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import StoredSettings

/// An in-memory store whose changes fail on request.
final class FailingStore: ForwardingStore {
    let memory: InMemoryStore
    private let failure = Mutex<SettingsError?>(nil)

    init(_ values: [String: StoredValue] = [:]) {
        memory = InMemoryStore(values)
    }

    private let rejected = Mutex<(key: String, exception: StoredValue?)?>(nil)

    /// Rejects every value of a key permanently, except one.
    func reject(_ key: String, except value: StoredValue? = nil) { rejected.withLock { $0 = (key, value) } }

    /// The number of changes that one commit may have.
    let mostChanges = Mutex(Int.max)

    private let synchronizingFailure = Mutex<SettingsError?>(nil)

    /// Makes `synchronize()` fail until the error is `nil`.
    func failSynchronizing(with error: SettingsError?) { synchronizingFailure.withLock { $0 = error } }

    private let closeCalls = Mutex(0)

    /// The number of times that the store has been closed.
    var closingCount: Int { closeCalls.withLock { $0 } }

    func close() { closeCalls.withLock { $0 += 1 } }

    private let watchCalls = Mutex(0)

    /// The number of times that the store was asked to watch.
    var watchingCount: Int { watchCalls.withLock { $0 } }

    func watch() { watchCalls.withLock { $0 += 1 } }

    func fail(with error: SettingsError?) {
        failure.withLock { $0 = error }
    }

    private let commitFailure = Mutex<SettingsError?>(nil)

    /// Makes the next commit fail when its body has run.
    func failNextCommit(with error: SettingsError) { commitFailure.withLock { $0 = error } }

    /// A closure that runs once, when the store is synchronized.
    let onSynchronize = Mutex<(@Sendable () -> Void)?>(nil)

    func synchronize() throws {
        onSynchronize.withLock { $0.take() }?()
        if let error = synchronizingFailure.withLock({ $0 }) { throw error }
    }

    /// A closure that runs once, before a commit.
    let beforeCommit = Mutex<(@Sendable () -> Void)?>(nil)

    /// A closure that runs once, when the body of a commit has run.
    let afterBody = Mutex<(@Sendable () -> Void)?>(nil)

    /// A closure that runs once, when a commit has ended and before it returns.
    let afterCommit = Mutex<(@Sendable () -> Void)?>(nil)

    /// A closure that runs once, when all values were read and before they are returned.
    let afterContents = Mutex<(@Sendable () -> Void)?>(nil)

    func contents() -> [String: StoredValue] {
        let contents = memory.contents()
        let hook = afterContents.withLock { hook in
            defer { hook = nil }
            return hook
        }
        hook?()
        return contents
    }

    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        if let error = failure.withLock({ $0 }) { throw error }
        let hook = beforeCommit.withLock { $0.take() }
        hook?()
        let result = try memory.commit { transaction in
            let result = try body(&transaction)
            afterBody.withLock { $0.take() }?()
            if let error = commitFailure.withLock({ $0.take() }) { throw error }
            if transaction.changes.count > mostChanges.withLock(\.self) {
                throw SettingsError(SettingsError.Code("transactionTooLarge"), fact: "there are too many changes")
            }
            if let rejected = rejected.withLock({ $0 }), transaction[rejected.key] != rejected.exception {
                throw SettingsError.unstorable("the store cannot store the value")
            }
            return result
        }
        afterCommit.withLock { $0.take() }?()
        return result
    }
}
