// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A change from outside is used when its requirements are met".

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Requirements on edited files, and on changes of other programs", .deadlockLimit)
struct HeldValuesTests {
    private let reporter = RecordingReporter()

    private static let unmet = "{\n  \"least\": 30,\n  \"most\": 3\n}"

    @Test(
        "values of an edit that do not meet a requirement are not used, explained, reported once, and listed by validate"
    )
    func edited() async throws {
        try await withPoolProcess(reporter) { process in
            let pool = process.pool
            #expect(pool.values == [5, 40])
            try process.edit(Self.unmet)
            #expect(pool.values == [5, 40])
            #expect(pool.suite.snapshot() == ["least": 5, "most": 40])
            let explanation = pool.$most.explain()
            #expect(explanation.layer == .lastGood)
            let error = try #require(explanation.problem)
            #expect(error.code == .requirementNotMet)
            #expect(error.location?.line == 2)
            #expect(error.consequence.contains("the last values that meet it are used"))
            #expect(pool.catalog.findProblems().errors.map(\.message) == [error.message])
            #expect(reporter.errors.map(\.message) == [error.message])
            // With the value that is used instead of 3, this one meets the requirement.
            try process.edit(Self.unmet.replacing("30", with: "31"))
            #expect(pool.values == [31, 40])
            #expect(reporter.errors.count == 1)
            try process.edit(Self.unmet.replacing("30", with: "41"))
            #expect(pool.values == [31, 40])
            #expect(reporter.errors.count == 1)
            #expect(try process.path.fileContents == Self.unmet.replacing("30", with: "41"))
        }
    }

