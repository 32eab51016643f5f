// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Structures of several sources")
struct MergedStructureTests {
    private let reporter = RecordingReporter()

    private struct Limits: Codable, Equatable, StoredValueConvertible {
        var perSecond = 1_000
        var burst = 100
        var window: Int? = 60
    }

    private enum Mode: Codable, Equatable {
        case off
        case fixed(size: Int)
        case paced(rate: Int, burst: Int)
    }

    private struct Server: Codable, Equatable, StoredValueConvertible {
        var name = "api"
        var limits = Limits()
        var backup: Limits?
        var labels = ["team": "core"]
        var hosts = ["a", "b"]
        var mode = Mode.paced(rate: 5, burst: 2)
        var note: String? = "n"
    }

    /// A case of the table, which `.ci/check-merging` compares with pydantic-settings.
    private struct Case {
        let name: String
        let sources: [(kind: String, value: StoredValue)]
        let value: StoredValue
        let isReported: Bool

        init(_ stored: StoredValue) throws {
            name = try #require(stored["name"]).as()
            sources = try #require(stored["sources"]).as([StoredValue].self)
                .map { (try #require($0[0]).as(), try #require($0[1])) }
            value = try #require(stored["value"])
            isReported = stored["pydantic"] == "ValidationError"
        }

        static var all: [Case] {
            get throws {
                let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/MergingCases.json"
                return try JSONReader.read(Array(path.fileContents.utf8)).as([StoredValue].self).map(Case.init)
            }
        }

        /// Creates the sources, and the values that are stored.
        func makeSources(in directory: String) throws -> ([SettingsSource], [String: StoredValue]) {
            var stored: [String: StoredValue] = [:]
            let sources = try sources.map { kind, value -> SettingsSource in
                let text = value.jsonText
                let file = "\(directory)/\(kind).json"
                switch kind {
                case "flag": return .commandLine(["--server=\(text)"])
                case "variable": return .environment(["ACME_SERVER": text], prefix: "ACME_")
                case "secret":
                    try "\(directory)/secrets/server".writeLayer(text)
                    return .secrets(directory: "\(directory)/secrets")
                case "stored":
                    stored["server"] = value
                    return .stored
                case "suite": return .suite(.inMemory(["server": value]))
                case "directory":
                    try "\(directory)/settings.d/10.json".writeLayer(#"{"server": \#(text)}"#)
                    return .directory("\(directory)/settings.d")
                default:
                    try file.writeLayer(#"{"server": \#(text)}"#)
                    return kind == "managed" ? .managed(file) : .file(file)
                }
            }
            return (sources, stored)
        }
    }

    @Test("a member is taken from the highest source that has it, as the table of cases says")
    func table() async throws {
        let cases = try Case.all
        #expect(cases.count >= 60)
        for example in cases {
            try await withTemporaryDirectory { directory in
                let reporter = RecordingReporter()
                let (sources, stored) = try example.makeSources(in: directory)
                let suite = SettingsSuite.inMemory(stored, sources: sources, reporter: reporter)
                let server = Setting("server", default: Server(), suite: suite)
                #expect(try server.value.storedValue() == example.value, "\(example.name)")
                #expect(server.explain().value == server.value, "\(example.name)")
                #expect(reporter.errors.isEmpty != example.isReported, "\(example.name): \(reporter.errors)")
            }
        }
    }

    @Test("a member that cannot be read is reported with its place, and taken from the next source")
    func unusableMember() async throws {
        try await withTemporaryDirectory { directory in
            let (first, second) = ("\(directory)/settings.d/10.json", "\(directory)/settings.d/20.json")
            try first.writeLayer(#"{"limits": {"burst": 8}}"#)
            try second.writeLayer("{\"limits\": {\"perSecond\": 7,\n\"burst\": \"many\"}}")
            let suite = SettingsSuite.inMemory(sources: [.directory("\(directory)/settings.d")], reporter: reporter)
            let limits = Setting("limits", default: Limits(), suite: suite)
            #expect(limits.value == Limits(perSecond: 7, burst: 8))
            let error = try #require(reporter.errors.first)
            #expect(reporter.errors.count == 1)
            #expect(error.path == [.key("burst")] && error.location?.file == second, "\(error)")
            #expect(error.consequence == "the member is ignored, and that of the next layer is used")
            #expect(SettingsCatalog(limits).findProblems().errors.map(\.path) == [[.key("burst")]])
        }
    }

    @Test(
        "the highest source that contributes to a rejected value is left out and reported, until the value is accepted"
    )
    func rejected() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.d/20.json"
            try "\(directory)/settings.d/10.json".writeLayer(#"{"limits": {"burst": 50}}"#)
            try path.writeLayer(#"{"limits": {"perSecond": 40}}"#)
            let suite = SettingsSuite.inMemory(
                sources: [.stored, .directory("\(directory)/settings.d")],
                reporter: reporter
            )
            let limits = Setting("limits", default: Limits(), suite: suite) { $0.burst <= $0.perSecond }
            #expect(limits.value == Limits(burst: 50))
            #expect(reporter.errors.map(\.code) == [.validationFailed])
            #expect(reporter.errors.first?.location?.file == path)
            await expectError(.validationFailed) { try await limits.update { $0.perSecond = 30 } }
            #expect(!limits.isSet)
            try await limits.update { $0.burst = 20 }
            #expect(suite[storedValueFor: "limits"] == ["burst": 20])
        }
    }

    @Test(
        "a set stores all members and an update those that it changes, so that later files still decide about the others"
    )
    func storedMembers() async throws {
        let fleet = SettingsSuite.inMemory(["limits": ["burst": 5, "windowMs": 1]])
        let suite = SettingsSuite.inMemory(sources: [.stored, .suite(fleet)], reporter: reporter)
        let limits = Setting("limits", default: Limits(), suite: suite)
        try await limits.update { $0.perSecond += 1 }
        #expect(suite[storedValueFor: "limits"] == ["perSecond": 1_001])
        try await fleet.setStoredValue(["burst": 6], forKey: "limits")
        #expect(limits.value == Limits(perSecond: 1_001, burst: 6))
        try await suite.transaction { $0[limits].window = nil }
        #expect(suite[storedValueFor: "limits"] == ["perSecond": 1_001, "window": nil])
        limits.value.burst = 7
        #expect(suite[storedValueFor: "limits"] == ["perSecond": 1_001, "burst": 7, "window": nil])
        #expect(limits.value == Limits(perSecond: 1_001, burst: 7, window: nil))
        try await limits.set(Limits(window: nil))
        #expect(suite[storedValueFor: "limits"] == ["perSecond": 1_000, "burst": 100, "window": nil])
        try await fleet.setStoredValue(["burst": 8, "window": 9], forKey: "limits")
        #expect(limits.value == Limits(window: nil))
        #expect(reporter.errors.isEmpty)
    }

    @Test("a member that only a newer version knows survives an update")
    func newerMember() async throws {
        let suite = SettingsSuite.inMemory(["limits": ["burst": 5, "windowMs": 1]], reporter: reporter)
        let limits = Setting("limits", default: Limits(), suite: suite)
        try await limits.update { $0.burst = 6 }
        try await SettingsCatalog(limits)[0].set(text: "perSecond=9")
        #expect(suite[storedValueFor: "limits"] == ["burst": 6, "perSecond": 9, "windowMs": 1])
    }

    @Test("an explanation names the source of each member")
    func explanation() throws {
        let suite = SettingsSuite.inMemory(
            ["server": ["limits": ["perSecond": 2], "name": "x"]],
            sources: [.environment(["ACME_SERVER": #"{"limits": {"burst": 1}}"#], prefix: "ACME_")],
            reporter: reporter
        )
        let explanation = Setting("server", default: Server(), suite: suite).explain()
        #expect(explanation.layer == .environment)
        let members = Dictionary(uniqueKeysWithValues: explanation.members.map { ($0.name, $0.layer) })
        #expect(members["limits.burst"] == .environment && members["limits.perSecond"] == .store)
        #expect(members["name"] == .store && members["limits.window"] == .default && members["labels"] == .default)
        #expect(explanation.description.contains(", limits.perSecond from the store"), "\(explanation)")
        #expect(Setting("port", default: 1, suite: suite).explain().members.isEmpty)
    }

    @Test("a structure with the trait is taken as a whole, and takes nothing from the default")
    func whole() {
        let suite = SettingsSuite.inMemory(
            ["a": ["id": 7], "limits": ["burst": 1, "perSecond": 2]],
            sources: [.commandLine(["--limits", "perSecond=3,burst=4"])],
            reporter: reporter
        )
        let either = Setting("a", default: Either.full(.init(id: 1, label: "d")), suite: suite, traits: .whole)
        #expect(either.value == .short(.init(id: 7)))
        #expect(
            Setting("limits", default: Limits(), suite: suite, traits: .whole).value
                == Limits(perSecond: 3, burst: 4, window: nil)
        )
    }

    @Test("a member under an older name is not hidden by the default or a lower source under the new one")
    func olderNames() {
        let fleet = SettingsSuite.inMemory(["key": ["oldLevel": 5, "size": 6]])
        let suite = SettingsSuite.inMemory(
            ["key": ["oldLevel": 7, "oldSize": 8]],
            sources: [.environment(["ACME_KEY": "extra=9"], prefix: "ACME_"), .stored, .suite(fleet)],
            reporter: reporter
        )
        #expect(Setting("key", default: Renamed(), suite: suite).value == Renamed(level: 7, size: 8, extra: 9))
        #expect(reporter.errors.isEmpty)
    }

    @Test("a set that would make a structure above the store invalid is refused")
    func refused() async throws {
        let suite = SettingsSuite.inMemory(
            sources: [.environment(["ACME_LIMITS": "burst=50"], prefix: "ACME_"), .stored],
            reporter: reporter
        )
        let limits = Setting("limits", default: Limits(), suite: suite) { $0.burst <= $0.perSecond }
        #expect(limits.value == Limits(burst: 50))
        for set in [
            { try await limits.set(Limits(perSecond: 40, burst: 3)) },
            { try await limits.update { $0.perSecond = 40 } },
        ]
            as [() async throws -> Void]
        {
            await expectError(.validationFailed) { try await set() }
        }
        #expect(!limits.isSet)
        try await limits.set(Limits(perSecond: 60, burst: 3))
        #expect(limits.value == Limits(perSecond: 60, burst: 50))
        limits.value.perSecond = 70
        #expect(suite[storedValueFor: "limits"] == ["perSecond": 70, "burst": 3, "window": 60])
        #expect(reporter.errors.isEmpty)
    }

    @Test("an endpoint's object changes the members that it has, and null is the nil of one")
    func objects() async throws {
        let suite = SettingsSuite.inMemory(["limits": ["perSecond": 7, "windowMs": 1]], reporter: reporter)
        let limits = Setting("limits", default: Limits(), suite: suite)
        try await SettingsCatalog(limits).set(values: ["limits": ["burst": 9, "window": nil]])
        #expect(suite[storedValueFor: "limits"] == ["perSecond": 7, "windowMs": 1, "burst": 9, "window": nil])
        #expect(limits.value == Limits(perSecond: 7, burst: 9, window: nil))
    }

    private final class Counter: Codable, StoredValueConvertible {
        let count = Mutex(1)

        private enum CodingKeys: CodingKey {
            case count
        }

        init() {}

        init(from decoder: any Decoder) throws {
            let count = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .count)
            self.count.withLock { $0 = count }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(count.withLock(\.self), forKey: .count)
        }
    }

    @Test("a change in place of an object is stored")
    func object() async throws {
        let suite = SettingsSuite.inMemory(reporter: reporter)
        let counter = Setting("counter", default: Counter(), suite: suite)
        func change(_ counter: inout Counter, to count: Int) { counter.count.withLock { $0 = count } }
        change(&counter.value, to: 5)
        #expect(suite[storedValueFor: "counter"] == ["count": 5])
        try await suite.transaction { change(&$0[counter], to: 6) }
        #expect(suite[storedValueFor: "counter"] == ["count": 6])
        try await counter.update { change(&$0, to: 7) }
        #expect(suite[storedValueFor: "counter"] == ["count": 7])
    }

    @Test("streams and observers receive a change of one member in a lower source")
    func changes() async throws {
        let fleet = SettingsSuite.inMemory(["limits": ["burst": 5]])
        let suite = SettingsSuite.inMemory(
            ["limits": ["perSecond": 1]],
            sources: [.stored, .suite(fleet)],
            reporter: reporter
        )
        let limits = Setting("limits", default: Limits(), suite: suite)
        var values = limits.values.makeAsyncIterator()
        #expect(await values.next() == Limits(perSecond: 1, burst: 5))
        try await fleet.setStoredValue(["burst": 6, "perSecond": 9], forKey: "limits")
        #expect(await values.next() == Limits(perSecond: 1, burst: 6))
        try await suite.setStoredValue(nil, forKey: "limits")
        #expect(await values.next() == Limits(perSecond: 9, burst: 6))
    }
}
