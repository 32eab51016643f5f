// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Testing

@testable import StoredSettings

@Suite("Stores that write later, or run a body again")
struct LaterWriteTests {
    /// A store in memory that accepts assignments for later, and runs each body twice.
    private final class DistantStore: ForwardingStore {
        private struct Conflict: Error {}

        let memory = InMemoryStore()
        let later = Locked<[[String: StoredValue?]]>([])
        let isOpen = Locked(true)

        func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
            do {
                try memory.commit { transaction in
                    _ = try body(&transaction)
                    throw Conflict()
                }
            } catch is Conflict {
                // Another process was faster.
            }
            return try memory.commit(body)
        }

        func writeLater(_ edits: [String: StoredValue?]) throws -> Bool {
            guard !edits.isEmpty else { return true }
            guard isOpen.withLock({ $0 }) else { return false }
            later.withLock { $0.append(edits) }
            return true
        }
    }

    @Test("An assignment is left to a store that writes later, and a set is not")
    func assignments() throws {
        let store = DistantStore()
        let setting = Setting("port", default: 80, suite: SettingsSuite(store: store))
        setting.value = 1
        #expect(store.later.withLock { $0 } == [["port": 1]])
        try setting.set(2)
        #expect(store.contents() == ["port": 2])
        // A store that does not accept an assignment receives it as a write.
        store.isOpen.withLock { $0 = false }
        setting.value = 3
        #expect(store.contents() == ["port": 3])
        #expect(store.later.withLock { $0.count } == 1)
    }

    @Test("An assignment with a requirement is checked, and left to the store as well")
    func restrictedAssignments() {
        let (store, reporter) = (DistantStore(), RecordingReporter())
        let pool = PoolSettings(SettingsSuite(store: store, reporter: reporter))
        pool.least = 5
        #expect(store.later.withLock { $0 } == [["least": 5]])
        pool.least = 50
        #expect(store.later.withLock { $0.count } == 1)
        #expect(reporter.errors.map(\.code) == [.requirementNotMet])
        #expect(!pool.suite.engine.isPending("least"))
    }

    @Test("Only the last run of a body counts, also together with pending writes")
    func repeatedBody() throws {
        let store = DistantStore()
        let suite = SettingsSuite(store: store, reporter: RecordingReporter())
        let (count, other) = (Setting("count", default: 0, suite: suite), Setting("other", default: 0, suite: suite))
        var runs = 0
        try suite.transaction { transaction in
            runs += 1
            transaction[count] += 1
            // It is applied after the transaction.
            if runs == 1 { other.value = 5 }
        }
        #expect(runs == 2)
        #expect(try count.update { $0 += 1 } == 2)
        #expect(suite[storedValueFor: "count"] == 2)
        #expect(other.value == 5)
        #expect(suite[storedValueFor: "other"] == 5)
    }
}
