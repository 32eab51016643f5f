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

    @discardableResult
    private func run(_ arguments: [String], home: String) async throws -> [String] {
        try await output(of: "tool", arguments, home: home)
    }

    /// Runs the program on a terminal of 40 columns, and returns the lines on the screen.
    private func screen(_ arguments: [String], home: String, _ variables: [String: String]) async throws -> [String] {
        let terminal = try PseudoTerminal(columns: 40)
        let program = try ExampleProgram("tool", arguments, home: home, variables: variables, output: terminal.device)
        #expect(await program.exitCode() == 0)
        return try terminal.lines()
    }
}
