// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("SettingsStoreContract")
struct SettingsStoreContractTests {
    typealias Contract = SettingsStoreContract

    private static let inMemory = Contract(
        named: "InMemoryStore",
        timeout: noTimeout / 4,
        makeStore: { InMemoryStore() }
    )

    @Test("an in-memory store satisfies every clause that applies to it", arguments: inMemory.clauses)
    func memory(_ clause: Contract.Clause) async {
        let violations = await Self.inMemory.violations(of: clause)
        #expect(violations == [])
    }

    @Test("a file store satisfies every clause", arguments: Contract.Clause.all)
    func file(_ clause: Contract.Clause) async throws {
        try await withTemporaryDirectory { directory in
            let contract = Contract(
                named: "FileStore",
                timeout: noTimeout / 4,
                makeStore: { FileStore(path: "\(directory)/\(UUID().uuidString)/settings.json") },
                reopen: { FileStore(path: $0.file.path) }
            )
            #expect(contract.clauses == Contract.Clause.all)
            let violations = await contract.violations(of: clause)
            #expect(violations == [])
        }
    }

    @Test("a value that is set has the same form in memory, from a file and from a file that is read again")
    func form() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let values: [String: StoredValue] = [
                "date": .date(Date(timeIntervalSinceReferenceDate: 0.1)), "data": .data(Data([1, 2])),
                "nan": .double(.nan),
                "nested": [["a": .date(.distantPast)], .double(.infinity)], "number": 1.5, "text": "text",
                "null": .null,
            ]
            let (memory, file) = (InMemoryStore(), makeStore(path))
            for store in [memory, file] as [any SettingsStore] {
                for (key, value) in values { try store.commit { $0[key] = value } }
            }
            #expect(memory.contents() == file.contents())
            #expect(try memory.write(.date(.distantPast), forKey: "date", mayWait: false))
            try file.commit { $0["date"] = .date(.distantPast) }
            file.close()
            #expect(memory.contents() == makeStore(path).contents())
        }
    }

    private static func faulty(_ fault: FaultyStore.Fault?, timeout: Duration = noTimeout / 4) -> Contract {
        Contract(
            named: "FaultyStore",
            timeout: timeout,
            makeStore: { FaultyStore(fault) },
            reopen: FaultyStore.init(reopening:)
        )
    }

    @Test(
        "a store with one fault violates exactly the clauses that forbid it",
        arguments: FaultyStore.Fault.allCases.sampled(6)
    )
    func singleFault(_ fault: FaultyStore.Fault) async {
        var violated: Set<Contract.Clause> = []
        for clause in Contract.Clause.all {
            let isExpected = fault.clauses.contains(clause)
            let isTimeout = fault.isTimeout && isExpected
            let contract = Self.faulty(fault, timeout: isTimeout ? .milliseconds(50) : noTimeout / 4)
            for _ in 0..<(fault.isRace && isExpected ? 20 : 1) where !violated.contains(clause) {
                if await !contract.violations(of: clause).isEmpty { violated.insert(clause) }
            }
        }
        #expect(Set(violated.map(\.name)) == Set(fault.clauses.map(\.name)))
    }

    @Test("a store without a fault violates no clause, and every clause has a fault")
    func noFault() async {
        let violations = await Self.faulty(nil).violations()
        #expect(violations == [])
        let covered = FaultyStore.Fault.allCases.reduce(into: Set()) { $0.formUnion($1.clauses) }
        #expect(covered == Set(Contract.Clause.all))
    }

    @Test("a violation names the store, the clause and the failure")
    func wording() async {
        let violations = await Self.faulty(.forgetsAtClose).violations()
        let expected = "FaultyStore, closing: a closed store does not return its last contents"
        #expect(violations == [expected, expected])
    }

    @Test("clauses have unique names and end with a period, and clauses about a second store require one")
    func clauses() {
        let clauses = Contract.Clause.all
        #expect(Set(clauses.map(\.name)).count == clauses.count)
        #expect(clauses.allSatisfy { $0.sentence.hasSuffix(".") && $0.description == $0.sentence })
        #expect(Self.inMemory.clauses == clauses.filter { !$0.needsReopening })
        #expect(clauses.filter(\.needsReopening).count == 5)
        let lenient = Contract(named: "lenient", makeStore: { InMemoryStore() }, except: [.values, .watching])
        #expect(lenient.clauses == Self.inMemory.clauses.filter { $0 != .values })
    }

    @Test("a store that cannot be created, or that hangs, is a violation")
    func stuck() async {
        struct Refusal: Error {}
        let none = Contract(named: "none", makeStore: { () throws -> InMemoryStore in throw Refusal() })
        let refused = await none.violations(of: .reads)
        #expect(refused == ["the check throws Refusal()"])

        let end = DispatchSemaphore(value: 0)
        defer { end.signal() }
        let hanging = Contract(
            named: "hanging",
            timeout: .milliseconds(10),
            makeStore: {
                end.wait()
                return InMemoryStore()
            }
        )
        let hung = await hanging.violations(of: .reads)
        #expect(hung == ["the check does not finish within 0.04 seconds"])
    }
}
