// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Layers.md, "A structure takes each member from the highest source that has it".

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Changes of structures of several sources")
struct StructureChangeTests {
    private let reporter = RecordingReporter()

    private struct Access: Codable, Equatable, StoredValueConvertible {
        var user = "u"
        var password = ""
        var port = 1
        var tls: TLS?
    }

    private struct TLS: Codable, Equatable {
        var on: Bool
        var key: String
    }

    private struct Limits: Codable, Equatable, StoredValueConvertible {
        var perSecond = 1_000
        var burst = 100
        var window: Int? = 60
        var backup: Backup?
    }

    private struct Backup: Codable, Equatable {
        var burst: Int
        var perSecond: Int
    }

    /// Runs a body with a suite over a secret file.
    private func withSecret(
        _ text: String,
        _ stored: [String: StoredValue] = [:],
        isAbove: Bool = false,
        _ body: (SettingsSuite) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/secrets/db".writeLayer(text)
            let secrets = SettingsSource.secrets(directory: "\(directory)/secrets")
            let sources: [SettingsSource] = isAbove ? [secrets, .stored] : [.stored, secrets]
            try await body(.inMemory(stored, sources: sources, reporter: reporter))
        }
    }

    private struct Refusal: Error, CustomStringConvertible {
        var description: String
    }

    @Test("no change stores a member of a secret file, or tells it", arguments: [true, false])
    func secrets(isAbove: Bool) async throws {
        try await withSecret(#"{"password": "hunter2"}"#, isAbove: isAbove) { suite in
            let access = Setting("db", default: Access(), suite: suite) { access in
                if access.password == "" || access.user == "root" {
                    throw Refusal(description: "not '\(access.password)'")
                }
                return true
            }
            #expect(access.value.password == "hunter2")
            let text = SettingsCatalog(access)[0]
            for change in [
                { access.value.user = "root" }, { try await access.update { $0.user = "root" } },
                { try await text.set(text: "user=root") },
            ] as [() async throws -> Void] {
                do {
                    try await change()
                } catch {
                    #expect(!"\(error)".contains("hunter2"))
                }
            }
            #expect(suite[storedValueFor: "db"] == nil)
            access.value.user = "x"
            #expect(suite[storedValueFor: "db"] == (isAbove ? nil : ["user": "x"]))
            try await suite.setStoredValue(["user": "root"], forKey: "db")
            _ = access.value
            #expect(!access.explain().description.contains("hunter2"))
            #expect(!reporter.errors.map(\.message).joined().contains("hunter2"))
        }
    }

    @Test("a change of an optional structure that is in a secret file stores only what it changes")
    func optionalSecret() async throws {
        try await withSecret(#"{"on": true, "key": "hunter2"}"#) { suite in
            struct Holder: Codable, Equatable, StoredValueConvertible {
                var on: Bool
                var key: String
            }
            let holder = Setting<Holder?>("db", suite: suite)
            holder.value?.on = false
            #expect(suite[storedValueFor: "db"] == ["on": false])
            #expect(holder.value == Holder(on: false, key: "hunter2"))
            #expect(!holder.explain().description.contains("hunter2"))
        }
    }

    @Test("a change over an unusable stored value leaves the members of a secret file in use")
    func unusableOverSecret() async throws {
        try await withSecret(#"{"password": "hunter2"}"#, ["db": ["port": "bad"]]) { suite in
            let access = Setting("db", default: Access(), suite: suite)
            #expect(access.value.password == "hunter2")
            access.value.user = "x"
            #expect(suite[storedValueFor: "db"] == ["user": "x"])
            #expect(access.value == Access(user: "x", password: "hunter2"))
        }
    }

    @Test("a change is checked with the members of secret files, and replaces none of them")
    func checkedWithSecrets() async throws {
        try await withSecret(
            #"{"port": 10, "tls": {"on": true, "key": "k"}}"#,
            ["db": ["user": "me", "tls": ["on": false]]]
        ) {
            let access = Setting("db", default: Access(), suite: $0) { $0.user.count <= $0.port }
            #expect(access.value == Access(user: "me", port: 10, tls: TLS(on: false, key: "k")))
            await #expect(throws: SettingsError.self) { try await access.update { $0.user = "longer than ten" } }
            await #expect(throws: SettingsError.self) { try await SettingsCatalog(access)[0].set(text: "user=other") }
            #expect($0[storedValueFor: "db"] == ["user": "me", "tls": ["on": false]])
        }
    }

    @Test("a structure that may be nil is stored as a whole, so that the value does not depend on a lower source")
    func optionalStructures() async throws {
        let fleet = SettingsSuite.inMemory(["limits": ["backup": ["burst": 1, "perSecond": 2]]])
        let suite = SettingsSuite.inMemory(sources: [.stored, .suite(fleet)], reporter: reporter)
        let limits = Setting("limits", default: Limits(), suite: suite)
        try await limits.update { $0.backup?.burst = 9 }
        #expect(suite[storedValueFor: "limits"] == ["backup": ["burst": 9, "perSecond": 2]])
        try await fleet.setStoredValue(nil, forKey: "limits")
        #expect(limits.value == Limits(backup: Backup(burst: 9, perSecond: 2)))
        #expect(reporter.errors.isEmpty)
    }

    @Test("a text or an object with some members is checked with the stored ones, and leaves them and unknown ones")
    func parts() async throws {
        let suite = SettingsSuite.inMemory(
            ["limits": ["perSecond": 40, "burst": 20, "window": nil, "newer": 3]],
            reporter: reporter
        )
        let limits = Setting("limits", default: Limits(), suite: suite) { $0.burst <= $0.perSecond }
        let catalog = SettingsCatalog(limits)
        try await catalog.set(values: ["limits": ["perSecond": 30]])
        try await catalog.set(values: ["limits": ["perSecond": 5, "burst": 4]])
        #expect(suite[storedValueFor: "limits"] == ["perSecond": 5, "burst": 4, "window": nil, "newer": 3])
        try await catalog[0].set(text: "perSecond=6,burst=5")
        #expect(suite[storedValueFor: "limits"] == ["perSecond": 6, "burst": 5, "window": nil, "newer": 3])
        await #expect(throws: SettingsValidationError.self) {
            try await catalog.set(values: ["limits": ["perSecond": 1]])
        }
    }

    private struct Omitting: Codable, Equatable, StoredValueConvertible {
        var level = 5

        private enum CodingKeys: CodingKey { case level }

        init(level: Int = 5) { self.level = level }

        init(from decoder: any Decoder) throws {
            level = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Int.self, forKey: .level) ?? 0
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            if level != 0 { try container.encode(level, forKey: .level) }
        }
    }

    private struct Asking: Codable, Equatable, StoredValueConvertible {
        var port: Int?

        private enum CodingKeys: CodingKey { case port }

        init(port: Int?) { self.port = port }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            port = container.contains(.port) ? try container.decode(Int.self, forKey: .port) : nil
        }
    }

    @Test("a value that would not be read back is refused, and is stored with the trait")
    func readBack() async throws {
        let suite = SettingsSuite.inMemory(reporter: reporter)
        let omitting = Setting("omitting", default: Omitting(), suite: suite)
        let asking = Setting("asking", default: Asking(port: 1), suite: suite)
        await expectError(.unstorable) { try await omitting.set(Omitting(level: 0)) }
        try await omitting.update { $0.level = 0 }
        #expect(omitting.value == Omitting(level: 0) && suite[storedValueFor: "omitting"] == ["level": nil])
        try await omitting.reset()
        await expectError(.unstorable) { try await asking.set(Asking(port: nil)) }
        #expect(omitting.value == Omitting() && asking.value == Asking(port: 1))
        let wholes = (
            Setting("a", default: Omitting(), suite: suite, traits: .whole),
            Setting("b", default: Asking(port: 1), suite: suite, traits: .whole)
        )
        try await wholes.0.set(Omitting(level: 0))
        try await wholes.1.set(Asking(port: nil))
        #expect(wholes.0.value == Omitting(level: 0) && wholes.1.value == Asking(port: nil))
        #expect(suite[storedValueFor: "b"] == [:])
    }

    @Test("a source that is invalid by itself and with the others above is left out, and named alone")
    func invalidBeneath() throws {
        let suite = SettingsSuite.inMemory(
            sources: [.commandLine(["--l", "burst=7"]), .environment(["A_L": "perSecond=-5"], prefix: "A_"), .stored],
            reporter: reporter
        )
        let limits = Setting("l", default: Limits(), suite: suite) { $0.perSecond > 0 }
        #expect(limits.value == Limits(burst: 7))
        #expect(reporter.errors.count == 1)
        #expect(reporter.errors.first?.fact.hasPrefix("A_L cannot be used") == true)
    }

    @Test("a source that is valid only with the others is no problem, and the source of its members")
    func validTogether() async throws {
        try await withTemporaryDirectory { directory in
            try "\(directory)/settings.d/10.json".writeLayer(#"{"limits": {"perSecond": 40}}"#)
            try "\(directory)/settings.d/20.json".writeLayer(#"{"limits": {"burst": 8}}"#)
            let suite = SettingsSuite.inMemory(sources: [.directory("\(directory)/settings.d")], reporter: reporter)
            let limits = Setting("limits", default: Limits(), suite: suite) { $0.burst <= $0.perSecond }
            #expect(limits.value == Limits(perSecond: 40, burst: 8))
            let source = limits.explain().members.first { $0.name == "perSecond" }?.source
            #expect(source?.contains("10.json") == true)
            try SettingsCatalog(limits).validate()
            #expect(reporter.errors.isEmpty)
        }
    }

    private struct Ordered: Codable, Equatable, StoredValueConvertible {
        var low = 1
        var high = 9
        var name: String? = "d"

        init(low: Int = 1, high: Int = 9, name: String? = "d") { (self.low, self.high, self.name) = (low, high, name) }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            low = try container.decodeIfPresent(Int.self, forKey: .low) ?? 0
            high = try container.decodeIfPresent(Int.self, forKey: .high) ?? 99
            name = try container.decodeIfPresent(String.self, forKey: .name)
            if low > high { throw Refusal(description: "low is above high") }
        }

        private enum CodingKeys: CodingKey { case low, high, name }
    }

    @Test("a value that its type rejects together with lower members is left out and reported, and hides none of them")
    func rejectedByType() {
        let suite = SettingsSuite.inMemory(
            ["ordered": ["high": 5, "name": "stored"]],
            sources: [.environment(["A_ORDERED": "low=7"], prefix: "A_"), .stored],
            reporter: reporter
        )
        #expect(Setting("ordered", default: Ordered(), suite: suite).value == Ordered(high: 5, name: "stored"))
        #expect(reporter.errors.count == 1 && reporter.errors[0].fact.hasPrefix("A_ORDERED cannot be used"))
    }

    private struct Flags: Codable, Equatable, StoredValueConvertible {
        var a = 1
        var isOn = false
        var tag: String?

        private enum CodingKeys: CodingKey { case a, isOn, tag }

        init(a: Int = 1, isOn: Bool = false, tag: String? = nil) { (self.a, self.isOn, self.tag) = (a, isOn, tag) }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            a = try container.decodeIfPresent(Int.self, forKey: .a) ?? 1
            isOn = try container.decodeIfPresent(Bool.self, forKey: .isOn) ?? false
            tag = try container.decodeIfPresent(String.self, forKey: .tag)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(a, forKey: .a)
            if isOn { try container.encode(isOn, forKey: .isOn) }
            if let tag { try container.encode(tag, forKey: .tag) }
        }
    }

    @Test("a change to a member that its type omits removes the stored one, or hides the one of the default")
    func omittedMembers() async throws {
        let suite = SettingsSuite.inMemory(["flags": ["a": 2, "isOn": true, "tag": "x"]], reporter: reporter)
        let flags = Setting("flags", default: Flags(), suite: suite)
        try await SettingsCatalog(flags).set(values: ["flags": ["isOn": false]])
        #expect(suite[storedValueFor: "flags"] == ["a": 2, "tag": "x"])
        try await flags.update { $0.tag = nil }
        #expect(suite[storedValueFor: "flags"] == ["a": 2])
        flags.value.isOn = true
        try await suite.transaction { $0[flags].isOn = false }
        #expect(suite[storedValueFor: "flags"] == ["a": 2])
        let tagged = Setting("tagged", default: Flags(tag: "d"), suite: suite)
        try await SettingsCatalog(tagged).set(values: ["tagged": ["tag": nil]])
        #expect(tagged.value == Flags() && suite[storedValueFor: "tagged"] == ["tag": nil])
        #expect(reporter.errors.isEmpty)
    }

    @Test("a structure that is valid only with a member of a secret file can be changed in every way")
    func validWithSecret() async throws {
        try await withSecret(#"{"password": "hunter2"}"#) { suite in
            let access = Setting("db", default: Access(), suite: suite) { !$0.password.isEmpty }
            let catalog = SettingsCatalog(access)
            try await access.update { $0.user = "a" }
            try await access.update { $0.port = 2 }
            try await catalog[0].set(text: "port=3")
            try await catalog.set(values: ["db": ["port": 4]])
            try await catalog["db.port"]?.set(text: "5")
            #expect(suite[storedValueFor: "db"] == ["user": "a", "port": 5])
            #expect(access.value == Access(user: "a", password: "hunter2", port: 5))
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("a change beside an unusable member keeps the usable and the unknown ones")
    func besideUnusable() async throws {
        let stored: StoredValue = ["perSecond": "bad", "window": 5, "newer": 1]
        let suite = SettingsSuite.inMemory(["limits": stored], reporter: reporter)
        let limits = Setting("limits", default: Limits(), suite: suite)
        try await SettingsCatalog(limits)["limits.burst"]?.set(text: "9")
        #expect(suite[storedValueFor: "limits"] == ["burst": 9, "window": 5, "newer": 1])
    }

    private enum Mode: Codable, Equatable {
        case off
        case paced(rate: Int, burst: Int)
    }

    private struct Server: Codable, Equatable, StoredValueConvertible {
        var limits = Limits()
        var mode = Mode.paced(rate: 1, burst: 2)
        var note: String? = "n"
    }

    private struct Wrapper: Codable, Equatable {
        var limits = Limits()

        init() {}

        init(from decoder: any Decoder) throws { limits = try decoder.singleValueContainer().decode(Limits.self) }

        func encode(to encoder: any Encoder) throws { try limits.encode(to: encoder) }
    }

    private struct Wrapping: Codable, Equatable, StoredValueConvertible {
        var a = 1
        var wrapped = Wrapper()
    }

    @Test("an enum that lacks a payload, and a wrapper that is a single value, are completed beside merged members")
    func completed() {
        let suite = SettingsSuite.inMemory(
            [
                "server": ["mode": ["paced": ["rate": 9]], "limits": ["burst": 1]],
                "wrapping": ["a": 5, "wrapped": ["perSecond": 7]],
            ],
            reporter: reporter
        )
        let server = Setting("server", default: Server(), suite: suite).value
        #expect(server == Server(limits: Limits(burst: 1), mode: .paced(rate: 9, burst: 2)))
        let wrapping = Setting("wrapping", default: Wrapping(), suite: suite).value
        #expect(wrapping.a == 5 && wrapping.wrapped.limits.perSecond == 7 && wrapping.wrapped.limits.burst == 100)
        #expect(reporter.errors.isEmpty)
    }
}
