// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// A store in memory that does one thing wrong, or nothing.
final class FaultyStore: SettingsStore {
    struct State {
        weak var observer: (any StoreObserver)?
        var keptObserver: (any StoreObserver)?
        var contentsBefore: [String: StoredValue] = [:]
        var ownContents: [String: StoredValue] = [:]
        var ownCommits: UInt64 = 0
        var idleCommits: UInt64 = 0
        var postponed: [StoreCommit] = []
        var isClosed = false
    }

    private let place: FaultyPlace
    let readFailure: Defect?
    let state = Mutex(State())
    private let gate = NSLock()
    private let ownWriter = NSLock()
    private let hiddenKeys: Set<String>

    init(_ readFailure: Defect? = nil) {
        (self.readFailure, place, hiddenKeys) = (readFailure, FaultyPlace(), [])
        place.add(self)
    }

    /// Makes another store over the same place.
    init(reopening other: FaultyStore) {
        (readFailure, place) = (other.readFailure, other.place)
        let contents = place.memory.contents()
        hiddenKeys = readFailure == .forgetsBeforeOpening ? Set(contents.keys) : []
        state.withLock { $0.ownContents = contents }
        place.add(self)
    }

    func setObserver(_ observer: any StoreObserver) {
        state.withLock { state in
            state.observer = observer
            if readFailure == .keepsObserver { state.keptObserver = observer }
        }
    }

    // MARK: - Reading

    var persistence: SettingsPersistence { place.memory.persistence }

    func version() -> UInt64 {
        gated { place in
            let version = place.memory.version()
            let (idleCommits, ownCommits) = state.withLock { ($0.idleCommits, $0.ownCommits) }
            return switch readFailure {
            case .flippingVersion: version % 2
            case .restlessVersion: version + idleCommits
            case .countsOwnCommitsOnly: ownCommits
            default: version
            }
        }
    }

    func contents() -> [String: StoredValue] {
        gated { place in
            let contents = place.memory.contents()
            place.noteRead()
            return readFailure == .lateContents ? state.withLock { $0.contentsBefore } : contents
        }
    }

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        gated { place in
            if readFailure == .gapAfterRead {
                let value = place.memory.value(forKey: key)
                place.waitForCommit()
                return body(value)
            }
            return place.memory.withValue(forKey: changed(key)) { value in
                body(state.withLock { seen(value, forKey: key, $0) })
            }
        }
    }

    private func seen(_ value: StoredValue?, forKey key: String, _ state: State) -> StoredValue? {
        switch readFailure {
        case .readsOwnCommitsOnly: state.ownContents[key]
        case .forgetsAtClose where state.isClosed: nil
        default: hiddenKeys.contains(key) ? nil : value
        }
    }

    private func gated<Result>(_ body: (FaultyPlace) -> Result) -> Result {
        if readFailure == .readsWait { gate.withLock {} }
        let (observer, postponed) = state.withLock { state in
            defer { state.postponed = [] }
            return (state.observer, state.postponed)
        }
        for commit in postponed where readFailure == .recordsOthersWhenRead {
            observer?.record(commit).perform()
        }
        return body(place)
    }

    // MARK: - The rest

    func synchronize() throws {
        if readFailure == .cannotSynchronize { throw SettingsError(.writeFailed, fact: "this store cannot synchronize") }
    }

    func close() {
        state.withLock { $0.isClosed = true }
    }
}

// MARK: - Committing

extension FaultyStore {
    func commit<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        try place.whileCommitting {
            switch readFailure {
            case .noExclusion: try commitUnlocked(body)
            case .noSharedExclusion: try ownWriter.withLock { try commitUnlocked(body) }
            case .readsWait: try place.writer.withLock { try gate.withLock { try commitUnlocked(body) } }
            default: try place.writer.withLock { try commitUnlocked(body) }
            }
        }
    }

    func write<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        guard readFailure == .writesOneByOne else { return try commit(body) }
        var transaction = StoreTransaction(base: contents())
        let result = try body(&transaction)
        for change in transaction.changes { try commit { $0[change.key] = change.new } }
        return result
    }

    private func commitUnlocked<Result>(_ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        let contents = place.memory.contents()
        var transaction = StoreTransaction(base: contents)
        do {
            let result = try body(&transaction)
            state.withLock { $0.contentsBefore = contents }
            try keep(transaction.changes)
            return result
        } catch {
            if readFailure == .keepsUnfinished { try keep(transaction.changes) }
            if readFailure == .recordsUnfinished { _ = observe(transaction.changes, .local) }
            throw error
        }
    }

    private func keep(_ changes: [StoreChange]) throws {
        if changes.isEmpty {
            state.withLock { $0.idleCommits += 1 }
            if readFailure == .recordsNothing { _ = observe([], .local) }
        }
        try place.apply(changes.map(changed), by: self, inTwo: readFailure == .tornCommits)
    }

    private func changed(_ change: StoreChange) -> StoreChange {
        StoreChange(key: changed(change.key), old: change.old, new: changed(change.new))
    }

    private func changed(_ key: String) -> String {
        guard readFailure == .dottedKeys, let dot = key.firstIndex(of: ".") else { return key }
        return String(key[..<dot])
    }

    private func changed(_ value: StoredValue?) -> StoredValue? {
        switch (readFailure, value) {
        case (.wholeSeconds, .date(let date)):
            .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded()))
        case (.integersThroughDouble, .integer(let integer)):
            Int128(exactly: Double(integer)).map(StoredValue.integer) ?? value
        case (.nullForRemoved, nil): .null
        default: value
        }
    }
}
