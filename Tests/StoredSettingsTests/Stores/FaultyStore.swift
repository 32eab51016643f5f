// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// An in-memory store with one fault, or none.
final class FaultyStore: SettingsStore {
    struct State {
        weak var observer: (any StoreObserver)?
        var retainedObserver: (any StoreObserver)?
        var contentsBefore: [String: StoredValue] = [:]
        var ownContents: [String: StoredValue] = [:]
        var postponed: [StoreCommit] = []
        var isClosed = false
    }

    private let storage: FaultyStorage
    let fault: Fault?
    let state = Mutex(State())
    private let gate = NSLock()
    private let ownWriter = NSLock()
    private let hiddenKeys: Set<String>
    let ownVersion = StoreVersion()

    init(_ fault: Fault? = nil) {
        (self.fault, storage, hiddenKeys) = (fault, FaultyStorage(), [])
        storage.add(self)
    }

    init(reopening other: FaultyStore) {
        (fault, storage) = (other.fault, other.storage)
        let contents = storage.memory.contents()
        hiddenKeys = fault == .forgetsBeforeOpening ? Set(contents.keys) : []
        state.withLock { $0.ownContents = contents }
        storage.add(self)
    }

    func setObserver(_ observer: any StoreObserver) {
        state.withLock { state in
            state.observer = observer
            if fault == .retainsObserver { state.retainedObserver = observer }
        }
    }

    // MARK: - Reading

    var persistence: SettingsPersistence { storage.memory.persistence }

    var sharedVersion: StoreVersion? { ownVersion }

    func contents() -> [String: StoredValue] {
        gated { storage in
            let contents = storage.memory.contents()
            storage.noteRead()
            return fault == .lateContents ? state.withLock { $0.contentsBefore } : contents
        }
    }

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        gated { storage in
            if fault == .gapAfterRead {
                let value = storage.memory.value(forKey: key)
                storage.waitForCommit()
                return body(value)
            }
            return storage.memory.withValue(forKey: changed(key)) { value in
                body(state.withLock { seen(value, forKey: key, $0) })
            }
        }
    }

    private func seen(_ value: StoredValue?, forKey key: String, _ state: State) -> StoredValue? {
        switch fault {
        case .readsOwnCommitsOnly: state.ownContents[key]
        case .forgetsAtClose where state.isClosed: nil
        default: hiddenKeys.contains(key) ? nil : value
        }
    }

    private func gated<Result>(_ body: (FaultyStorage) -> Result) -> Result {
        if fault == .readsWait { gate.withLock {} }
        let (observer, postponed) = state.withLock { state in
            defer { state.postponed = [] }
            return (state.observer, state.postponed)
        }
        for commit in postponed where fault == .recordsOthersWhenRead {
            observer?.record(commit).perform()
        }
        return body(storage)
    }

    // MARK: - Synchronizing and closing

    func synchronize() throws {
        if fault == .cannotSynchronize { throw SettingsError(.writeFailed, fact: "this store cannot synchronize") }
    }

    func close() {
        state.withLock { $0.isClosed = true }
    }
}

// MARK: - Committing

extension FaultyStore {
    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        if isBlind, fault == .writesOneByOne {
            var transaction = StoreTransaction(base: contents())
            let result = try body(&transaction)
            for change in transaction.changes { try commit { $0[change.key] = change.new } }
            return result
        }
        return try storage.committing {
            switch fault {
            case .noExclusion: try commitUnlocked(body)
            case .noSharedExclusion: try ownWriter.withLock { try commitUnlocked(body) }
            case .readsWait: try storage.writer.withLock { try gate.withLock { try commitUnlocked(body) } }
            default: try storage.writer.withLock { try commitUnlocked(body) }
            }
        }
    }

    private func commitUnlocked<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        let contents = storage.memory.contents()
        var transaction = StoreTransaction(base: contents)
        do {
            let result = try body(&transaction)
            state.withLock { $0.contentsBefore = contents }
            try apply(transaction.changes)
            return result
        } catch {
            if fault == .commitsUnfinished { try apply(transaction.changes) }
            if fault == .recordsUnfinished { _ = observe(transaction.changes, .local) }
            throw error
        }
    }

    private func apply(_ changes: [StoreChange]) throws {
        try storage.apply(changes.map(changed), by: self, inTwo: fault == .tornCommits)
    }

    private func changed(_ change: StoreChange) -> StoreChange {
        StoreChange(key: changed(change.key), old: change.old, new: changed(change.new))
    }

    private func changed(_ key: String) -> String {
        guard fault == .dottedKeys, let dot = key.firstIndex(of: ".") else { return key }
        return String(key[..<dot])
    }

    private func changed(_ value: StoredValue?) -> StoredValue? {
        switch (fault, value) {
        case (.wholeSeconds, .date(let date)):
            .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded()))
        case (.integersThroughDouble, .integer(let integer)):
            Int128(exactly: Double(integer)).map(StoredValue.integer) ?? value
        case (.nullForRemoved, nil): .null
        default: value
        }
    }
}
