// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("A setting with listed values")
struct ListedValuesTests {
    enum Level: String, CaseIterable, StoredValueConvertible { case debug, info, error }

    struct Server {
        @DefaultStorage(key: "format", in: ["text", "json"]) var format = "text"
        @DefaultStorage(key: "level", in: [Level.info, .error]) var level = Level.info
        @DefaultStorage(key: "size", in: Set([4, 2])) var size = 4
        @DefaultStorageOptional(key: "mode", in: ["fast", "slow"]) var mode: String?
        @DefaultStorage(key: "start", in: [Date(timeIntervalSince1970: 0)]) var start = Date(timeIntervalSince1970: 0)
    }

    private let suite = SettingsSuite.inMemory(sources: [.commandLine(["--mode", "slow"])])

    private var server: Server { SettingsSuite.withStandard(suite) { Server() } }

    @Test("accepts these, and rejects others with a list")
    func values() throws {
        let server = server
        server.format = "json"
        server.level = .error
        server.size = 2
        #expect(suite.snapshot() == ["format": "json", "level": "error", "size": 2])
        #expect(server.mode == "slow")
        let error = #expect(throws: SettingsError.self) { try server.$format.set("xml") }
        #expect(error?.code == .validationFailed)
        #expect(error?.fact == "the value is none of the valid ones")
        #expect(error?.remedy == "assign a value out of text, json")
        #expect(throws: SettingsError.self) { try server.$level.set(.debug) }
        let sizeError = #expect(throws: SettingsError.self) { try server.$size.set(3) }
        #expect(sizeError?.remedy == "assign a value out of 2, 4")
        #expect(throws: SettingsError.self) { try server.$mode.set("x") }
        try server.$mode.set(nil)
    }

    @Test(
        "a duration is written in the unit that a person would choose, without rounding",
        arguments: [
            (.zero, "0s"), (.seconds(60), "60s"), (.seconds(61), "61s"), (.seconds(90), "90s"), (.seconds(120), "2m"),
            (.seconds(5_400), "90m"), (.seconds(-7_200), "-2h"), (.seconds(172_800), "2d"), (.seconds(7_201), "7201s"),
            (.milliseconds(1_500), "1.5s"), (.milliseconds(-10), "-10ms"), (.microseconds(1_500), "1.5ms"),
            (.microseconds(20), "20us"), (.nanoseconds(7), "7ns"), (Duration(attoseconds: 1), "0.000000001ns"),
            (Duration(attoseconds: .max), "170141183460469231731.687303715884105727s"),
        ] as [(Duration, String)]
    )
    func written(_ duration: Duration, _ text: String) throws {
        #expect(DurationText.written(duration) == text)
        #expect(try DurationText.duration(from: text) == duration)
    }

    @Test("durations are shown as people write them, and stored as before")
    func durations() throws {
        struct Client {
            @DefaultStorage(key: "wait", in: .milliseconds(10)...(.seconds(60))) var wait = Duration.milliseconds(250)
            @DefaultStorage(key: "pause", in: [.milliseconds(5), .seconds(7_200)]) var pause = Duration.milliseconds(5)
            @DefaultStorageOptional(key: "rest", in: Duration.zero..<(.seconds(90))) var rest: Duration?
        }
        let suite = SettingsSuite.inMemory(sources: [.commandLine([])])
        let client = SettingsSuite.withStandard(suite) { Client() }
        let catalog = SettingsCatalog(client)
        #expect(catalog.map(\.validValues) == ["10ms...60s", "5ms, 2h", "0s..<90s"])
        #expect(catalog["pause"]?.choices == ["5ms", "2h"])
        #expect(catalog.map(\.defaultText) == ["250ms", "5ms", nil])
        #expect(catalog["wait"]?.text == "250ms")
        #expect(catalog.explain().contains(#"wait = "250ms", the default"#))
        #expect(catalog.markdown().contains("| `wait` | `Duration` in `10ms...60s` | `250ms` |"))
        #expect(catalog.sampleFile().contains("// 10ms...60s\n  \"wait\": \"250ms\""))
        #expect(catalog.jsonSchema().contains(#""default": "250ms""#) && !catalog.jsonSchema().contains("minimum"))
        let error = #expect(throws: SettingsError.self) { try client.$wait.set(.seconds(61)) }
        #expect(error?.fact == "the value is outside 10ms...60s")
        let choiceError = #expect(throws: SettingsError.self) { try client.$pause.set(.seconds(1)) }
        #expect(choiceError?.remedy == "assign a value out of 5ms, 2h")
        try catalog["wait"]?.set(text: "10ms")
        #expect(suite[storedValueFor: "wait"] == "0.01s")
        #expect(catalog["wait"]?.text == "10ms")
        try client.$rest.set(.seconds(61))
        #expect(catalog["rest"]?.text == "61s")
    }

    @Test("rejects a stored value and an override that are not listed")
    func outside() {
        let reporter = RecordingReporter()
        let suite = SettingsSuite.inMemory(
            ["format": "xml"],
            sources: [.environment(["SIZE": "3"], prefix: "")],
            reporter: reporter
        )
        let server = SettingsSuite.withStandard(suite) { Server() }
        #expect(server.format == "text" && server.size == 4)
        #expect(reporter.errors.map(\.key) == ["format", "size"])
        #expect(reporter.errors.last?.remedy == "set SIZE to a value out of 2, 4, or unset it")
    }

    @Test("has them as choices and in the schema, if each has one form")
    func catalog() throws {
        let catalog = SettingsCatalog(server)
        #expect(catalog["format"]?.choices == ["text", "json"])
        #expect(catalog["level"]?.choices == ["info", "error"])
        #expect(catalog["size"]?.choices == ["2", "4"])
        #expect(catalog["mode"]?.choices == ["fast", "slow"])
        #expect(catalog["start"]?.choices == ["1970-01-01T00:00:00Z"])
        #expect(catalog["format"]?.validValues == "text, json")
        let schema = try JSONReader.readObject(Array(catalog.jsonSchema().utf8))
        func values(_ key: String) -> StoredValue? { schema["properties"]?[key]?["enum"] }
        #expect(values("format") == ["text", "json"])
        #expect(values("level") == ["info", "error"])
        #expect(values("size") == [2, 4])
        #expect(values("mode") == ["fast", "slow"])
        #expect(values("start") == nil, "a date has many forms")
        #expect(catalog.sampleFile().contains("// text, json\n"))
    }
}
