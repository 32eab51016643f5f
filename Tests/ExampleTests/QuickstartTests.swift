// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("quickstart")
struct QuickstartTests {
    @Test("the first run shows the defaults and the location of the settings, and the second remembers the first")
    func counting() async throws {
        try await withTemporaryDirectory { home in
            let heading = "Settings of com.example.quickstart, stored in \(home)/com.example.quickstart/settings.json:"
            let first = try await run([], home: home)
            #expect(
                first == [
                    heading,
                    "  port = 8080 (default)",
                    "  verbose = false (default)",
                    "  logLevel = info (default)",
                    #"  allowedHosts = ["localhost"] (default)"#,
                    #"  limits = {"burst":20,"perSecond":100} (default)"#,
                    "  runs = 0 (default)",
                    "  lastRun = null (default)",
                    "run 1",
                ]
            )
            var second = try await run([], home: home)
            let lastRun = try #require(second.firstIndex { $0.hasPrefix("  lastRun = ") })
            let dated = /\  lastRun = \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/
            #expect(try dated.wholeMatch(in: second.remove(at: lastRun)) != nil)
            #expect(second == first.dropLast(3) + ["  runs = 1", "run 2"])
            #expect(try await run([], home: home).last == "run 3")
        }
    }

    @Test(
        "the next process shows a value that was set, and a reset restores the default",
        arguments: [
            ("port", "9090", "9090", "8080"),
            ("verbose", "true", "true", "false"),
            ("logLevel", "debug", "debug", "info"),
            ("allowedHosts", #"["b.example", "a.example"]"#, #"["a.example","b.example"]"#, #"["localhost"]"#),
            (
                "limits", #"{"perSecond": 5, "burst": 1}"#, #"{"burst":1,"perSecond":5}"#,
                #"{"burst":20,"perSecond":100}"#
            ),
            ("lastRun", "2026-11-21T13:00:00Z", "2026-11-21T13:00:00Z", "null"),
        ]
    )
    func setting(key: String, text: String, shown: String, byDefault: String) async throws {
        try await withTemporaryDirectory { home in
            let answer = try await run(["set", key, text], home: home)
            #expect(answer == ["  \(key) = \(shown)"])
            #expect(try await run(["get", key], home: home) == [shown])
            #expect(try await run(["reset", key], home: home) == ["  \(key) = \(byDefault) (default)"])
            #expect(try await run(["get", key], home: home) == [byDefault])
        }
    }

    @Test(
        "an invalid value is rejected, and the stored value stays",
        arguments: [
            ("port", "0", "the value is outside 1...65535"),
            ("port", "many", "setting 'port': expected an integer, found a string"),
            ("logLevel", "loud", "setting 'logLevel': found a string that is not a valid LogLevel"),
            ("limits", #"{"perSecond": 5}"#, "setting 'limits': expected a value under 'burst'"),
        ]
    )
    func refusing(key: String, text: String, message: String) async throws {
        let accepted = ["port": "9090", "logLevel": "debug", "limits": #"{"burst":1,"perSecond":5}"#]
        let before = try #require(accepted[key])
        try await withTemporaryDirectory { home in
            try await run(["set", key, before], home: home)
            let errors = try await runRefused(["set", key, text], home: home)
            #expect(errors.hasPrefix("quickstart: setting '\(key)'"))
            #expect(errors.contains(message))
            #expect(try await run(["get", key], home: home) == [before])
        }
    }

    @discardableResult
    private func run(_ arguments: [String], home: String) async throws -> [String] {
        try await output(of: "quickstart", arguments, home: home)
    }

    /// Runs the program, expects failure without output, and returns its error message.
    private func runRefused(_ arguments: [String], home: String) async throws -> String {
        let program = try ExampleProgram("quickstart", arguments, home: home)
        #expect(await program.exitCode() == 1)
        #expect(program.lines.isEmpty)
        return program.errors
    }
}
