// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("tool")
struct ToolTests {
    @Test("the configuration command shows, changes and exports the settings of the program")
    func configuring() async throws {
        try await withTemporaryDirectory { home in
            #expect(try await run([], home: home) == ["https://api.example.com, 3 retries, table"])
            #expect(
                try await run(["config", "list"], home: home) == [
                    "KEY       VALUE                    LAYER    HELP",
                    "endpoint  https://api.example.com  default  Address of the service.",
                    "retries   3                        default  Attempts after a failure.",
                    "timeout   2.5                      default  Time for one request.",
                    "verbose   false                    default  Whether each request is printed.",
                    "format    table                    default  Form of the output.",
                    "tags      []                       default  Tags of new items.",
                    "token     nil                      default  Token for the service.",
                ]
            )
            #expect(try await run(["config", "set", "retries=5", "format=json", "token=s3cret"], home: home) == [])
            #expect(try await run([], home: home) == ["https://api.example.com, 5 retries, json"])
            #expect(try await run(["config", "get", "retries"], home: home) == ["5"])
            #expect(try await run(["config", "validate"], home: home) == ["The settings are valid."])
            let path = "\(home)/com.example.tool/settings.json"
            #expect(try await run(["config", "path"], home: home) == [path])
            let explained = "retries = 5, stored in \(path), over the default 3"
            #expect(try await run(["config", "explain", "retries"], home: home) == [explained])
            let export = ["config", "export", "--reveal"]
            let exported = ["{", #"  "format": "json","#, #"  "retries": 5,"#, #"  "token": "s3cret""#, "}"]
            #expect(try await run(export, home: home) == exported)
            #expect(try await run(["config", "unset", "retries", "format", "token"], home: home) == [])
            let file = home + "/new.json"
            try file.overwriteFile(with: exported.joined(separator: "\n"))
            #expect(try await run(["config", "import", file], home: home) == [])
            #expect(try await run(export, home: home) == exported)
        }
    }

    @Test(
        "a wrong use has its exit code and changes nothing",
        arguments: [
            (["set", "retries", "11"], Int32(65), "the value is outside 0...10"),
            (["get", "retrys"], 64, "Did you mean 'retries'?"),
            (["import", "/missing"], 66, "/missing cannot be read"), (["get", "token", "--reveal"], 1, ""),
            (["get", "token"], 1, ""), ([], 64, "Usage: tool config COMMAND"),
        ]
    )
    func misusing(arguments: [String], code: Int32, message: String) async throws {
        try await withTemporaryDirectory { home in
            let program = try ExampleProgram("tool", ["config"] + arguments, home: home)
            #expect(await program.exitCode() == code)
            #expect(program.lines.isEmpty)
            #expect(program.errors.contains(message) || message.isEmpty)
            #expect(try await run(["config", "export"], home: home) == ["{}"])
        }
    }

    @Test("watch prints what another process sets")
    func watching() async throws {
        try await withTemporaryDirectory { home in
            let watch = try ExampleProgram("tool", ["config", "watch", "--initial", "retries", "format"], home: home)
            defer { watch.end() }
            await eventually("the current values") { watch.lines == ["retries=3", "format=table"] }
            try await run(["config", "set", "retries", "5"], home: home)
            await eventually("the change") { watch.lines.dropFirst(2) == ["retries=5"] }
            #expect(watch.errors.isEmpty)
        }
    }

    @Test("watch ends without a signal when the reader of its output has ended")
    func brokenPipe() async throws {
        try await withTemporaryDirectory { home in
            let pipe = Pipe()
            let arguments = ["config", "watch", "--initial", "retries"]
            let watch = try ExampleProgram("tool", arguments, home: home, output: pipe.fileHandleForWriting)
            try pipe.fileHandleForWriting.close()
            #expect(String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self) == "retries=3\n")
            try pipe.fileHandleForReading.close()
            try await run(["config", "set", "retries", "5"], home: home)
            #expect(await watch.exitCode() == 0)
            #expect(watch.isEndedBySignal == false)
            #expect(watch.errors.isEmpty)
        }
    }

