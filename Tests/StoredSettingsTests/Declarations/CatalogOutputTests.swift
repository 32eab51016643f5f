// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("The output of a catalog")
struct CatalogOutputTests {
    enum Level: String, CaseIterable, StoredValueConvertible { case debug, info }
    struct Limits: Codable, StoredValueConvertible { var burst = 1 }

    struct Server {
        @DefaultStorage(
            key: "port",
            in: 1...65_535,
            help: SettingHelp("Port to listen on.", discussion: "Ports | below 1024\nneed a privilege."),
            traits: .requiresRestart
        )
        var port = 8080
        @DefaultStorage(key: "level", help: "Lowest severity that is logged.") var level = Level.info
        @DefaultStorage(key: "timeout", in: 0..<60, help: SettingHelp("For one request.", unit: "seconds"))
        var timeout = 1.5
        @DefaultStorage(key: "limits") var limits = Limits()
        @DefaultStorageOptional(key: "path", traits: .deprecated("Use 'level'.")) var path: String?
        @DefaultStorage(key: "token", traits: [.secret, .renamed(from: "key"), .environment("TOKEN")]) var token =
            "hush"
    }

    private func catalog(_ suite: SettingsSuite) -> SettingsCatalog {
        SettingsSuite.withStandard(suite) { SettingsCatalog(Server()) }
    }

    @Test("the explanation has a line for each setting, and no secret")
    func explanation() {
        let suite = SettingsSuite.inMemory(
            ["port": 1, "token": "shh"],
            sources: [.commandLine(["--level", "debug"])]
        )
        #expect(
            catalog(suite).explain() == """
                \(suite):
                  port = 1, \(suite.persistence), over the default 8080
                  level = "debug", given by --level, over the default "info"
                  timeout = 1.5, the default
                  limits = {"burst": 1}, the default
                  path = nil, the default
                  token = ••••, \(suite.persistence), over the default ••••

                """
        )
    }

    @Test("the sample file has the defaults and the help, and is a valid file")
    func sampleFile() async throws {
        let sample = catalog(.inMemory()).sampleFile(schema: "settings.schema.json")
        #expect(
            sample == """
                {
                  "$schema": "settings.schema.json",

                  // Port to listen on.
                  // Ports | below 1024
                  // need a privilege.
                  // 1...65535; takes effect after a restart
                  "port": 8080,

                  // Lowest severity that is logged.
                  // debug, info
                  "level": "info",

                  // For one request.
                  // 0.0..<60.0; seconds
                  "timeout": 1.5,

                  "limits": {
                    "burst": 1
                  }

                  // deprecated: Use 'level'.
                  // "path": …

                  // "token": …
                }

                """
        )
        let plain = catalog(.inMemory()).sampleFile(hasComments: false)
        let contents = try JSONReader.readObject(Array(plain.utf8))
        #expect(contents == ["port": 8080, "level": "info", "timeout": .double(1.5), "limits": ["burst": 1]])
        #expect(SettingsCatalog().sampleFile() == "{}\n")
    }

    @Test("the table in Markdown has each setting in a row, and no line break or unescaped bar in a cell")
    func markdown() {
        let suite = SettingsSuite.inMemory(sources: [.commandLine([]), .environment([:], prefix: "ACME_")])
        #expect(
            catalog(suite).markdown() == """
                | Key | Type | Default | Flag | Variable | Description |
                | --- | --- | --- | --- | --- | --- |
                | `port` | `Int` in `1...65535` | `8080` | `--port` | `ACME_PORT` | Port to listen on. Ports \\| below 1024 \
                need a privilege. Takes effect after a restart. |
                | `level` | `debug`, `info` | `info` | `--level` | `ACME_LEVEL` | Lowest severity that is logged. |
                | `timeout` | `Double` in `0.0..<60.0` | `1.5` | `--timeout` | `ACME_TIMEOUT` | For one request. In seconds. |
                | `limits` | `Limits` | `{"burst":1}` | `--limits` | `ACME_LIMITS` |  |
                | `path` | `String` |  | `--path` | `ACME_PATH` | Deprecated: Use 'level'. |
                | `token` | `String` | `••••` | `--token` | `TOKEN` | Secret. |

                """
        )
        #expect(catalog(.inMemory()).markdown().hasPrefix("| Key | Type | Default | Description |\n"))
    }

    @Test("the schema has types, ranges, cases, defaults, help and deprecations, and no secret")
    func schema() throws {
        let schema = try JSONReader.readObject(Array(catalog(.inMemory()).jsonSchema().utf8))
        #expect(schema["$schema"] == "http://json-schema.org/draft-07/schema#")
        #expect(schema["additionalProperties"] == false)
        let properties = try #require(schema["properties"])
        #expect(
            properties["port"] == [
                "type": "integer", "minimum": 1, "maximum": 65_535, "default": 8080,
                "description": "Port to listen on. Ports | below 1024\nneed a privilege.",
            ]
        )
        #expect(
            properties["level"] == [
                "enum": ["debug", "info"], "default": "info", "description": "Lowest severity that is logged.",
            ]
        )
        #expect(properties["timeout"]?["anyOf"]?[0] == ["type": "number", "minimum": 0.0, "exclusiveMaximum": 60.0])
        let burst: StoredValue = ["type": "integer", "default": 1]
        #expect(
            properties["limits"] == ["type": "object", "default": ["burst": 1], "properties": ["burst": burst]]
        )
        #expect(properties["path"] == ["type": "string", "deprecated": true, "deprecationMessage": "Use 'level'."])
        #expect(properties["token"] == ["type": "string"])
        #expect(properties["key"]?["deprecationMessage"] == "Renamed to 'token'.")
        #expect(properties["$schema"] != nil)
    }

    @Test("each suite has its own sample and its own schema")
    func suites() throws {
        let (one, two) = (SettingsSuite.inMemory(), SettingsSuite.inMemory())
        let catalog = SettingsCatalog(Setting("a", default: 1, suite: one), Setting("b", default: 2, suite: two))
        #expect(catalog.sampleFile(for: two, hasComments: false) == "{\n  \"b\": 2\n}\n")
        #expect(catalog.sampleFile(hasComments: false) == "{\n  \"a\": 1\n}\n")
        #expect(!catalog.jsonSchema(for: two).contains("\"a\""))
        #expect(catalog.explain().split(separator: "\n").count == 4)
    }
}
