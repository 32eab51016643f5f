// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import TestSupport
import Testing

@Suite("stored-settings")
struct StoredSettingsToolTests {
    @Test("it shows, changes, exports and imports the values of a suite without its program")
    func commands() async throws {
        try await withTemporaryDirectory { home in
            try await run(["acme", "set", "port=80", "name=web", "tags=[\"a\"]", "ratio=0.5", "on=true"], home: home)
            let rows = [
                "KEY    TYPE    VALUE", "name   string  web", "on     bool    true", "port   int     80",
                "ratio  double  0.5", "tags   array   [\"a\"]",
            ]
            #expect(try await run(["acme", "list"], home: home) == rows)
            #expect(try await run(["acme", "list", "--keys"], home: home) == ["name", "on", "port", "ratio", "tags"])
            #expect(try await run(["acme", "get", "port"], home: home) == ["80"])
            #expect(try await run(["acme", "get", "name", "--json"], home: home) == ["\"web\""])
            let path = "\(home)/acme/settings.json"
            #expect(try await run(["acme", "path"], home: home) == [path])
            #expect(try await run(["acme", "explain", "port"], home: home) == ["port = 80 (int), stored in \(path)"])
            #expect(try await run(["acme", "validate"], home: home) == ["The settings are valid."])
            try await run(["acme", "unset", "tags", "on", "ratio"], home: home)
            let exported = try await run(["acme", "export"], home: home)
            #expect(exported == ["{", "  \"name\": \"web\",", "  \"port\": 80", "}"])
            let file = home + "/new.json"
            try file.overwriteFile(with: "// one\n{\"port\": 81, \"new\": null,}")
            try await run(["acme", "import", file, "--replace"], home: home)
            #expect(try await run(["acme", "export"], home: home) == ["{", "  \"new\": null,", "  \"port\": 81", "}"])
            #expect(try await run(["suites"], home: home) == ["acme"])
            let variables = ["EDITOR": "sed -i s/81/82/", "PATH": "/usr/bin:/bin"]
            let edit = try ExampleProgram("stored-settings", ["acme", "edit"], home: home, variables: variables)
            #expect(await edit.exitCode() == 0)
            #expect(try await run(["acme", "get", "port"], home: home) == ["82"])
        }
    }

    @Test("edit works, and learns the exit code of the editor, if the process was started with SIGCHLD ignored")
    func ignoredChildren() async throws {
        try await withTemporaryDirectory { home in
            try await run(["acme", "set", "port=80"], home: home)
            let tool = try Surroundings.program("stored-settings")
            for (editor, code) in [("sed -i s/80/81/", Int32(0)), ("false", 69)] {
                let edit = try ExampleProgram(
                    "/bin/bash",
                    ["-c", "trap '' CHLD; exec \"$0\" acme edit", tool],
                    home: home,
                    variables: ["EDITOR": editor, "PATH": "/usr/bin:/bin"]
                )
                #expect(await edit.exitCode() == code, "\(edit.errors)")
            }
            #expect(try await run(["acme", "get", "port"], home: home) == ["81"])
        }
    }

