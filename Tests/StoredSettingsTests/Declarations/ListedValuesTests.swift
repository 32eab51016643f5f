// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Testing

@testable import StoredSettings

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

    private let suite = SettingsSuite.inMemory(overrides: [.commandLine(["--mode", "slow"])])

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

    @Test("rejects a stored value and an override that are not listed")
    func outside() {
        let reporter = RecordingReporter()
        let suite = SettingsSuite.inMemory(
            ["format": "xml"],
            overrides: [.environment(["SIZE": "3"], prefix: "")],
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
