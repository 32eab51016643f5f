// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("Help of commands")
struct CommandHelpTests {
    private static let names = [
        "list", "get", "explain", "watch", "validate", "path", "schema", "sample", "markdown", "set", "unset", "export",
        "import", "edit", "completion",
        "help",
    ]

    @Test("help lists all commands and exit codes, and goes to standard error if no command is given")
    func overview() async {
        let harness = CommandHarness()
        let result = await harness.run("help")
        #expect(result.code == 0)
        for name in Self.names { #expect(result.lines.contains { $0.hasPrefix("  \(name) ") }, "\(name)") }
        #expect(result.lines.contains { $0.hasPrefix("  78  ") })
        #expect(await harness.run("--help") == result)
        #expect(await harness.run("-h") == result)
        let nothing = await harness.run()
        #expect(nothing.code == 64)
        #expect(nothing.output.isEmpty)
        #expect(nothing.errors == result.output)
    }

    @Test("each command has its help, which names each of its options", arguments: names)
    func each(name: String) async throws {
        let harness = CommandHarness()
        let result = await harness.run("help", name)
        #expect(result.code == 0)
        #expect(result.lines.first?.hasPrefix("Usage: tool config \(name)") == true)
        #expect(result.lines.allSatisfy { $0.count <= 100 })
        for option in try CommandProgram(executable: "tool", name: "config").command(named: name).allOptions {
            #expect(result.output.contains(option.name))
        }
        #expect(await harness.run(name, "--help") == result)
        #expect(await harness.run(name, "-h") == result)
    }

    @Test("Documentation/Command.md is what the program prints")
    func documentation() async throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Documentation/Command.md").standardized.path
        let documented = try page.fileContents
        #expect(await CommandHarness().run("help", "--markdown").output == documented)
    }

    @Test("a command runs only if the arguments name it")
    func naming() async {
        let harness = CommandHarness()
        let command = SettingsCommand(harness.catalog, name: "settings", console: harness.console)
        #expect(await command.runIfNamed(["tool", "serve", "settings"]) == nil)
        #expect(await command.runIfNamed(["tool"]) == nil)
        #expect(await command.runIfNamed([]) == nil)
        #expect(await command.runIfNamed(["tool", "settings", "get", "port"]) == 0)
        #expect(harness.output == "8080\n")
    }

    @Test("help, messages and completion scripts have the name of the program that is given")
    func programName() async {
        let harness = CommandHarness()
        let command = SettingsCommand(harness.catalog, program: "acmectl", console: harness.console)
        #expect(await command.run(["set", "prot=1"]) == 64)
        #expect(harness.errors.hasPrefix("acmectl config: there is no setting 'prot'"))
        #expect(await command.run(["help"]) == 0)
        #expect(harness.output.contains("acmectl config") && !harness.output.contains("tool"))
        #expect(await command.run(["completion", "bash"]) == 0)
        #expect(harness.output.contains("acmectl"))
    }

    @Test(
        "the words that can follow some arguments are those of the completion scripts",
        arguments: [
            ("sa", [], ["sample"]), ("p", ["set"], ["port"]), ("", ["set", "level"], ["debug", "info"]),
            ("t", ["set", "verbose"], ["true"]), ("", ["set", "port"], []), ("ra", ["explain", "port"], ["ratio"]),
            ("", ["get", "port"], []), ("--j", ["list"], ["--json"]), ("z", ["completion"], ["zsh"]),
            ("exp", ["help"], ["explain", "export"]), ("", ["import"], []), ("", ["nothing"], []),
        ] as [(String, [String], [String])]
    )
    func completions(word: String, arguments: [String], expected: [String]) {
        #expect(SettingsCommand(CommandHarness().catalog).completions(of: word, after: arguments) == expected)
    }

    @Test(
        "the width of a string is that of its characters on a terminal",
        arguments: [
            ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("é", 1), ("👩‍👩‍👧", 2), ("••••", 4), ("", 0), ("ｶ", 1), ("Ａ", 2),
        ]
    )
    func width(text: String, columns: Int) {
        #expect(TerminalText.width(of: text) == columns)
    }

    @Test("a string is cut between characters, and ends with an ellipsis")
    func cutting() {
        #expect(TerminalText.cut("日本語", to: 6) == "日本語")
        #expect(TerminalText.cut("日本語", to: 5) == "日本…")
        #expect(TerminalText.cut("日本語", to: 4) == "日…")
        #expect(TerminalText.cut("abc", to: 1) == "…")
        #expect(TerminalText.cut("abc", to: 0) == "")
    }
}
