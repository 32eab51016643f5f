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

    private struct Pool {
        let suite: SettingsSuite
        @DefaultStorage var least: Int
        @DefaultStorage var most: Int
        let catalog: SettingsCatalog

        init(_ suite: SettingsSuite) {
            self.suite = suite
            _least = DefaultStorage(wrappedValue: 1, key: "least", suite: suite, in: 0...1_000)
            _most = DefaultStorage(wrappedValue: 10, key: "most", suite: suite, in: 0...1_000)
            catalog = SettingsCatalog(_least, _most)
            catalog.require("least is at most most", $least, $most) { $0 <= $1 }
        }

        var values: [Int] { [least, most] }
    }

    private func pool(_ values: [String: StoredValue] = [:], _ overrides: [SettingsOverride] = []) -> Pool {
        Pool(.inMemory(values, overrides: overrides, reporter: reporter))
    }

    /// Runs a body with a pool in a file.
    private func withFile(_ body: (_ path: String, _ open: () -> (FileStore, Pool)) async throws -> Void) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            let path = directory + "/settings.json"
            try await body(path) {
                let store = FileStore(path: FilePath(path), checkpointsInBackground: false)
                return (store, Pool(SettingsSuite(store: store, reporter: reporter)))
            }
        }
    }

    private static let writes: [(name: String, change: @Sendable (Pool) async throws -> Void)] = [
        ("set", { try $0.$least.set(20) }),
        ("async set", { try await $0.$least.async.set(20) }),
        ("update", { try $0.$least.update { $0 = 20 } }),
        ("async update", { try await $0.$least.async.update { $0 = 20 } }),
        ("transaction", { pool in try pool.suite.transaction { $0[pool.$least] = 20 } }),
        ("stored value", { try $0.suite.setStoredValue(20, forKey: "least") }),
        ("text", { try $0.catalog["least"]?.set(text: "20") }),
        ("remove", { try $0.$most.remove() }),
        ("reset", { try $0.suite.reset("most") }),
        ("removeAll", { pool in try pool.suite.transaction { $0.reset("most") } }),
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
        try pool.$most.set(30)
        try pool.$least.set(5)
        if name != "remove", !name.hasPrefix("re") { try await change(pool) }
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

    @Test("a transaction may change several values, of which each alone would not meet the requirement")
    func together() throws {
        let pool = pool()
        try pool.suite.transaction {
            $0[pool.$least] = 100
            $0[pool.$most] = 200
        }
        #expect(pool.values == [100, 200])
        try pool.suite.removeAll()
        #expect(pool.values == [1, 10])
    }

    @Test("other settings are not concerned")
    func unrelated() throws {
        let pool = pool()
        let checks = Mutex(0)
        pool.catalog.require("counted", pool.$least, pool.$most) { _, _ in
            checks.withLock { $0 += 1 }
            return true
        }
        try pool.suite.setStoredValue(1, forKey: "other")
        try pool.suite.transaction { try $0.setStoredValue(2, forKey: "other") }
        #expect(checks.withLock { $0 } == 0)
        try pool.$least.set(2)
        #expect(checks.withLock { $0 } == 1)
    }

    private final class Violations: Sendable {
        private let count = Mutex(0)

        func add(_ number: Int) { count.withLock { $0 += number } }

        var value: Int { count.withLock { $0 } }
    }

    /// Uses up the room between the values, from one side.
    ///
    /// - Returns: The number of violations of the requirement.
    private static func compete(_ pool: Pool, isFirst: Bool) -> Int {
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

    @Test("threads that change two values never violate the requirement, and no accepted set is lost")
    func threads() async throws {
        try await withFile { path, open in
            let (_, first) = open()
            let (_, second) = open()
            let violations = Violations()
            await withTaskGroup(of: Void.self) { group in
                for (index, pool) in [first, second].enumerated() {
                    group.addTask { await onThread { violations.add(Self.compete(pool, isFirst: index == 0)) } }
                }
            }
            #expect(violations.value == 0)
            first.suite.finish()
            second.suite.finish()
        }
    }

    @Test("an edit that does not meet a requirement leaves the last good values of all its settings in use")
    func edited() async throws {
        try await withFile { path, open in
            let (store, pool) = open()
            try pool.$most.set(40)
            try pool.$least.set(30)
            try pool.suite.checkpoint()
            // Of these values, only one has been read.
            #expect(pool.most == 40)
            for text in [#"{"least": 30, "most": 5}"#, #"{"least": 50, "most": 5}"#, #"{"least": 50}"#] {
                try path.replaceFile(with: text)
                store.look()
                #expect(pool.values == [30, 40], "\(text)")
                #expect(try path.fileContents == text)
            }
            #expect(reporter.errors.map(\.code) == [.requirementNotMet])
            let error = try #require(reporter.errors.first)
            #expect(error.location?.line == 1)
            #expect(error.consequence == "the last good values are used, and the stored values are left as they are")
            let explanation = pool.$least.explain()
            #expect(explanation.layer == .lastGood)
            #expect(explanation.value == 30)
            #expect(explanation.problem?.code == .requirementNotMet)

            // A change of one value that does not correct the stored ones is rejected: it would not be used.
            #expect(throws: SettingsError(.requirementNotMet, fact: "")) { try pool.$least.set(35) }
            try path.replaceFile(with: #"{"least": 3, "most": 5}"#)
            store.look()
            #expect(pool.values == [3, 5])
            #expect(reporter.recoveries.map(\.code) == [.requirementNotMet])
        }
    }

    @Test("a new process uses the last good values, from the last good copy")
    func newProcess() async throws {
        try await withFile { path, open in
            let (_, pool) = open()
            try pool.$most.set(40)
            try pool.$least.set(30)
            pool.suite.finish()
            try path.replaceFile(with: #"{"least": 30, "most": 5}"#)
            for step in 1...3 {
                let (_, next) = open()
                #expect(next.values == [30, 40], "\(step)")
                // A checkpoint retains them.
                try next.suite.setStoredValue(.integer(Int128(step)), forKey: "other")
                next.suite.finish()
            }
        }
    }

    @Test("without last good values, the defaults are used; if these do not meet it, the stored values are")
    func defaults() {
        let pool = pool(["least": 50, "most": 5])
        #expect(pool.values == [1, 10])
        #expect(pool.$least.explain().layer == .default)
        #expect(pool.$least.explain().problem?.code == .requirementNotMet)
        #expect(
            reporter.errors.map(\.consequence) == ["the defaults are used, and the stored values are left as they are"]
        )
        pool.catalog.require("the sum is 1000", pool.$least, pool.$most) { $0 + $1 == 1_000 }
        #expect(pool.least == 1)
        #expect(reporter.errors.last?.fact.contains("the sum is 1000") == true)
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
        #expect(throws: SettingsError(.requirementNotMet, fact: "")) { try pool.$least.set(3) }
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

    @Test("a requirement holds no suite")
    func released() throws {
        weak var engine: SettingsEngine?
        do {
            let pool = pool()
            #expect(pool.values == [1, 10])
            engine = pool.suite.engine
        }
        #expect(engine == nil)
    }

    @Test("a stream of several settings receives the values that meet the requirement")
    func streams() async throws {
        try await withFile { path, open in
            let (store, pool) = open()
            try pool.$most.set(40)
            try pool.suite.checkpoint()
            var values = pool.suite.values(of: pool.$least, pool.$most).makeAsyncIterator()
            #expect(try #require(await values.next()) == (1, 40))
            try path.replaceFile(with: #"{"least": 30, "most": 5}"#)
            store.look()
            try path.replaceFile(with: #"{"least": 4, "most": 5}"#)
            store.look()
            #expect(try #require(await values.next()) == (4, 5))
        }
    }
}