    @Test("a secret that is used instead of one that does not meet a requirement is in no file")
    func secret() async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            let store = FileStore(path: path, checkpointsInBackground: false)
            let suite = SettingsSuite(store: store, reporter: reporter)
            let token = Setting("token", default: "", suite: suite, traits: .secret)
            let length = Setting("length", default: 0, suite: suite)
            let catalog = SettingsCatalog(token, length)
            catalog.require("the token has its length", token, length) { $0.utf8.count == $1 }
            try await suite.transaction { ($0[token], $0[length]) = ("s3cret", 6) }
            try await suite.checkpoint()
            try path.replaceFile(with: #"{"token": "another one", "length": 3}"#)
            store.look()
            #expect(token.value == "s3cret")
            for number in 1...2 {
                try await suite.setStoredValue(.integer(Int128(number)), forKey: "other")
                try await suite.checkpoint()
            }
            #expect(token.value == "s3cret")
            // The set of another setting of the requirement does not store it again.
            try await length.set(6)
            try await suite.checkpoint()
            #expect(token.value == "s3cret" && suite[storedValueFor: "length"] == 6)
            for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
                #expect(bytes.range(of: Data("s3cret".utf8)) == nil, "\(name)")
            }
        }
    }

    @Test(
        "a set is checked with the values that are used, which it stores unless the stored ones meet the requirements with it",
        arguments: [(6, 40), (2, 3)]
    )
    func set(least: Int, most: Int) async throws {
        try await withPoolProcess(reporter) { process in
            let pool = process.pool
            try process.edit(Self.unmet)
            expectError(.requirementNotMet) { try pool.$least.set(41) }
            try await pool.$least.set(least)
            #expect(pool.values == [least, most])
            #expect(pool.suite.snapshot() == ["least": .integer(Int128(least)), "most": .integer(Int128(most))])
            #expect(process.store.contents() == pool.suite.snapshot())
            #expect(reporter.recoveries.map(\.code) == [.requirementNotMet])
        }
    }

    @Test("updates and transactions work on the values that are used")
    func updated() async throws {
        try await withPoolProcess(reporter) { process in
            let pool = process.pool
            try process.edit(Self.unmet)
            expectError(.requirementNotMet) { try pool.$least.update { $0 += 36 } }
            try await pool.$most.update { $0 += 1 }
            #expect(process.store.contents() == ["least": 30, "most": 41])
            // Now both stored values are valid.
            #expect(pool.values == [30, 41])
            try await pool.suite.checkpoint()
            try process.edit(Self.unmet)
            try await pool.suite.transaction {
                #expect($0[pool.$least] == 30)
                #expect($0[pool.$most] == 41)
                #expect($0[storedValueFor: "most"] == 3)
                $0[pool.$least] = 7
                #expect($0[pool.$least] == 7)
            }
            #expect(pool.values == [7, 41])
        }
    }

    @Test("streams and observers receive only values that meet the requirements, those of one edit together")
    func observed() async throws {
        try await withPoolProcess(reporter) { process in
            let pool = process.pool
            let seen = Mutex<[[Int]]>([])
            let observations = [pool.$least, pool.$most]
                .map { setting in
                    setting.observe { _ in seen.withLock { $0.append(pool.values) } }
                }
            try process.edit(#"{"least": 60, "most": 40}"#)
            #expect(pool.values == [5, 40])
            try process.edit(#"{"least": 60, "most": 70}"#)
            await eventually("both changes are delivered") { seen.withLock { $0.count } == 2 }
            #expect(seen.withLock { $0 } == [[60, 70], [60, 70]])
            #expect(pool.$least.explain().problem == nil)
            #expect(reporter.errors.count == 1)
            await eventually("the recovery is reported") { reporter.recoveries.map(\.code) == [.requirementNotMet] }
            withExtendedLifetime(observations) {}
        }
    }

    @Test("values that were replaced for one requirement meet the others, too")
    func chained() async throws {
        try await withPoolProcess(reporter) { process in
            let pool = process.pool
            // The new limit would be too low for the value of `most` that is used instead of 3.
            try process.edit(#"{"least": 30, "most": 3, "limit": 20}"#)
            #expect(pool.values + [process.limit.value] == [5, 40, 900])
            try process.edit(#"{"least": 2, "most": 3, "limit": 20}"#)
            #expect(pool.values + [process.limit.value] == [2, 3, 20])
        }
    }

    @Test(
        "a new process uses the last good copy, also after a checkpoint, and then the defaults",
        arguments: [true, false]
    )
    func restarted(hasCopy: Bool) async throws {
        try await withPoolProcess(reporter) { process in
            try process.edit(Self.unmet)
            #expect(process.pool.values == [5, 40])
            try await checkpoint(process.pool.suite, with: 1)
            if !hasCopy { try FileManager.default.removeItem(atPath: process.path + ".last-good") }
            let later = PoolProcess(process.path, reporter)
            #expect(later.pool.values == (hasCopy ? [5, 40] : [1, 10]))
            #expect(later.store.contents()["most"] == 3)
            later.store.close()
        }
    }

    @Test("without any values that meet it, the values are used as they are")
    func impossible() async throws {
        try await withPoolProcess(reporter) { process in
            let pool = process.pool
            #expect(pool.values == [5, 40])
            pool.catalog.require("impossible", pool.$least, pool.$most) { _, _ in false }
            #expect(pool.values == [5, 40])
            #expect(reporter.errors.map(\.consequence) == ["the values are used as they are"])
            #expect(pool.$most.explain().layer == .store)
        }
    }

    @Test("the requirements are checked after a change of a layer", arguments: [true, false])
    func layered(isOverride: Bool) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/layer.json"
            try path.writeLayer(#"{"most": 40}"#)
            let pool = PoolSettings(
                .inMemory(
                    ["least": 5],
                    sources: [isOverride ? .managed(path) : .file(path)],
                    reporter: reporter
                )
            )
            let seen = ObservedChanges(of: pool.$least)
            #expect(pool.values == [5, 40])
            try path.replaceFile(with: #"{"most": 3}"#)
            await eventually("the default is used") { pool.values == [1, 3] }
            await eventually("the error is reported") { reporter.errors.map(\.code) == [.requirementNotMet] }
            // Otherwise, an observer that runs late would find no change.
            await eventually("the first change is delivered") { seen.new == [1] }
            try path.replaceFile(with: #"{"most": 50}"#)
            await eventually("the stored value is used again") { pool.values == [5, 50] }
            await eventually("the recovery is reported") { reporter.recoveries.count == 1 }
            await eventually("both changes are delivered") { seen.new == [1, 5] }
        }
    }

    @Test("while an unusable value is checked, the value before it stays in use, and observers receive no other one")
    func unusableBefore() async throws {
        try await withPoolProcess(reporter) { process in
            let seen = ObservedChanges(of: process.pool.$most)
            try process.edit(#"{"least": 5, "most": 5000}"#)
            #expect(process.pool.values == [5, 40])
            try process.edit(#"{"least": 576, "most": 464}"#)
            #expect(process.pool.values == [5, 40])
            try process.edit(#"{"least": 576, "most": 3}"#)
            #expect(process.pool.values == [5, 40])
            #expect(seen.pairs.isEmpty)
            try process.edit(#"{"least": 6, "most": 41}"#)
            await eventually("the correction is delivered") { seen.pairs == [[40, 41]] }
        }
    }

    @Test("a set or a removal that equals the unused stored value is used in every process", arguments: [30, nil])
    func assignedAgain(value: Int?) async throws {
        try await withPoolProcess(reporter) { process in
            let other = PoolProcess(process.path, reporter)
            let text = value == nil ? #"{"most": 0}"# : #"{"least": 30, "most": 3}"#
            for process in [process, other] {
                #expect(process.pool.values == [5, 40])
                try process.edit(text)
                process.store.lookAndWait()
                #expect(process.pool.values == [5, 40])
            }
            let seen = ObservedChanges(of: process.pool.$least)
            if let value { try await other.pool.$least.set(value) } else { try await other.pool.$least.reset() }
            let expected = [value ?? 1, 40]
            #expect(other.pool.values == expected)
            #expect(process.pool.values == expected)
            await eventually("the observer receives it") { seen.new == [value ?? 1] }
            try await process.pool.$least.update { $0 += 1 }
            #expect(other.pool.values == [expected[0] + 1, 40])
            other.store.close()
        }
    }

    @Test(
        "a new process uses an equal value that was set, and the last good values after several edits",
        arguments: 0...3
    )
    func restartedLater(kind: Int) async throws {
        try await withPoolProcess(reporter) { process in
            let pool = process.pool
            #expect(pool.values == [5, 40])
            var expected = [5, 40]
            switch kind {
            case 0:
                try process.edit(Self.unmet)
                #expect(pool.values == expected)
                try await pool.$least.set(30)
                expected = [30, 40]
            case 1:
                for number in 1...6 {
                    try process.edit("{\"least\": \(40 + number), \"most\": \(number)}")
                    #expect(pool.values == expected)
                }
            case 2:
                try process.edit(#"{"least": 5, "most": 5000}"#)
                #expect(pool.values == expected)
                try process.edit(#"{"least": 50, "most": 3}"#)
            default:
                try process.edit(#"{"least": 50, "most": 3}"#)
                #expect(pool.values == expected)
                try process.edit(#"{"least": 50, "most": 5000}"#)
            }
            #expect(pool.values == expected)
            try await checkpoint(pool.suite, with: 1)
            #expect(pool.values == expected)
            let later = PoolProcess(process.path, reporter)
            #expect(later.pool.values == expected)
            later.store.close()
        }
    }

    @Test(
        "a set of another process is used, also if an edit or a checkpoint is noticed at the same time",
        arguments: 0...2
    )
    func setBesideEdit(kind: Int) async throws {
        try await withPoolProcess(reporter) { process in
            let other = PoolProcess(process.path, reporter)
            for process in [process, other] { #expect(process.pool.values == [5, 40]) }
            try other.edit(kind == 0 ? #"{"least": 5, "most": 3}"# : Self.unmet)
            #expect(other.pool.values == [5, 40])
            if kind > 0 { process.store.lookAndWait() }
            if kind > 0 { #expect(process.pool.values == [5, 40]) }
            try await other.pool.$least.set(30)
            #expect(other.pool.values == [30, 40])
            if kind == 2 {
                // The record is gone before the process reads it.
                for number in 1...2 {
                    try await checkpoint(other.pool.suite, with: .integer(Int128(number)))
                }
            }
            process.store.lookAndWait()
            #expect(process.pool.values == [30, 40])
            try await process.pool.$least.update { $0 += 1 }
            for process in [process, other] { #expect(process.pool.values == [31, 40]) }
            other.store.close()
        }
    }

    /// Makes a checkpoint of a change of another key.
    private func checkpoint(_ suite: SettingsSuite, with value: StoredValue) async throws {
        try await suite.setStoredValue(value, forKey: "other")
        try await suite.checkpoint()
    }

    /// Stores `limit`, and makes a checkpoint.
    private func setLimit(_ process: PoolProcess) async throws {
        try await process.limit.set(900)
        try await process.pool.suite.checkpoint()
        #expect(process.values == [5, 40, 900])
    }

    @Test(
        "an unusable value after one that violated a requirement is replaced by the value in use, also after an explanation",
        arguments: [false, true]
    )
    func unusableAfterUnmet(isExplained: Bool) async throws {
        try await withPoolProcess(reporter) { process in
            try await setLimit(process)
            let seen = ObservedChanges(of: process.limit)
            try process.edit(#"{"least": 5, "most": 40, "limit": 14}"#)
            #expect(process.values == [5, 40, 900])
            if !isExplained {
                try await checkpoint(process.pool.suite, with: 1)
            }
            try process.edit(#"{"least": 5, "most": 40, "limit": "bad"}"#)
            #expect(process.values == [5, 40, 900])
            if isExplained { _ = process.pool.$most.explain() }
            try await checkpoint(process.pool.suite, with: 2)
            #expect(process.values == [5, 40, 900])
            #expect(seen.pairs.isEmpty)
            let later = PoolProcess(process.path, reporter)
            #expect(later.values == [5, 40, 900])
            later.store.close()
        }
    }

    @Test("an unusable value in the copy is not what a new process uses")
    func unusableInCopy() async throws {
        try await withPoolProcess(reporter) { process in
            try process.edit(#"{"least": 5, "most": 5000}"#)
            #expect(process.pool.values == [5, 40])
            try await checkpoint(process.pool.suite, with: 1)
            process.store.close()
            try process.path.replaceFile(with: #"{"least": 50, "most": 6000, "other": 1}"#)
            for number in 2...3 {
                let later = PoolProcess(process.path, reporter)
                #expect(later.pool.values == [5, 40])
                try await checkpoint(later.pool.suite, with: .integer(Int128(number)))
                later.store.close()
            }
        }
    }

    @Test("a raw set of the unusable stored value changes no value in use")
    func unusableAgain() async throws {
        try await withPoolProcess(reporter) { process in
            try process.edit(#"{"least": 22, "most": 5000}"#)
            #expect(process.pool.values == [22, 40])
            try await checkpoint(process.pool.suite, with: 1)
            let later = PoolProcess(process.path, reporter)
            #expect(later.pool.values == [22, 40])
            try await later.pool.suite.setStoredValue(5_000, forKey: "most")
            #expect(later.pool.values == [22, 40])
            process.store.lookAndWait()
            #expect(process.pool.values == [22, 40])
            later.store.close()
        }
    }

    @Test("an edit that a process has noticed earlier does not hide the set of another one")
    func setAfterNoticedEdit() async throws {
        try await withPoolProcess(reporter) { process in
            let other = PoolProcess(process.path, reporter)
            #expect(other.pool.values == [5, 40])
            try other.edit(#"{"least": 20, "most": 40}"#)
            #expect(other.pool.values == [20, 40])
            try await process.pool.$most.set(9)
            #expect(other.pool.values == [5, 9])
            other.store.close()
        }
    }

    @Test(
        "an assignment that does not meet a requirement does not become the value that is used instead of an unusable one"
    )
    func rejected() async throws {
        let pool = PoolSettings(.inMemory(reporter: reporter))
        try await pool.suite.setStoredValue(5_000, forKey: "least")
        #expect(pool.values == [1, 10])
        pool.least = 500
        #expect(reporter.errors.last?.code == .requirementNotMet)
        try await pool.suite.setStoredValue(1, forKey: "other")
        #expect(pool.values == [1, 10])
        #expect(pool.$least.explain().value == 1)
    }

    @Test("a check sees the values of one version of a file", arguments: 0..<6)
    func replacedFile(validationsBefore: Int) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/layer.json"
            try path.writeLayer(#"{"a": 1, "b": 1}"#)
            let suite = SettingsSuite.inMemory(sources: [.stored, .file(path)], reporter: reporter)
            @Sendable func replace(_ number: Int) throws {
                try path.replaceFile(with: "{\"a\": \(number), \"b\": \(number)}")
                for files in suite.engine.layerFiles.withLock(\.self) { files.look() }
            }
            let countdown = Mutex<Int?>(nil)
            // Replaces the file between the readings of the two values.
            let a = Setting("a", default: 0, suite: suite) { _ in
                let isDue = countdown.withLock { count in
                    count = count.map { $0 - 1 }
                    return count == -1
                }
                if isDue { try replace(3) }
                return true
            }
            let b = Setting("b", default: 0, suite: suite)
            let c = Setting("c", default: 0, suite: suite)
            SettingsCatalog(a, b, c).require("a is b", a, b, c) { a, b, _ in a == b }
            #expect(a.value == b.value)
            try replace(2)
            countdown.withLock { $0 = validationsBefore }
            try await c.set(5)
            #expect(c.value == 5)
            #expect(reporter.errors.isEmpty)
        }
    }
}
