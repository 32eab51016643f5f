// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import TestSupport
import Testing

@Suite("The command on a terminal")
struct TerminalTests {
    private static let setsid = "/usr/bin/setsid"

    @Test(
        "set --stdin asks for a line, and a secret is not shown",
        arguments: [
            ("tool", ["config", "set", "token", "--stdin"], true),
            ("tool", ["config", "set", "endpoint", "--stdin"], false),
            ("stored-settings", ["com.example.tool", "set", "any", "--stdin"], true),
        ]
    )
    func hiding(name: String, arguments: [String], isHidden: Bool) async throws {
        try await withTemporaryDirectory { home in
            let terminal = try PseudoTerminal(columns: 80)
            let program = try ExampleProgram(
                name,
                arguments,
                home: home,
                input: .descriptor(terminal.device.fileDescriptor),
                output: terminal.device,
                errors: terminal.device
            )
            let key = arguments[2]
            await eventually("the prompt") { terminal.text() == "Value of '\(key)': " }
            #expect(terminal.isEchoing == !isHidden)
            try terminal.type("typed text\n")
            #expect(await program.exitCode() == 0)
            #expect(terminal.isEchoing)
            #expect(terminal.text().contains("typed") == !isHidden)
            let get = ["com.example.tool", "get", key]
            #expect(try await output(of: "stored-settings", get, home: home) == ["typed text"])
        }
    }

    @Test("suites escapes the characters of names that control the terminal")
    func names() async throws {
        try await withTemporaryDirectory { home in
            try await output(of: "stored-settings", ["a\u{1B}[2J\u{202E}", "set", "key", "x"], home: home)
            let terminal = try PseudoTerminal(columns: 80)
            let suites = try ExampleProgram("stored-settings", ["suites"], home: home, output: terminal.device)
            #expect(await suites.exitCode() == 0)
            #expect(try terminal.lines() == [#"a\u{1B}[2J\u{202E}"#])
        }
    }

    @Test(
        "a signal during a hidden line restores the terminal and stores nothing",
        arguments: [SIGINT, SIGTERM, SIGHUP]
    )
    func restoring(number: CInt) async throws {
        try await withTemporaryDirectory { home in
            let terminal = try PseudoTerminal(columns: 80)
            let program = try ExampleProgram(
                "tool",
                ["config", "set", "token", "--stdin"],
                home: home,
                input: .descriptor(terminal.device.fileDescriptor),
                errors: terminal.device
            )
            await eventually("the prompt") { terminal.text().hasSuffix(": ") }
            #expect(!terminal.isEchoing)
            program.signal(number)
            #expect(await program.exitCode() == number)
            #expect(program.isEndedBySignal)
            #expect(terminal.isEchoing)
            #expect(!FileManager.default.fileExists(atPath: home + "/com.example.tool"))
        }
    }

    @Test(
        "an interrupt from the terminal during edit is for the editor",
        .enabled(if: FileManager.default.isExecutableFile(atPath: setsid), "setsid gives the program a terminal")
    )
    func interrupting() async throws {
        try await withTemporaryDirectory { home in
            let editor = try editor(in: home, onSignal: "echo '{\"retries\": 7}' > \"$1\"; exit 0", signal: "INT")
            let terminal = try PseudoTerminal(columns: 80)
            let program = try ExampleProgram(
                Self.setsid,
                ["--ctty", "--wait", try Surroundings.program("tool"), "config", "edit"],
                home: home,
                variables: ["EDITOR": "'\(editor)'", "TMPDIR": home, "PATH": "/usr/bin:/bin"],
                input: .descriptor(terminal.device.fileDescriptor),
                output: terminal.device,
                errors: terminal.device
            )
            await eventually("the editor runs") { terminal.text().contains("editing") }
            try terminal.type("\u{3}")
            #expect(await program.exitCode() == 0, "\(terminal.text())")
            #expect(try "\(home)/com.example.tool/settings.json".fileContents.contains("\"retries\": 7"))
            #expect(try leftDirectories(in: home) == [])
        }
    }

    @Test(
        "a signal that ends the program during edit ends the editor, stores nothing, and leaves what was typed",
        arguments: [SIGTERM, SIGHUP]
    )
    func ending(number: CInt) async throws {
        try await withTemporaryDirectory { home in
            let name = number == SIGTERM ? "TERM" : "HUP"
            // Even an editor that ends successfully must not store anything then.
            let editor = try editor(in: home, onSignal: "echo '{\"retries\": 7}' > \"$1\"; exit 0", signal: name)
            let program = try ExampleProgram(
                "tool",
                ["config", "edit"],
                home: home,
                variables: ["EDITOR": "'\(editor)'", "TMPDIR": home, "PATH": "/usr/bin:/bin"]
            )
            await eventually("the editor runs") { program.lines == ["editing"] }
            #expect(try leftDirectories(in: home).count == 1)
            program.signal(number)
            #expect(await program.exitCode() == 69)
            #expect(program.errors.contains("ended with code \(128 + number)"))
            let left = try #require(try leftDirectories(in: home).first)
            #expect(try "\(home)/\(left)/settings.json".fileContents == "{\"retries\": 7}\n")
            #expect(!FileManager.default.fileExists(atPath: home + "/com.example.tool/settings.json"))
        }
    }

    @Test(
        "a signal at the question whether to edit again ends the program, and leaves what was typed",
        arguments: [SIGINT, SIGTERM, SIGHUP]
    )
    func endingAtQuestion(number: CInt) async throws {
        try await withTemporaryDirectory { home in
            let terminal = try PseudoTerminal(columns: 80)
            let program = try ExampleProgram(
                "tool",
                ["config", "edit"],
                home: home,
                variables: ["EDITOR": "echo '[' >", "TMPDIR": home, "PATH": "/usr/bin:/bin"],
                input: .descriptor(terminal.device.fileDescriptor),
                errors: terminal.device
            )
            await eventually("the question") { terminal.text().hasSuffix("Edit again? [Y/n] ") }
            #expect(try leftDirectories(in: home).count == 1)
            program.signal(number)
            #expect(await program.exitCode() == number)
            #expect(program.isEndedBySignal)
            #expect(try leftDirectories(in: home).count == 1)
        }
    }

    /// An editor that waits for a signal.
    private func editor(in home: String, onSignal action: String, signal: String) throws -> String {
        let path = home + "/editor"
        try path.overwriteFile(
            with: """
                #!/bin/sh
                trap '\(action.replacing("'", with: "'\\''"))' \(signal)
                echo editing
                while :; do sleep 0.05; done
                """
        )
        chmod(path, 0o700)
        return path
    }

    private func leftDirectories(in home: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: home)
            .filter { $0.hasPrefix("stored-settings-") && !$0.contains(".") }
    }
}