    @Test("an assignment with further words stores nothing, and a key that contains = can be changed")
    func assignments() async throws {
        try await withTemporaryDirectory { home in
            let set = try ExampleProgram("stored-settings", ["acme", "set", "greeting=hello", "world"], home: home)
            #expect(await set.exitCode() == 64)
            #expect(set.errors.contains("the value of 'world' is missing"))
            #expect(!FileManager.default.fileExists(atPath: home + "/acme/settings.json"))
            try await run(["acme", "set", "mark=\u{301}x"], home: home)
            let file = home + "/new.json"
            try file.overwriteFile(with: #"{"a=b": 1}"#)
            try await run(["acme", "import", file], home: home)
            try await run(["acme", "set", "a=b", "2"], home: home)
            try await run(["acme", "set", "a=b=3", "c=4"], home: home)
            #expect(try await run(["acme", "list", "--keys"], home: home) == ["a=b", "c", "mark"])
            #expect(try await run(["acme", "get", "a=b"], home: home) == ["3"])
        }
    }

    @Test("a suite is found by its name, its directory and its file", arguments: ["acme", "%2E/b", ".x"])
    func places(name: String) async throws {
        try await withTemporaryDirectory { home in
            let words = name.contains("/") ? [] : [name]
            let directory = "\(home)/" + (name.hasPrefix(".") ? "%2E" + name.dropFirst() : name)
            for word in words + [directory + "/", directory + "/settings.json"] {
                try await run([word, "set", "word", word], home: home)
                #expect(try await run([directory, "get", "word"], home: home) == [word])
                #expect(FileManager.default.fileExists(atPath: directory + "/settings.json"))
            }
            if words == [name] { #expect(try await run(["suites"], home: home) == [name]) }
        }
    }

    @Test(
        "a directory in the place of a settings file is an error with a fix, and nothing is written into it",
        arguments: ["settings.json", "settings.json/", "acme.json"]
    )
    func directoryInPlace(name: String) async throws {
        try await withTemporaryDirectory { home in
            let directory = "\(home)/acme/\(name)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let words = [directory] + (name == "settings.json" ? ["acme"] : [])
            for word in words {
                for command in [["set", "port", "80"], ["list"], ["doctor", "--repair", "--restore"]] {
                    let program = try ExampleProgram("stored-settings", [word] + command, home: home)
                    #expect(await program.exitCode() != 0, "\(command)")
                    #expect((program.errors + program.lines.joined()).contains("directory"), "\(program.errors)")
                }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(home)/acme").count == 1)
        }
    }

    @Test(
        "a new value has the type of the old one, or else that of the text, unless a type is given",
        arguments: ([
            // The old value as JSON, the arguments, and the new value as JSON; nil if it is rejected.
            ("\"a\"", ["5"], "\"5\""), ("\"a\"", ["true"], "\"true\""), ("\"a\"", ["{"], "\"{\""), ("5", ["6"], "6"),
            ("5", ["6.5"], nil), ("5", ["x"], nil), ("5", ["6.5", "--type", "double"], "6.5"), ("0.5", ["3"], "3.0"),
            ("0.5", ["x"], nil), ("true", ["off"], "false"), ("true", ["maybe"], nil), ("[1]", ["2,3"], "[2,3]"),
            ("[\"a\"]", ["2,3"], "[\"2\",\"3\"]"), ("[1]", ["2,x"], nil), ("[1]", ["[true]"], "[true]"),
            ("[]", ["1,2"], "[1,2]"), ("{\"a\":1}", ["{\"b\":2}"], "{\"b\":2}"), ("{\"a\":1}", ["b=2"], nil),
            ("null", ["5"], "5"), (nil, ["5"], "5"), (nil, ["true"], "true"), (nil, ["a b"], "\"a b\""),
            (nil, ["1.0"], "1.0"), (nil, ["[1, 2]"], "[1,2]"), (nil, ["[1"], nil), (nil, ["null"], "null"),
            (nil, ["5", "--type", "string"], "\"5\""), (nil, ["x", "--type", "int"], nil),
            (nil, ["2026-11-21T13:00:00Z", "--type", "date"], "\"2026-11-21T13:00:00Z\""),
            (nil, ["yesterday", "--type", "date"], nil), (nil, ["AQI=", "--type", "data"], "\"AQI=\""),
            (nil, ["%", "--type", "data"], nil), (nil, ["a,b", "--type", "array"], "[\"a\",\"b\"]"),
            (nil, ["[1]", "--type", "object"], nil), (nil, ["{\"a\":[]}", "--type", "object"], "{\"a\":[]}"),
            (nil, ["\"x\"", "--type", "json"], "\"x\""), (nil, ["x", "--type", "json"], nil),
            (nil, ["5", "--type", "word"], nil), (nil, ["1.10"], "\"1.10\""), ("null", ["1e3"], "\"1e3\""),
            (nil, ["123e45"], "\"123e45\""), (nil, ["007"], "\"007\""), (nil, ["[1.10]"], "[1.1]"),
            ("[]", ["1.10,2"], "[\"1.10\",\"2\"]"), ("[]", ["1.5,2"], "[1.5,2]"),
            ("[]", ["on,007"], "[\"on\",\"007\"]"),
            ("0.5", ["1.10"], "1.1"), ("0.5", ["0x10"], nil), ("0.5", ["1e400"], nil),
        ] as [(String?, [String], String?)])
        .sampled(20)
    )
    func types(old: String?, arguments: [String], new: String?) async throws {
        try await withTemporaryDirectory { home in
            if let old {
                try FileManager.default.createDirectory(atPath: home + "/acme", withIntermediateDirectories: false)
                try "\(home)/acme/settings.json".overwriteFile(with: "{\"key\": \(old)}")
            }
            let set = try ExampleProgram("stored-settings", ["acme", "set", "key"] + arguments, home: home)
            let code = await set.exitCode()
            #expect([0, 64, 65].contains(code) && (code == 0) == (new != nil), "\(code)")
            // The message does not contain the value.
            if code == 65, let text = arguments.first, text.count > 3 { #expect(!set.errors.contains(text)) }
            guard let expected = new ?? old else { return }
            #expect(try await run(["acme", "get", "key", "--json"], home: home) == [expected])
        }
    }

    @Test("a last checkpoint that cannot be written is reported before the tool ends")
    func failedCheckpoint() async throws {
        try await withTemporaryDirectory { home in
            _ = try await run(["acme", "set", "a=1"], home: home)
            let path = "\(home)/acme/settings.json"
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let program = try ExampleProgram("stored-settings", ["acme", "unset", "a"], home: home)
            _ = await program.exitCode()
            #expect(program.errors.contains("The changes are safe in the journal"), "\(program.errors)")
        }
    }

    @Test("watch prints no removal of values that are unknown")
    func unknownInitialValues() async throws {
        try await withTemporaryDirectory { home in
            let path = "\(home)/settings.json"
            try Data(#"{"a": 1"#.utf8).write(to: URL(fileURLWithPath: path))
            let program = try ExampleProgram("stored-settings", [path, "watch", "a", "--initial"], home: home)
            defer { program.end() }
            await eventually("the tool reports the file") { program.errors.contains("not a valid settings file") }
            try Data(#"{"a": 2}"#.utf8).write(to: URL(fileURLWithPath: path))
            await eventually("the tool prints the value") { program.lines == ["a=2"] }
        }
    }

    @Test("set prints what was stored, with its type")
    func printing() async throws {
        try await withTemporaryDirectory { home in
            let path = "\(home)/acme/settings.json"
            let output = try await run(["acme", "set", "a=1.10", "b=1.5", "c=\u{1B}[2J"], home: home)
            #expect(
                output == [
                    "a = 1.10 (string), stored in \(path)", "b = 1.5 (double), stored in \(path)",
                    #"c = \u{1B}[2J (string), stored in "# + path,
                ]
            )
        }
    }

    @Test(
        "a missing suite is an error that creates nothing",
        arguments: [
            ["list"], ["get", "x"], ["explain"], ["watch"], ["validate"], ["unset", "x"], ["export"], ["edit"],
            ["doctor"],
            ["doctor", "--repair", "--restore"],
        ]
    )
    func missing(arguments: [String]) async throws {
        try await withTemporaryDirectory { home in
            for word in ["acme", "\(home)/acme/settings.json", "\(home)/acme/"] {
                let program = try ExampleProgram("stored-settings", [word] + arguments, home: home)
                #expect(await program.exitCode() == 66)
                #expect(program.errors.contains("there is no \(home)/acme/settings.json"))
                #expect(program.lines.isEmpty)
                #expect(!FileManager.default.fileExists(atPath: home + "/acme"))
            }
        }
    }

    @Test("a large value, for which a checkpoint begins at once, is in the settings file when the command has ended")
    func largeValue() async throws {
        try await withTemporaryDirectory { home in
            let text = String(repeating: "x", count: 10_000_000)
            try text.write(toFile: home + "/text", atomically: false, encoding: .utf8)
            let file = try #require(FileHandle(forReadingAtPath: home + "/text"))
            let input = ChildProcess.Input.descriptor(file.fileDescriptor)
            let program = try ExampleProgram(
                "stored-settings",
                ["acme", "set", "big", "--stdin"],
                home: home,
                input: input
            )
            #expect(await program.exitCode() == 0)
            #expect(program.errors.isEmpty)
            let size = try FileManager.default.attributesOfItem(atPath: home + "/acme/settings.json")[.size] as? Int
            #expect((size ?? 0) > text.count)
        }
    }

    @Test("what keeps a suite from being found is named", arguments: ["doctor", "list"])
    func obstacles(command: String) async throws {
        try await withTemporaryDirectory { home in
            try FileManager.default.createSymbolicLink(atPath: home + "/link", withDestinationPath: home + "/nowhere")
            try "x".write(toFile: home + "/file", atomically: false, encoding: .utf8)
            for (word, fact) in [
                ("\(home)/link/acme/", "\(home)/link is a symbolic link that leads to nothing"),
                ("\(home)/file/settings.json", "\(home)/file is not a directory"),
            ] {
                let program = try ExampleProgram("stored-settings", [word, command], home: home)
                #expect(await program.exitCode() == 66)
                #expect(program.errors.contains(fact), "\(program.errors)")
            }
        }
    }

    @Test("the path of a file beside the settings file is refused", arguments: [".journal", ".last-good", ".lock"])
    func siblings(suffix: String) async throws {
        try await withTemporaryDirectory { home in
            try await run(["acme", "set", "port", "80"], home: home)
            let word = "\(home)/acme/settings.json\(suffix)"
            let program = try ExampleProgram("stored-settings", [word, "set", "port", "81"], home: home)
            #expect(await program.exitCode() == 64)
            #expect(program.errors.contains("Use the path of the settings file"), "\(program.errors)")
        }
    }

    @Test(
        "a wrong use has its exit code and a fix",
        arguments: [
            ([], Int32(64), "Usage: stored-settings SUITE COMMAND"),
            (["acme"], 64, "Usage: stored-settings acme COMMAND"),
            (["acme", "lst"], 64, "Did you mean 'list'?"), (["--etc"], 64, "there is no option --etc"),
            (["acme", "get", "prot"], 1, "Did you mean 'port'?"),
            (["acme", "unset", "x"], 1, "there is no value for 'x'"),
            (["acme", "get"], 64, "Use 'stored-settings acme get KEY'"),
            (["", "list"], 73, "the suite's name is empty"),
            (["acme", "set", "$schema", "x"], 65, "$schema"), (["acme", "set", "", "x"], 64, "the key is empty"),
            (["--"], 64, "the suite is missing"),
        ] as [([String], Int32, String)]
    )
    func misusing(arguments: [String], code: Int32, message: String) async throws {
        try await withTemporaryDirectory { home in
            try await run(["acme", "set", "port", "80"], home: home)
            let program = try ExampleProgram("stored-settings", arguments, home: home)
            #expect(await program.exitCode() == code)
            #expect(program.lines.isEmpty)
            let errors = program.errors
            #expect(errors.contains(message), "\(errors)")
            #expect(try await run(["acme", "export"], home: home) == ["{", "  \"port\": 80", "}"])
        }
    }

    @Test("a running program sees each change, and watch prints changes of all keys, new ones included")
    func live() async throws {
        try await withTemporaryDirectory { home in
            let suite = "com.example.tool"
            try await run([suite, "set", "retries", "4"], home: home)
            let tool = try ExampleProgram("tool", ["config", "watch", "--initial", "retries"], home: home)
            defer { tool.end() }
            let watch = try ExampleProgram("stored-settings", [suite, "watch", "--initial"], home: home)
            defer { watch.end() }
            await eventually("the first value in the program") { tool.lines == ["retries=4"] }
            await eventually("the first value") { watch.lines == ["retries=4"] }
            try await run([suite, "set", "retries=5", "added=x"], home: home)
            await eventually("the change in the program") { tool.lines.last == "retries=5" }
            await eventually("the changes") { watch.lines.sorted() == ["added=x", "retries=4", "retries=5"] }
            try await run([suite, "unset", "added"], home: home)
            await eventually("the removal") { watch.lines.last == "added" }
            #expect(watch.errors.isEmpty)
        }
    }

    @Test("values of a broken file are those of the last good copy, and without one, reading fails")
    func broken() async throws {
        try await withTemporaryDirectory { home in
            try await run(["acme", "set", "port", "80"], home: home)
            try "\(home)/acme/settings.json".overwriteFile(with: "{\"port\": }")
            let good = try ExampleProgram("stored-settings", ["acme", "get", "port"], home: home)
            #expect(await good.exitCode() == 0)
            #expect(good.lines == ["80"])
            #expect(good.errors.contains("settings.json:1:10"))
            try FileManager.default.removeItem(atPath: "\(home)/acme/settings.json.last-good")
            for command in [["list"], ["get", "port"], ["export"], ["validate"], ["explain"], ["edit"]] {
                let bad = try ExampleProgram("stored-settings", ["acme"] + command, home: home)
                #expect(await bad.exitCode() == 78, "\(command)")
                #expect(bad.lines.isEmpty)
                #expect(bad.errors.contains("settings.json:1:10"))
            }
        }
    }

    @discardableResult
    private func run(_ arguments: [String], home: String) async throws -> [String] {
        try await output(of: "stored-settings", arguments, home: home)
    }
}
