// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("SettingsStoreContract")
struct SettingsStoreContractTests {
    typealias Contract = SettingsStoreContract

    private static let inMemory = Contract(named: "InMemoryStore", makeStore: { InMemoryStore() })

    @Test("a store in memory keeps every clause that binds it", arguments: inMemory.clauses)
    func memory(_ clause: Contract.Clause) async {
        let violations = await Self.inMemory.violations(of: clause)
        #expect(violations == [])
    }

    @Test("a file store keeps every clause", arguments: Contract.Clause.all)
    func file(_ clause: Contract.Clause) async throws {
        try await withTemporaryDirectory { directory in
            let contract = Contract(
                named: "FileStore",
                makeStore: { FileStore(path: "\(directory)/\(UUID().uuidString)/settings.json") },
                reopen: { FileStore(path: $0.file.path) }
            )
            #expect(contract.clauses == Contract.Clause.all)
            let violations = await contract.violations(of: clause)
            #expect(violations == [])
        }
    }

    private static func faulty(_ readFailure: FaultyStore.Defect?, timeout: Duration = .seconds(10)) -> Contract {
        Contract(
            named: "FaultyStore",
            timeout: timeout,
            makeStore: { FaultyStore(readFailure) },
            reopen: FaultyStore.init(reopening:)
        )
    }

    @Test(
        "a store with one readFailure breaks the clauses that forbid it, and no others",
        arguments: FaultyStore.Defect.allCases
    )
    func defects(_ readFailure: FaultyStore.Defect) async {
        var broken: Set<Contract.Clause> = []
        for clause in Contract.Clause.all {
            let isExpected = readFailure.clauses.contains(clause)
            let isWaitedFor = readFailure.isWaitedFor && isExpected
            let contract = Self.faulty(readFailure, timeout: isWaitedFor ? .milliseconds(50) : .seconds(10))
            for _ in 0..<(readFailure.isRace && isExpected ? 20 : 1) where !broken.contains(clause) {
                if await !contract.violations(of: clause).isEmpty { broken.insert(clause) }
            }
        }
        #expect(Set(broken.map(\.name)) == Set(readFailure.clauses.map(\.name)))
    }

    @Test("a store with no readFailure breaks no clause, and there is a readFailure for each")
    func noDefect() async {
        let violations = await Self.faulty(nil).violations()
        #expect(violations == [])
        let covered = FaultyStore.Defect.allCases.reduce(into: Set()) { $0.formUnion($1.clauses) }
        #expect(covered == Set(Contract.Clause.all))
    }

    @Test("a violation tells the store, the clause and what is wrong")
    func wording() async {
        let violations = await Self.faulty(.forgetsAtClose).violations()
        let expected = "FaultyStore, closing: a store that was closed does not give its last contents"
        #expect(violations == [expected, expected])
    }

    @Test("clauses have names of their own and sentences, and those about a second store need one")
    func clauses() {
        let clauses = Contract.Clause.all
        #expect(Set(clauses.map(\.name)).count == clauses.count)
        #expect(clauses.allSatisfy { $0.sentence.hasSuffix(".") && $0.description == $0.sentence })
        #expect(Self.inMemory.clauses == clauses.filter { !$0.needsReopening })
        #expect(clauses.filter(\.needsReopening).count == 5)
        let lenient = Contract(named: "lenient", makeStore: { InMemoryStore() }, except: [.values, .watching])
        #expect(lenient.clauses == Self.inMemory.clauses.filter { $0 != .values })
    }

    @Test("a store that cannot be made, or that hangs, is a violation")
    func stuck() async {
        struct Refusal: Error {}
        let none = Contract(named: "none", makeStore: { () throws -> InMemoryStore in throw Refusal() })
        let refused = await none.violations(of: .reads)
        #expect(refused == ["it throws Refusal()"])

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
        #expect(hung == ["it does not come to an end within 0.04 seconds"])
    }
}
