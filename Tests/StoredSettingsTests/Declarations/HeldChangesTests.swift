// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A change from outside is used when its requirements are met".

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Changes while values are used instead of stored ones that do not meet a requirement", .deadlockLimit)
struct HeldChangesTests {
    private let reporter = RecordingReporter()
    private static let unmet = #"{"least": 30, "most": 3}"#

    /// Runs a body with a process that uses 5 and 40 instead of the stored values 30 and 3.
    private func withHeldValues(_ body: (PoolProcess) async throws -> Void) async throws {
        try await withPoolProcess(reporter) { process in
            #expect(process.pool.values == [5, 40])
            try process.edit(Self.unmet)
            #expect(process.pool.values == [5, 40])
            try await body(process)
        }
    }

    @Test("a change of another process that meets the requirements with the values in use is used")
    func otherProcess() async throws {
        try await withHeldValues { process in
            let other = PoolProcess(process.path, reporter)
            // The last good copy has the values of the first process.
            #expect(other.pool.values == [5, 40])
            try await other.pool.$most.set(100)
            #expect(process.pool.values == [30, 100])
            try process.edit(#"{"least": 500, "most": 100}"#)
            other.store.lookAndWait()
            #expect(other.pool.values == process.pool.values)
            other.store.close()
        }
    }

    @Test("no increment of two processes is lost while a value beside it is not used")
    func increments() async throws {
        try await withPoolProcess(reporter) { process in
            let other = PoolProcess(process.path, reporter)
            #expect(other.pool.values == [5, 40])
            try process.edit(#"{"least": 800, "most": 40}"#)
            other.store.lookAndWait()
            #expect(process.pool.values == [5, 40])
            #expect(other.pool.values == [5, 40])
            await withTaskGroup(of: Void.self) { group in
                for process in [process, other] {
                    group.addTask {
                        await blocking {
                            for _ in 1...100 {
                                #expect(throws: Never.self) { try process.pool.$most.update { $0 += 1 } }
                            }
                        }
                    }
                }
            }
            #expect(process.pool.most == 240)
            #expect(other.pool.most == 240)
            other.store.close()
        }
    }

    private static let repetitions: [(name: String, change: @Sendable (PoolSettings) async throws -> Void)] = [
        ("set", { pool in try await blocking { try pool.$least.set(30) } }),
        ("async set", { try await $0.$least.set(30) }),
        // In a task, it might be saved in the background.
        ("assignment", { pool in await blocking { pool.least = 30 } }),
        ("update", { pool in try await blocking { _ = try pool.$least.update { $0 = 30 } } }),
        ("transaction", { pool in try await blocking { try pool.suite.transaction { $0[pool.$least] = 30 } } }),
    ]

    @Test("setting the stored value makes it the value in use", arguments: repetitions.indices)
    func repeated(index: Int) async throws {
        try await withHeldValues { process in
            let pool = process.pool
            let seen = Mutex<[[Int]]>([])
            let observation = pool.$least.observe { _ in seen.withLock { $0.append(pool.values) } }
            try await Self.repetitions[index].change(pool)
            #expect(pool.values == [30, 40])
            #expect(process.store.contents() == ["least": 30, "most": 40])
            await eventually("the change is delivered") { seen.withLock { $0 } == [[30, 40]] }
            withExtendedLifetime(observation) {}
        }
    }

    @Test("setting the stored value while it cannot be saved is delivered once, also when it is saved later")
    func repeatedWhilePending() async throws {
        try await withHeldValues { process in
            let pool = process.pool
            let seen = Mutex<[[Int]]>([])
            let observation = pool.$least.observe { _ in seen.withLock { $0.append(pool.values) } }
            let lock = try HeldJournalLock(besideFileAt: process.path)
            // In a task, an assignment does not wait for long.
            pool.least = 30
            #expect(pool.suite.engine.isPending("least"))
            await eventually("the change is delivered") { seen.withLock { $0 } == [[30, 40]] }
            lock.release()
            try await pool.suite.synchronize()
            #expect(!pool.suite.engine.isPending("least"))
            #expect(pool.values == [30, 40])
            try await pool.$least.set(31)
            await eventually("the next change is delivered") { seen.withLock { $0.last } == [31, 40] }
            #expect(seen.withLock { $0 } == [[30, 40], [31, 40]])
            withExtendedLifetime(observation) {}
        }
    }

    @Test("removing a value that an edit has removed makes the default the value in use")
    func removed() async throws {
        try await withPoolProcess(reporter) { process in
            try process.edit(#"{"least": 30}"#)
            #expect(process.pool.values == [5, 40])
            try await process.pool.$most.reset()
            #expect(process.pool.values == [5, 10])
        }
    }

    @Test("a transaction that sets a stored value and changes another is checked with both")
    func repeatedInTransaction() async throws {
        try await withHeldValues { process in
            let pool = process.pool
            expectError(.requirementNotMet) {
                try pool.suite.transaction {
                    $0[pool.$least] = 30
                    $0[pool.$most] = 20
                }
            }
            #expect(pool.values == [5, 40])
            // The failed transaction has left nothing behind for the next one.
            try await pool.$most.set(41)
            #expect(pool.values == [30, 41])
            try process.edit(Self.unmet)
            try await pool.suite.transaction {
                $0[pool.$least] = 30
                $0[pool.$most] = 45
            }
            #expect(pool.values == [30, 45])
        }
    }

    @Test("values in use meet all requirements if the defaults do, for all contents of the file")
    func combinations() {
        for least in [0, 5, 10, 20, 60, 1_000] {
            for most in [0, 5, 15, 950, 1_000] {
                for limit in [0, 12, 930, 1_000] {
                    let contents = [("least", least), ("most", most), ("limit", limit)]
                        .map { ($0.0, StoredValue.integer(Int128($0.1))) }
                    let pool = PoolSettings(.inMemory(Dictionary(uniqueKeysWithValues: contents), reporter: reporter))
                    let limit = Setting("limit", default: 900, suite: pool.suite)
                    pool.catalog.require("most is at most limit", pool.$most, limit) { $0 <= $1 }
                    #expect(pool.least <= pool.most && pool.most <= limit.value, "\(contents)")
                }
            }
        }
    }

    @Test("a change that a reporter makes, or a task that it starts, is checked", arguments: [true, false])
    func reporterChanges(inTask: Bool) async throws {
        // What the next report does: it sets a value, or begins a task that does.
        let action = NextAction()
        let reporter = CallingReporter { _ in #expect(throws: Never.self) { try action.perform() } }
        try await withPoolProcess(reporter) { process in
            let pool = process.pool
            #expect(pool.values == [5, 40])
            let (reports, continuation) = AsyncStream<Void>.makeStream()
            let change: @Sendable () -> Void = {
                #expect(throws: Never.self) { try pool.$least.set(2) }
                #expect(pool.values == [2, 3])
                continuation.finish()
            }
            action.set {
                guard inTask else { return change() }
                // It goes on after the report.
                Task {
                    await Task.yield()
                    change()
                }
            }
            try process.edit(Self.unmet)
            _ = pool.values
            for await _ in reports {}
            #expect(pool.values == [2, 3])
        }
    }

    @Test("a value that was valid when the file was last checkpointed is newer than a retained one")
    func superseded() async throws {
        try await withHeldValues { process in
            try await process.pool.suite.setStoredValue(1, forKey: "other")
            try await process.pool.suite.checkpoint()
            try await process.pool.$least.set(2)
            #expect(process.pool.values == [2, 3])
            try await process.pool.suite.checkpoint()
            try process.path.replaceFile(with: Self.unmet)
            let later = PoolProcess(process.path, reporter)
            #expect(later.pool.values == [2, 3])
            later.store.close()
        }
    }

    @Test("a new process takes all values of a requirement from the last good copy, or combines it with newer ones")
    func copied() async throws {
        try await withPoolProcess(reporter) { process in
            try await process.pool.$least.reset()
            try await process.pool.suite.checkpoint()
            #expect(process.pool.values == [1, 40])
            try process.path.replaceFile(with: Self.unmet)
            var later = PoolProcess(process.path, reporter)
            #expect(later.pool.values == [1, 40])
            later.store.close()
            // A program without the requirement.
            try process.edit(#"{"least": 5, "most": 40}"#)
            try await process.pool.suite.setStoredValue(1, forKey: "other")
            try await process.pool.suite.checkpoint()
            let unaware = FileStore(path: process.path, checkpointsInBackground: false)
            try unaware.commit { ($0["least"], $0["most"]) = (30, 3) }
            later = PoolProcess(process.path, reporter)
            #expect(later.pool.values == [5, 40])
            later.store.close()
            unaware.close()
        }
    }

    /// Checks the values in use after an edit, in its process and, after a checkpoint of a program that has no requirement, in a
    /// new one.
    private func checkValues(_ values: [Int], afterEdit text: String, of process: PoolProcess) async throws {
        try process.edit(text)
        #expect(process.pool.values == values)
        try await process.pool.suite.setStoredValue(1, forKey: "other")
        try await process.pool.suite.checkpoint()
        let unaware = FileStore(path: process.path, checkpointsInBackground: false)
        try unaware.commit { $0["another"] = 2 }
        try unaware.checkpoint()
        unaware.close()
        let later = PoolProcess(process.path, reporter)
        #expect(later.pool.values == values)
        // The requirement is met again.
        try later.edit(#"{"least": 7, "most": 8}"#)
        #expect(later.pool.values == [7, 8])
        try await later.pool.suite.setStoredValue(3, forKey: "other")
        try await later.pool.suite.checkpoint()
        #expect(try !(process.path + ".last-good").fileContents.contains("lastGood"))
        // Nor do values that were used for missing ones come back.
        try await later.pool.$least.set(2)
        try await later.pool.$most.reset()
        try await later.pool.suite.checkpoint()
        #expect(try !(process.path + ".last-good").fileContents.contains("lastGood"))
        later.store.close()
    }

    @Test("a value that was used for a missing one does not come back after it has met the requirement")
    func missingForGood() async throws {
        try await withPoolProcess(reporter) { process in
            try await process.pool.$least.set(30)
            try await process.pool.suite.checkpoint()
            try process.edit(#"{"least": 30}"#)
            #expect(process.pool.values == [30, 40])
            try process.edit(#"{"least": 2}"#)
            #expect(process.pool.values == [2, 10])
            try await process.pool.suite.setStoredValue(1, forKey: "other")
            try await process.pool.suite.checkpoint()
            #expect(try !(process.path + ".last-good").fileContents.contains("lastGood"))
        }
    }

    @Test("a set is seen by processes that used other values, and an update there is based on it", arguments: 0...3)
    func setBesideOtherValues(kind: Int) async throws {
        try await withPoolProcess(reporter) { process in
            if kind == 0 {
                // A program without the requirement, whose change is as new as the set.
                let unaware = FileStore(path: process.path, checkpointsInBackground: false)
                try unaware.commit { $0["least"] = 900 }
                unaware.close()
            } else if kind == 1 {
                // Values that only this process has seen.
                try process.edit(#"{"least": 6, "most": 50}"#)
                #expect(process.pool.values == [6, 50])
            } else if kind == 2 {
                // No value that meets the requirement is known.
                for suffix in ["", ".journal", ".last-good"] {
                    try FileManager.default.removeItem(atPath: process.path + suffix)
                }
            }
            if kind > 0 { try process.edit(#"{"least": 30, "most": 3}"#) }
            let first = kind == 2 ? PoolProcess(process.path, reporter) : process
            let other = PoolProcess(process.path, reporter)
            _ = (first.pool.values, other.pool.values)
            try await first.pool.$most.set(60)
            // A process that has only read notices the first journal of a suite later.
            if kind == 2 { other.store.lookAndWait() }
            #expect(other.pool.most == 60)
            #expect(other.pool.values == first.pool.values)
            try await other.pool.$most.update { $0 += 1 }
            #expect(first.pool.most == 61)
            if kind == 2 { first.store.close() }
            other.store.close()
        }
    }

    @Test(
        "an unusable value leaves the value in use, not one that only violated a requirement",
        arguments: [true, false]
    )
    func unusableAfterUnmet(isRemoved: Bool) async throws {
        try await withPoolProcess(reporter) { process in
            try process.edit(isRemoved ? #"{"least": 30}"# : #"{"least": 30, "most": 3}"#)
            #expect(process.pool.values == [5, 40])
            try process.edit(#"{"least": 2, "most": "x"}"#)
            #expect(process.pool.values == [2, 40])
        }
    }

    @Test("a default in use instead of an unusable value stays in use when a later edit violates a requirement")
    func defaultAfterUnusable() async throws {
        try await withPoolProcess(reporter) { process in
            try await process.pool.$least.reset()
            try await process.pool.suite.checkpoint()
            try process.edit(#"{"least": "x", "most": 44, "limit": 800}"#)
            #expect(process.values == [1, 44, 800])
            try process.edit(#"{"least": 500, "most": 45, "limit": 20}"#)
            #expect(process.values == [1, 44, 800])
        }
    }

    @Test("a new process uses the default instead of a value that an edit has added and that violates a requirement")
    func addedInNewProcess() async throws {
        try await withPoolProcess(reporter) { process in
            try await process.pool.$most.reset()
            try await process.pool.suite.checkpoint()
            try await checkValues([5, 10], afterEdit: #"{"least": 5, "most": 3}"#, of: process)
        }
    }

    @Test("a new process uses the value that an edit has removed, if its default does not meet a requirement")
    func removedInNewProcess() async throws {
        try await withPoolProcess(reporter) { process in
            try await process.pool.$least.set(30)
            try await process.pool.suite.checkpoint()
            try await checkValues([30, 40], afterEdit: #"{"least": 30}"#, of: process)
        }
    }

    @Test("a newer value that replaces one not saved yet is used if it meets the requirements", arguments: [10, 50])
    func droppedPendingWrite(_ edited: Int) async throws {
        try await withPoolProcess(reporter) { other in
            let faults = Faults()
            let process = PoolProcess(other.path, reporter, faults.system)
            #expect(process.pool.values == [5, 40])
            faults.fail(.write, with: ENOSPC)
            // In a task, it might be saved in the background, and fail later.
            await blocking { process.pool.least = 20 }
            #expect(process.pool.values == [20, 40])
            try process.edit(#"{"least": \#(edited), "most": 40}"#)
            // The dropped assignment is not used any more, as in other processes.
            let used = edited <= 40 ? edited : 5
            #expect(process.pool.values == [used, 40])
            faults.stop()
            try await process.pool.suite.synchronize()
            #expect(process.pool.values == [used, 40])
            var codes: Set<SettingsError.Code> = [.writeFailed, .pendingWriteDropped]
            if edited > 40 { codes.insert(.requirementNotMet) }
            // A retry may be the first to notice the edit. Then two threads report.
            await eventually("all is reported") { reporter.errors.count >= codes.count }
            #expect(reporter.errors.first?.code == .writeFailed)
            #expect(Set(reporter.errors.map(\.code)) == codes)
            #expect(reporter.errors.count == codes.count)
            process.store.close()
        }
    }

    @Test("a requirement that is added while a value is observed is checked at once")
    func addedLater() async {
        let suite = SettingsSuite.inMemory(["a": 30, "b": 3], reporter: reporter)
        let (a, b) = (Setting("a", default: 1, suite: suite), Setting("b", default: 10, suite: suite))
        let seen = ObservedChanges(of: b)
        #expect(b.value == 3)
        SettingsCatalog(a, b).require("a is at most b", a, b) { $0 <= $1 }
        await eventually("the default is delivered") { seen.new == [10] }
        #expect(reporter.errors.map(\.code) == [.requirementNotMet])
    }
}