    @Test("on a terminal, rows are colored and cut to its width, and values are escaped")
    func terminal() async throws {
        try await withTemporaryDirectory { home in
            let value = "\u{1B}[2J" + String(repeating: "日", count: 60)
            try await run(["config", "set", "endpoint", value], home: home)
            let colored = try await screen(["config", "list"], home: home, ["TERM": "xterm"])
            #expect(colored.first?.hasPrefix("\u{1B}[1mKEY ") == true)
            let plain = try await screen(["config", "list"], home: home, ["TERM": "xterm", "NO_COLOR": "1"])
            #expect(plain.count == 8)
            #expect(plain[1].hasPrefix(#"endpoint  \u{1B}[2J日日"#) && plain[1].hasSuffix("…"))
            #expect(plain[1].count <= 40)
            #expect(
                try await screen(["config", "get", "endpoint"], home: home, [:]).first?.hasPrefix(#"\u{1B}[2J日"#)
                    == true
            )
            #expect(try await run(["config", "get", "endpoint"], home: home) == [value])
        }
    }

    @Test("bash completes commands, keys, values and options with the generated script")
    func bash() async throws {
        try await withTemporaryDirectory { home in
            let script = home + "/completion.bash"
            try script.overwriteFile(
                with: try await run(["config", "completion", "bash"], home: home).joined(separator: "\n")
            )
            for (words, expected) in [
                (["c"], ["config"]), (["config", "e"], ["explain", "export", "edit"]),
                (["config", "get", "t"], ["timeout", "tags", "token"]),
                (["config", "set", "verbose", ""], ["true", "false"]), (["config", "set", "format", "c"], ["csv"]),
                (["config", "set", "retries", ""], []), (["config", "unset", "tags", "to"], ["token"]),
                (["config", "list", "--j"], ["--json"]),
                (["config", "completion", ""], ["bash", "zsh", "fish"]), (["config", "import", ""], []),
                (["other", "get", ""], []),
                (["config", "help", "w"], ["watch"]), (["config", "get", "tags", ""], []),
            ] {
                let line = (["tool"] + words).map { "'\($0)'" }.joined(separator: " ")
                let test = """
                    source '\(script)'
                    [[ $(complete -p tool) == *'-F _tool_config tool' ]] || echo unregistered
                    COMP_WORDS=(\(line)); COMP_CWORD=\(words.count)
                    _tool_config
                    [[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
                    """
                let bash = try ExampleProgram(at: "/bin/bash", ["--norc", "-c", test], home: home)
                #expect(await bash.exitCode() == 0)
                #expect(bash.lines == expected, "\(words)")
                #expect(bash.errors == "")
            }
        }
    }

    @Test("the scripts for zsh and fish name every command, key and choice", arguments: ["zsh", "fish"])
    func otherShells(shell: String) async throws {
        try await withTemporaryDirectory { home in
            let lines = try await run(["config", "completion", shell], home: home)
            let text = lines.joined(separator: "\n")
            for word in ["list", "import", "endpoint", "timeout", "'csv'", "'true'", "zsh"] {
                #expect(text.contains(word) || text.contains(word.replacing("'", with: "\\'")), "\(word)")
            }
            #expect(text.count { $0 == "{" } == text.count { $0 == "}" })
            if shell == "zsh" {
                #expect(lines.first == "#compdef tool")
                #expect(lines.last == "compdef _tool_config 'tool'")
                #expect(lines.contains("    'format') compadd -- 'table' 'json' 'csv' ;;"))
            } else {
                #expect(
                    lines.contains(
                        #"complete -c 'tool' -f -n '_tool_config_key \'format\'' -a '\'table\' \'json\' \'csv\''"#
                    )
                )
                #expect(lines.contains("complete -c 'tool' -F -n '_tool_config_in import'"))
            }
            // A shell that is installed checks the syntax as well.
            guard
                let executable = ["/usr/bin/\(shell)", "/bin/\(shell)"]
                    .first(where: FileManager.default.isExecutableFile)
            else {
                return
            }
            let script = home + "/completion"
            try script.overwriteFile(with: text)
            let check = try ExampleProgram(at: executable, ["-n", script], home: home)
            #expect(await check.exitCode() == 0)
        }
    }

    /// Runs the program, expects success, and returns the lines of its output.
    @discardableResult
    private func run(_ arguments: [String], home: String) async throws -> [String] {
        let program = try ExampleProgram("tool", arguments, home: home)
        #expect(await program.exitCode() == 0)
        return program.lines
    }

    /// Runs the program on a terminal of 40 columns, and returns the lines on the screen.
    private func screen(_ arguments: [String], home: String, _ variables: [String: String]) async throws -> [String] {
        let terminal = try PseudoTerminal(columns: 40)
        let program = try ExampleProgram("tool", arguments, home: home, variables: variables, output: terminal.device)
        #expect(await program.exitCode() == 0)
        return try terminal.lines()
    }
}
