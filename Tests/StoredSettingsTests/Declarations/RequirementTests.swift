// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Requirements on several settings")
struct RequirementTests {
    private let reporter = RecordingReporter()

    private func pool(_ values: [String: StoredValue] = [:], _ sources: [SettingsSource] = []) -> PoolSettings {
        PoolSettings(.inMemory(values, sources: sources, reporter: reporter))
    }

    /// Runs a body with a pool in a file.
    private func withFile(_ body: (_ path: String, _ open: () -> (FileStore, PoolSettings)) async throws -> Void)
        async throws
    {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            var suites: [SettingsSuite] = []
            try await body(path) {
                let store = FileStore(path: FilePath(path), checkpointsInBackground: false, timeouts: .unlimited)
                let suite = SettingsSuite(store: store, reporter: reporter)
                suites.append(suite)
                return (store, PoolSettings(suite))
            }
            // A retry of an assignment that still waits for the lock would create the removed directory again.
            for suite in suites { await suite.finish() }
        }
    }

    private static let writes: [(name: String, change: @Sendable (PoolSettings) async throws -> Void)] = [
        ("set", { pool in try await blocking { try pool.$least.set(20) } }),
        ("async set", { try await $0.$least.set(20) }),
        ("update", { pool in try await blocking { _ = try pool.$least.update { $0 = 20 } } }),
        ("async update", { try await $0.$least.update { $0 = 20 } }),
        ("transaction", { pool in try await blocking { try pool.suite.transaction { $0[pool.$least] = 20 } } }),
        ("stored value", { pool in try await blocking { try pool.suite.setStoredValue(20, forKey: "least") } }),
        ("text", { pool in try await blocking { try pool.catalog["least"]?.set(text: "20") } }),
        ("reset", { pool in try await blocking { try pool.$most.reset() } }),
        (
            "transaction reset",
            { pool in try await blocking { try pool.suite.transaction { try $0.reset(pool.$most) } } }
        ),
    ]

    @Test(
        "every change that throws rejects values that do not meet a requirement, and changes nothing",
        arguments: writes.indices
    )
    func rejected(index: Int) async throws {
        let (name, change) = Self.writes[index]
        let pool = pool(["least": 11, "most": 15])
        let error = await #expect(throws: SettingsError.self, "\(name)") { try await change(pool) }
        #expect(error?.code == .requirementNotMet, "\(name)")
        #expect(pool.suite.snapshot() == ["least": 11, "most": 15], "\(name)")
        #expect(
            error?.message.contains("'least' and 'most' do not meet the requirement: least is at most most") == true
        )
        #expect(reporter.errors.isEmpty, "\(name)")
        // Another value is accepted in the same way.
        try await pool.$most.set(30)
        try await pool.$least.set(5)
        if !name.contains("re") { try await change(pool) }
    }

    @Test("a rejected assignment is reported, and is not tried again")
    func assigned() throws {
        let pool = pool()
        pool.$least.value = 20
        #expect(pool.values == [1, 10])
        #expect(reporter.errors.map(\.code) == [.requirementNotMet])
        pool.$most.value = 30
        try pool.suite.synchronize()
        #expect(pool.values == [1, 30])
        pool.$least.value = 20
        #expect(pool.values == [20, 30])
        #expect(reporter.errors.count == 1)
    }

    /// Uses up the room between the values, from one side.
    ///
    /// - Returns: The number of violations of the requirement.
    private static func compete(_ pool: PoolSettings, isFirst: Bool) -> Int {
        var violations = 0
        for step in 1...200 {
            do {
                let (least, most) = (pool.least, pool.most)
                if isFirst {
                    try pool.$least.set(least + step % 3)
                } else {
                    try pool.$most.set(max(0, most - step % 3))
                }
            } catch let error as SettingsError where error.code == .requirementNotMet {
                #expect(throws: Never.self) {
                    try pool.suite.transaction {
                        $0[pool.$least] = 0
                        $0[pool.$most] = 10
                    }
                }
            } catch {
                Issue.record(error)
            }
            let stored = pool.suite.snapshot()
            if case .integer(let least)? = stored["least"], case .integer(let most)? = stored["most"], least > most {
                violations += 1
            }
        }
        return violations
    }

    @Test("threads that change two values never violate the requirement")
    func threads() async throws {
        try await withFile { path, open in
            let (_, first) = open()
            let (_, second) = open()
            let violations = CallLog<Int>()
            await withTaskGroup(of: Void.self) { group in
                for (index, pool) in [first, second].enumerated() {
                    group.addTask { await blocking { violations.add(Self.compete(pool, isFirst: index == 0)) } }
                }
            }
            #expect(violations.all == [0, 0])
            await first.suite.finish()
            await second.suite.finish()
        }
    }

    @Test("a check of a requirement reports no value of another source, which validation returns")
    func quietCheck() {
        let pool = pool([:], [.environment(["LEAST": "x"], prefix: "")])
        let problems = pool.catalog.findProblems().errors
        #expect(problems.map(\.code) == [.typeMismatch])
        #expect(reporter.errors.isEmpty)
        #expect(pool.least == 1)
        #expect(reporter.errors.map(\.code) == [.typeMismatch])
    }

    @Test("a requirement that reads its settings itself ends")
    func reading() throws {
        let pool = pool()
        pool.catalog.require("read", pool.$least, pool.$most) { [least = pool.$least, most = pool.$most] _, _ in
            least.value <= most.value
        }
        try pool.$least.set(3)
        #expect(pool.values == [3, 10])
        #expect(pool.catalog.findProblems().errors.isEmpty)
    }

    @Test("an assignment inside a transaction, which is applied after it, must meet the requirement then")
    func nested() throws {
        let pool = pool(["least": 1, "most": 40])
        try pool.suite.transaction {
            pool.$least.value = 30
            $0[pool.$most] = 5
        }
        try pool.suite.synchronize()
        #expect(pool.suite.snapshot() == ["least": 1, "most": 5])
        #expect(reporter.errors.map(\.code).contains(.requirementNotMet))
    }

    @Test("an assignment in a task is checked before it waits for another process", .deadlockLimit)
    func waiting() async throws {
        try await withFile { path, open in
            let (_, pool) = open()
            try await pool.$most.set(10)
            let lock = try HeldJournalLock(besideFileAt: path)
            await Task {
                // It waits for longer than an assignment may, and is saved in the background.
                pool.suite[storedValueFor: "other"] = 1
                pool.$least.value = 20
            }
            .value
            #expect(pool.values == [1, 10])
            #expect(reporter.errors.map(\.code) == [.requirementNotMet])
            lock.release()
            await eventually("the other value is saved") { !pool.suite.engine.isPending("other") }
            #expect(pool.suite.snapshot() == ["most": 10, "other": 1])
        }
    }

    @Test("an assignment that waits for another process is checked again with its values", .deadlockLimit)
    func overtakenWhileWaiting() async throws {
        try await withFile { path, open in
            let ((_, pool), (other, _)) = (open(), open())
            try await pool.suite.setStoredValue(40, forKey: "most")
            let journal = try #require(try Journal.open(at: FilePath(path + ".journal"), SystemCalls()))
            let hasBegun = Mutex(false)
            async let commit: Void = blocking {
                #expect(throws: Never.self) {
                    try other.commit { transaction in
                        hasBegun.withLock { $0 = true }
                        // Until the assignment was checked, and its commit waits for this one.
                        while journal.page[.lock] & JournalLock.awaitedBit == 0 { usleep(1_000) }
                        transaction["most"] = 10
                    }
                }
            }
            await eventually("the other process has the lock") { hasBegun.withLock(\.self) }
            await Task { pool.$least.value = 30 }.value
            await commit
            await eventually("the assignment is dropped") { !pool.suite.engine.isPending("least") }
            #expect(pool.suite.snapshot() == ["most": 10])
            await eventually("that is reported") { !reporter.errors.isEmpty }
            #expect(reporter.errors.map(\.code) == [.requirementNotMet])
        }
    }

    @Test("an assignment that waits is dropped when newer values from outside meet a requirement only without it")
    func overtakenByEdit() async throws {
        try await withFile { path, open in
            let (store, pool) = open()
            try await pool.$most.set(40)
            try await pool.suite.checkpoint()
            let lock = try HeldJournalLock(besideFileAt: path)
            await Task { pool.$least.value = 30 }.value
            #expect(pool.values == [30, 40])
            #expect(reporter.errors.isEmpty)
            // Reads see an edit without the lock for which the assignment waits.
            try path.replaceFile(with: #"{"most": 10}"#)
            store.lookAndWait()
            // The thread that waits for the lock may be the first to notice it.
            await eventually("the edit is used") { pool.values == [1, 10] }
            await eventually("the assignment is dropped") { !pool.suite.engine.isPending("least") }
            await eventually("that is reported") { !reporter.errors.isEmpty }
            #expect(reporter.errors.map(\.code) == [.requirementNotMet])
            #expect(reporter.errors.first?.key == "least")
            lock.release()
            try await pool.suite.synchronize()
            #expect(store.contents() == ["most": 10])
        }
    }

    @Test("a transaction of other settings is not refused because of an assignment that waits")
    func innocentTransaction() async throws {
        try await withFile { path, open in
            let (store, pool) = open()
            try await pool.suite.setStoredValue(40, forKey: "most")
            let lock = try HeldJournalLock(besideFileAt: path)
            await Task { pool.$least.value = 30 }.value
            #expect(pool.suite.engine.isPending("least"))
            lock.release()
            try await pool.suite.transaction { $0[storedValueFor: "other"] = 1 }
            #expect(pool.suite.snapshot() == ["least": 30, "most": 40, "other": 1])
            // An edit that violates the requirement is no reason to refuse other changes.
            try await pool.suite.checkpoint()
            try path.replaceFile(with: #"{"least": 30, "most": 5}"#)
            store.lookAndWait()
            try await pool.suite.transaction { $0[storedValueFor: "other"] = 2 }
            #expect(store.contents() == ["least": 30, "most": 5, "other": 2])
            try await pool.suite.transaction { $0[pool.$least] = 30 }
            #expect(store.contents() == ["least": 30, "most": 40, "other": 2])
        }
    }

    @Test("a requirement is checked with the last good value that is in use, also one that was never read")
    func lastGood() async throws {
        try await withFile { path, open in
            do {
                let (store, pool) = open()
                try await pool.$least.set(5)
                try await pool.$most.set(50)
                try await pool.suite.synchronize()
                store.close()
            }
            try path.replaceFile(with: #"{"least": 5, "most": 2000}"#)
            let (_, pool) = open()
            expectError(.requirementNotMet) { try pool.$least.set(51) }
            try await pool.$least.set(50)
            #expect(pool.values == [50, 50])
        }
    }

    @Test(
        "validate reports each requirement that is not met, once, and the values that it is checked with include overrides"
    )
    func validated() throws {
        #expect(pool(["least": 3]).catalog.findProblems().errors.isEmpty)
        let pool = pool(["least": 3, "most": 9], [.environment(["MOST": "2"], prefix: "")])
        #expect(pool.catalog.findProblems().errors.map(\.code) == [.requirementNotMet])
        #expect(throws: SettingsValidationError.self) { try pool.catalog.validate() }
        #expect(pool.values == [1, 2])
        expectError(.requirementNotMet) { try pool.$least.set(4) }
        try pool.$least.set(2)
        #expect(pool.values == [2, 2])
    }

    @Test("a requirement that throws is not met, and its error names no value")
    func throwing() throws {
        struct Failure: Error {
            let value: Int
        }
        let pool = pool()
        pool.catalog.require("none", pool.$least, pool.$most) { least, _ in
            if least == 7 { throw Failure(value: 7_777) }
            return true
        }
        let error = #expect(throws: SettingsError.self) { try pool.$least.set(7) }
        #expect(error?.code == .requirementNotMet)
        #expect(error?.underlying is Failure)
        #expect(error?.message.contains("7777") == false)
        #expect(pool.least == 1)
    }

    @Test("a requirement is replaced by one with the same text for the same settings")
    func replaced() throws {
        let pool = pool()
        pool.catalog.require("least is at most most", pool.$least, pool.$most) { _, _ in true }
        try pool.$least.set(20)
        #expect(pool.values == [20, 10])
    }

    @Test("a requirement on settings of different suites is reported, and is not checked")
    func otherSuite() throws {
        let (pool, other) = (pool(), pool())
        pool.catalog.require("both", pool.$least, other.$most) { _, _ in false }
        #expect(reporter.errors.map(\.code) == [.otherSuite])
        try pool.$least.set(3)
    }
}
