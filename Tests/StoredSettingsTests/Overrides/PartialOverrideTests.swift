// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Testing

@testable import StoredSettings

@Suite("Partial overrides")
struct PartialOverrideTests {
    private let reporter = RecordingReporter()

    private func suite(_ stored: [String: StoredValue] = [:], _ sources: SettingsSource...) -> SettingsSuite {
        .inMemory(stored, sources: sources, reporter: reporter)
    }

    @Test(
        "a part given by a variable or a flag is read over the stored value",
        arguments: ["burst=1", #"{"burst":1}"#, " burst = 1 "]
    )
    func parts(text: String) throws {
        let stored: [String: StoredValue] = ["pace": ["perSecond": 7, "burst": 8]]
        let sources: [(SettingsSource, SettingsLayer)] = [
            (.environment(["ACME_PACE": text], prefix: "ACME_"), .environment),
            (.commandLine(["--pace", text]), .commandLine),
        ]
        for (override, layer) in sources {
            let suite = suite(stored, override)
            @DefaultStorage(key: "pace", suite: suite) var pace = Pace()
            #expect(pace == Pace(perSecond: 7, burst: 1))
            #expect($pace.explain().layer == layer)
            #expect($pace.explain().shadowed[.store] == Pace(perSecond: 7, burst: 8))
            #expect(try $pace.load() == Pace(perSecond: 7, burst: 8))
        }
        #expect(reporter.errors.isEmpty)
    }

    @Test("parts given by repeated flags form one value")
    func repeated() {
        let suite = suite([:], .commandLine(["--pace", "burst=1", "--pace", "perSecond=5"]))
        #expect(Setting("pace", default: Pace(), suite: suite).value == Pace(perSecond: 5, burst: 1))
        #expect(reporter.errors.isEmpty)
    }

    @Test("the flag wins over the variable where both have a member")
    func layers() {
        let suite = suite(
            [:],
            .commandLine(["--pace", "burst=1"]),
            .environment(["ACME_PACE": "perSecond=5,burst=2"], prefix: "ACME_")
        )
        let pace = Setting("pace", default: Pace(), suite: suite)
        #expect(pace.value == Pace(perSecond: 5, burst: 1))
        #expect(pace.explain().shadowed[.environment] == Pace(perSecond: 5, burst: 2))
    }

    @Test(
        "a wrong part, an unknown name, no part and a null are reported, and the stored value is used",
        arguments: [
            ("burst=secret", .typeMismatch, [.key("burst")], "a JSON object that the setting accepts, or pairs"),
            ("other=secret", .invalidValue, [], "names of its members, such as burst, note, perSecond, or omit"),
            (
                #"{"burst":1,"other":"secret"}"#, .invalidValue, [],
                "names of its members, such as burst, note, perSecond, or omit"
            ),
            ("brust=1", .invalidValue, [], "use 'burst' if that is meant"),
            ("", .typeMismatch, [], "a JSON object that the setting accepts, or pairs"),
            ("{}", .invalidValue, [], "a JSON object that the setting accepts, or pairs"),
            (#"{"burst":null}"#, .typeMismatch, [.key("burst")], "a JSON object that the setting accepts, or pairs"),
        ] as [(String, SettingsError.Code, [SettingsError.PathComponent], String)]
    )
    func refused(text: String, code: SettingsError.Code, path: [SettingsError.PathComponent], remedy: String) throws {
        let suite = suite(["pace": ["perSecond": 7, "burst": 8]], .commandLine(["--pace=\(text)"]))
        #expect(Setting("pace", default: Pace(), suite: suite).value == Pace(perSecond: 7, burst: 8))
        let error = try #require(reporter.errors.first)
        #expect(reporter.errors.count == 1)
        #expect(error.code == code)
        #expect(error.path == path)
        #expect(error.remedy.contains(remedy))
        #expect(error.fact.hasPrefix("--pace cannot be used: "))
        #expect(!error.message.contains("secret"))
    }

    private struct Service: Codable, Equatable, StoredValueConvertible {
        var pace = Pace()
        var name = "a"
    }

    @Test("an unknown name in a part of a part is reported, and the stored value is used")
    func nested() throws {
        let stored: StoredValue = ["pace": ["perSecond": 7, "burst": 8], "name": "b"]
        let suite = suite(["service": stored], .commandLine([#"--service={"pace":{"brust":3}}"#]))
        #expect(Setting("service", default: Service(), suite: suite).value.name == "b")
        let error = try #require(reporter.errors.first)
        #expect(error.path == [.key("pace")] && error.fact.contains("no member 'brust'"), "\(error)")
        #expect(error.remedy.contains("'burst'"))
    }

    /// A part that reads a member under an old name as well, and writes it under the new one.
    private struct Renamed: Codable, Equatable {
        private enum CodingKeys: String, CodingKey { case size, count, old }

        var size = 1
        var count = 1

        init() {}

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            size = try container.decodeIfPresent(Int.self, forKey: .old) ?? container.decode(Int.self, forKey: .size)
            count = try container.decode(Int.self, forKey: .count)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(size, forKey: .size)
            try container.encode(count, forKey: .count)
        }
    }

    private struct Holder: Codable, Equatable, StoredValueConvertible {
        var part = Renamed()
        var name = "a"
    }

    @Test("a name that the type reads and does not write is accepted")
    func alias() {
        let suite = suite([:], .commandLine([#"--holder={"part":{"old":3}}"#]))
        #expect(Setting("holder", default: Holder(), suite: suite).value.part.size == 3)
        #expect(reporter.errors.isEmpty, "\(reporter.errors)")
    }

    /// A part that throws an error of this library, which has no path.
    private struct Bounded: Codable, Equatable {
        var count = 1

        init() {}

        init(from decoder: any Decoder) throws {
            count = try decoder.singleValueContainer().decode(Int.self)
            if count == 7 { throw SettingsError.invalidValue("the count is too large") }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(count)
        }
    }

    private struct Pool: Codable, Equatable, StoredValueConvertible {
        var name = "main"
        var bounded = Bounded()
        var more = [Bounded()]
    }

    @Test(
        "a part whose type throws an error of this library is named, in an override and in a stored value",
        arguments: [([.key("bounded")], "bounded"), ([.key("more"), .index(0)], "more[0]")]
            as [([SettingsError.PathComponent], String)]
    )
    func ownErrors(part: (path: [SettingsError.PathComponent], text: String)) throws {
        let stored: StoredValue = part.path.count == 1 ? ["bounded": 7] : ["more": [7]]
        let override = SettingsSource.environment(["ACME_POOL": stored.jsonText], prefix: "ACME_")
        for suite in [suite(["pool": stored]), suite([:], override)] {
            reporter.removeAll()
            #expect(Setting("pool", default: Pool(), suite: suite).value == Pool())
            let error = try #require(reporter.errors.first)
            #expect(error.path == part.path)
            #expect(error.message.contains("at \(part.text): "))
        }
    }

    @Test("an error after another part was tried in vain names no other part")
    func alternatives() throws {
        struct Lenient: Codable, Equatable, StoredValueConvertible {
            var bounded = Bounded()

            enum CodingKeys: CodingKey { case bounded }

            init() {}

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                do {
                    bounded = try container.decode(Bounded.self, forKey: .bounded)
                } catch {
                    throw SettingsError.invalidValue("the pool is empty")
                }
            }
        }
        let suite = suite(["pool": ["bounded": 7]])
        #expect(Setting("pool", default: Lenient(), suite: suite).value == Lenient())
        #expect(reporter.errors.map(\.path) == [[]])
        #expect(reporter.errors.map(\.fact) == ["the pool is empty"])
    }

    @Test("an optional part can be given, also as null")
    func optionalParts() {
        func read(_ text: String) -> Pace {
            Setting("pace", default: Pace(), suite: suite([:], .commandLine(["--pace", text]))).value
        }
        #expect(read("note=x") == Pace(note: "x"))
        #expect(read(#"{"burst":1,"note":null}"#) == Pace(burst: 1))
        #expect(reporter.errors.isEmpty)
    }

    @Test("without a default, an override needs all parts")
    func noDefault() {
        let suite = suite([:], .environment(["ACME_PACE": "burst=1"], prefix: "ACME_"))
        @DefaultStorageOptional(key: "pace", suite: suite) var pace: Pace?
        #expect(pace == nil)
        #expect(reporter.errors.map(\.code) == [.invalidValue])
    }

    @Test("a part of a type whose conversion uses that of a Codable type is completed")
    func ownConversion() {
        let suite = suite([:], .commandLine(["--key", "burst=1"]))
        #expect(Setting("key", default: OwnConversion(), suite: suite).value == OwnConversion(pace: Pace(burst: 1)))
        #expect(reporter.errors.isEmpty)
    }
}
