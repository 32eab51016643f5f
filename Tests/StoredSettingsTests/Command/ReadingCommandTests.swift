// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("Commands that read")
struct ReadingCommandTests {
    @Test("list shows each setting with its value, its layer and its help, in aligned columns")
    func list() async {
        let harness = CommandHarness(["port": 9090, "motd": "日本", "token": "s3cret"])
        let result = await harness.run("list")
        #expect(
            result.lines == [
                "KEY      VALUE          LAYER    HELP",
                "port     9090           store    Port to listen on.",
                "level    info           default  Lowest severity.",
                "ratio    0.5            default",
                "verbose  false          default",
                #"hosts    ["localhost"]  default"#,
                "motd     日本           store",
                "limit    10             default",
                "token    ••••           store",
            ]
        )
        #expect(result.code == 0)
        #expect(result.errors.isEmpty)
    }

    @Test("list prints rows as long as they are, except on a terminal, where they are cut to its columns")
    func columns() async {
        let harness = CommandHarness(["motd": .string(String(repeating: "日", count: 50))])
        func widths(_ harness: CommandHarness) async -> [Int] {
            await harness.run("list").lines.map(TerminalText.width)
        }
        #expect(await widths(harness).max()! > 100)
        let plain = ["NO_COLOR": "1"]
        #expect(await widths(harness.onTerminal(plain, columns: 40)).allSatisfy { (39...40).contains($0) || $0 < 40 })
        #expect(await widths(harness.onTerminal(plain, columns: 40)).max()! >= 39)
        #expect(await widths(harness.onTerminal(plain)).max()! <= 80)
        let narrow = plain.merging(["COLUMNS": "20"]) { $1 }
        #expect(await widths(harness.onTerminal(narrow, columns: 40)).max()! <= 20)
    }

    @Test("the output is colored only on a terminal, without NO_COLOR, and if the terminal is not dumb")
    func color() async {
        let harness = CommandHarness()
        #expect(await harness.onTerminal().run("list").output.contains("\u{1B}["))
        #expect(await harness.onTerminal(["NO_COLOR": ""]).run("list").output.contains("\u{1B}["))
        #expect(await !harness.onTerminal(["NO_COLOR": "1"]).run("list").output.contains("\u{1B}"))
        #expect(await !harness.onTerminal(["TERM": "dumb"]).run("list").output.contains("\u{1B}"))
        #expect(await !harness.run("list").output.contains("\u{1B}"))
    }

    @Test("list --json has all properties of each setting")
    func listJSON() async throws {
        let harness = CommandHarness(["port": 9090, "token": "s3cret"])
        let result = await harness.run("list", "--json")
        guard case .array(let settings) = try JSONReader.read(Array(result.output.utf8)) else {
            Issue.record("no array")
            return
        }
        #expect(
            settings[0] == [
                "key": "port", "suite": "in memory", "value": 9090, "text": "9090", "layer": "store", "default": 8080,
                "type": "Int", "help": "Port to listen on.", "valid": "1...65535", "choices": nil, "isSecret": false,
                "isSet": true, "requiresRestart": true, "deprecated": nil,
            ]
        )
        #expect(settings[1]["choices"] == ["debug", "info"])
        #expect(settings.last?["value"] == "••••")
        #expect(settings.last?["text"] == "••••")
        #expect(settings.last?["default"] == .null)
        let keys = try JSONReader.read(Array(await harness.run("list", "--keys", "--json").output.utf8))
        #expect(keys == ["port", "level", "ratio", "verbose", "hosts", "motd", "limit", "token"])
    }

    @Test("get prints the text alone, and nothing with code 1 for a value that is nil")
    func get() async {
        let harness = CommandHarness(["hosts": ["a", "b"]])
        #expect(await harness.run("get", "port") == .init(code: 0, output: "8080\n", errors: ""))
        #expect(await harness.run("get", "hosts") == .init(code: 0, output: "[\"a\",\"b\"]\n", errors: ""))
        #expect(await harness.run("get", "level", "--json") == .init(code: 0, output: "\"info\"\n", errors: ""))
        #expect(await harness.run("get", "motd") == .init(code: 1, output: "", errors: ""))
        #expect(await harness.run("get", "--json", "motd") == .init(code: 1, output: "null\n", errors: ""))
        #expect(await harness.run("get", "token") == .init(code: 1, output: "", errors: ""))
        #expect(await harness.run("get", "token", "--json") == .init(code: 1, output: "null\n", errors: ""))
    }

    @Test("get escapes control characters on a terminal, and prints the exact bytes elsewhere")
    func controlCharacters() async {
        let harness = CommandHarness(["motd": "a\u{1B}[2J\nb\u{202E}\u{9B}"])
        #expect(await harness.run("get", "motd").output == "a\u{1B}[2J\nb\u{202E}\u{9B}\n")
        let escaped = await harness.onTerminal().run("get", "motd").output
        #expect(escaped == #"a\u{1B}[2J\nb\u{202E}\u{009B}"# + "\n")
        let json = await harness.onTerminal().run("get", "motd", "--json").output
        #expect(json == #""a\u001B[2J\nb\u202e\u009b""# + "\n")
        for arguments in [["list"], ["explain"], ["list", "--json"], ["export"]] {
            let output = await harness.onTerminal(["NO_COLOR": "1"]).run(arguments).output
            #expect(!output.unicodeScalars.contains { ["\u{1B}", "\u{202E}", "\u{9B}"].contains($0) }, "\(arguments)")
        }
        #expect(await harness.run("list").lines.count == 9)
    }

    @Test("keys on a terminal contain no character that controls it, whichever command prints them")
    func controlCharactersOfKeys() async {
        let suite = SettingsSuite.inMemory()
        let key = "a\u{1B}[2J\u{202E}\u{9B}"
        let catalog = SettingsCatalog(Setting(key, default: "x", suite: suite))
        let harness = CommandHarness(suite, catalog).onTerminal(["NO_COLOR": "1"])
        for arguments in [
            ["list"], ["list", "--keys"], ["list", "--keys", "--json"], ["explain"], ["export", "--all"],
            ["watch", "x"], ["schema"], ["sample"], ["markdown"], ["completion", "bash"], ["get", key + "x"],
            ["set", key + "=y"],
        ] {
            let result = await harness.run(arguments)
            let text = result.output + result.errors
            #expect(!text.unicodeScalars.contains { ["\u{1B}", "\u{202E}", "\u{9B}"].contains($0) }, "\(arguments)")
        }
        #expect(await CommandHarness(suite, catalog).run("list", "--keys").output == key + "\n")
    }

    @Test("a secret is in no output without --reveal")
    func secrets() async throws {
        let harness = CommandHarness(
            ["token": "s3cret"],
            sources: [.environment(["ACME_TOKEN": "s3cret2"], prefix: "ACME_")]
        )
        for arguments in [
            ["list"], ["list", "--json"], ["get", "token"], ["get", "token", "--json"], ["explain"], ["export"],
            ["export", "--all"], ["validate"], ["validate", "--json"], ["set", "token", "s3cret3"], ["unset", "token"],
            ["set", "token=s3cret"], ["import", "-"],
        ] {
            let result = await harness.with(input: #"{"token": ["s3cret"]}"#).run(arguments)
            #expect(!(result.output + result.errors).contains("s3cret"), "\(arguments)")
        }
        #expect(await harness.run("get", "token").code == 64)
        #expect(await harness.run("get", "token", "--reveal").output == "s3cret2\n")
        #expect(await harness.run("export", "--reveal").output.contains("s3cret"))
    }

    @Test("explain prints a line for each key, or for all settings")
    func explain() async {
        let harness = CommandHarness(["port": 9090])
        let lines = await harness.run("explain", "level", "port").lines
        #expect(lines[0] == #"level = "info", the default"#)
        #expect(lines[1].hasPrefix("port = 9090, stored in memory"))
        #expect(lines.count == 2)
        #expect(await harness.run("explain").lines.count == 9)
        #expect(await harness.run("explain", "--suite", "in memory").lines.count == 8)
    }

    @Test("schema, sample and markdown print what the catalog generates")
    func generating() async throws {
        let harness = CommandHarness()
        #expect(await harness.run("schema").output == harness.catalog.jsonSchema())
        #expect(await harness.run("sample").output == harness.catalog.sampleFile())
        #expect(await harness.run("sample", "--json").output == harness.catalog.sampleFile(hasComments: false))
        #expect(await harness.run("markdown").output == harness.catalog.markdown())
        let suites = ["a", "b"].map { SettingsSuite(store: InMemoryStore(), name: $0) }
        let two = SettingsCatalog(
            Setting("a", default: 1, suite: suites[0]),
            Setting("b", default: 1, suite: suites[1])
        )
        let several = CommandHarness(suites[0], two)
        #expect(await several.run("schema").code == 64)
        #expect(await several.run("sample", "--suite", "b").output == two.sampleFile(for: suites[1]))
    }

    @Test("validate prints every problem, and exits with 78")
    func validate() async throws {
        #expect(
            await CommandHarness().run("validate") == .init(code: 0, output: "The settings are valid.\n", errors: "")
        )
        let harness = CommandHarness(["port": 0, "prot": 1, "level": "loud"])
        let result = await harness.run("validate")
        #expect(result.code == 78)
        #expect(result.output.isEmpty)
        #expect(result.errors.split(separator: "\n").count == 3)
        #expect(result.errors.contains("'prot' of suite"))
        #expect(await harness.run("validate", "--unknown-keys", "accept").errors.split(separator: "\n").count == 2)
        let warned = await CommandHarness(["prot": 1]).run("validate", "--unknown-keys=warn")
        #expect(warned.code == 0)
        #expect(warned.errors.hasPrefix("warning: setting 'prot'"))
        let json = await harness.run("validate", "--json")
        let problems = try JSONReader.read(Array(json.output.utf8))
        #expect(problems[2]?["key"] == "prot")
        #expect(problems[2]?["code"] == "unknownKey")
        #expect(problems[0]?["severity"] == "error")
    }

    @Test("path prints the file of the suite, and fails for a suite without one")
    func path() async throws {
        try await withSettingsPath { file in
            let harness = CommandHarness(suite: SettingsSuite(fileAt: file))
            #expect(await harness.run("path") == .init(code: 0, output: file + "\n", errors: ""))
            let object = try JSONReader.read(Array(await harness.run("path", "--json").output.utf8))
            #expect(object == [file: .string(file)])
        }
        #expect(await CommandHarness().run("path").code == 73)
    }

    @Test("a wrong command, option, key or word is refused with the one that was probably meant, and is not repeated")
    func usage() async {
        let harness = CommandHarness()
        for (arguments, message) in [
            (["lst"], "Did you mean 'list'?"), (["frobnicate"], "The commands are list, get, "),
            (["get", "prot"], "Did you mean 'port'?"), (["get", "frobnicate"], "The settings are port, level, "),
            (["list", "--jsn"], "Did you mean --json?"), (["get"], "Use 'tool config get KEY'"),
            (["get", "port", "level"], "'level' is one argument too many"), (["list", "--json=1"], "takes no value"),
            (["validate", "--unknown-keys", "maybe"], "Use one of reject, warn, accept"),
            (["validate", "--unknown-keys"], "the value of --unknown-keys is missing"),
            (["set"], "an argument is missing"),
            (["list", "--suite", "in memori"], "Did you mean 'in memory'?"),
            (["set", "port"], "the value of 'port' is missing"),
            (["set", "port=1", "port=2"], "'port' is given twice"),
            (["set", "token", "my", "s3cret"], "more than one value follows 'token'. Nothing is changed. Use "),
            (["set", "motd=hello", "world"], "there is no setting 'world'"),
            (["set", "port", "s3cret\u{FFFD}"], "an argument is not text in UTF-8"),
            (["completion", "tcsh"], "Use one of bash, fish, zsh"), (["explain", "prot"], "Did you mean 'port'?"),
            (["watch", "prot"], "Did you mean 'port'?"), (["validate", "x"], ""), (["help", "x"], ""),
            (["unset", "prot"], "Did you mean 'port'?"), (["import"], ""), (["import", "--frce", "-"], "--force"),
            (["edit", "x"], ""),
        ] {
            let result = await harness.run(arguments)
            #expect(result.code == 64, "\(arguments)")
            #expect(result.output.isEmpty)
            #expect(message.isEmpty ? !result.errors.isEmpty : result.errors.contains(message), "\(result.errors)")
            let isChange = ["set", "unset", "import", "edit"].contains(arguments[0])
            #expect(result.errors.contains(". Nothing is changed. ") == isChange, "\(result.errors)")
            #expect(!result.errors.contains("s3cret"))
        }
        #expect(await harness.run("get", "a\u{1B}[2J").errors.contains("\u{1B}") == false)
        #expect(harness.suite.keys == [])
    }

    @Test("settings with one key in two suites are distinguished by --suite")
    func suites() async throws {
        try await withTemporaryDirectory { directory in
            let (first, second) = (directory + "/a.json", directory + "/b.json")
            let suites = [first, second].map { SettingsSuite(fileAt: $0) }
            let catalog = SettingsCatalog(
                Setting("port", default: 1, suite: suites[0]),
                Setting("port", default: 2, suite: suites[1])
            )
            let harness = CommandHarness(suites[0], catalog)
            #expect(await harness.run("get", "port").code == 64)
            #expect(await harness.run("get", "port", "--suite", second).output == "2\n")
            #expect(await harness.run("set", "port=5", "--suite", second).code == 0)
            let exported = try JSONReader.read(Array(await harness.run("export").output.utf8))
            #expect(exported == [first: [:], second: ["port": 5]])
            #expect(await harness.run("path").output == "\(first)\t\(first)\n\(second)\t\(second)\n")
            #expect(await harness.run("list", "--suite", first).lines.count == 2)
            let new = #"{"\#(first)": {"port": 7}, "\#(second)": {"port": 8}}"#
            #expect(await harness.with(input: new).run("import", "-").code == 0)
            #expect(suites.map { $0[storedValueFor: "port"] } == [7, 8])
            let unknown = await harness.with(input: #"{"c": {"port": 7}}"#).run("import", "-")
            #expect(unknown.code == 65)
        }
    }
}
