// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import TestSupport
import Testing

@Suite("Completion in shells")
struct CompletionTests {
    private static let zshPath = "/usr/bin/zsh"
    private static let fishPath = "/usr/bin/fish"

    /// The words before the cursor, and the words that complete the last of them.
    private static let cases: [([String], [String])] = [
        (["tool", "conf"], ["config"]), (["tool", "config", "e"], ["explain", "export", "edit"]),
        (["tool", "config", "get", "t"], ["timeout", "tags", "token"]),
        (["tool", "config", "set", "format", "c"], ["csv"]),
        (["tool", "config", "set", "verbose", ""], ["true", "false"]),
        (["tool", "config", "unset", "tags", "to"], ["token"]),
        (["tool", "config", "completion", ""], ["bash", "zsh", "fish"]),
        (["tool", "config", "list", "--js"], ["--json"]), (["tool", "config", "help", "w"], ["watch"]),
        (["stored-settings", "ac"], ["acme"]), (["stored-settings", "acme", "e"], ["explain", "export", "edit"]),
        (["stored-settings", "acme", "get", "p"], ["path", "port"]),
        (["stored-settings", "acme", "doctor", "--re"], ["--repair", "--restore"]),
    ]

    @Test(
        "bash",
        arguments: cases + [
            (["tool", "c"], ["config"]), (["tool", "config", "set", "retries", ""], []),
            (["tool", "config", "import", ""], []), (["tool", "config", "get", "tags", ""], []),
            (["tool", "other", "get", ""], []), (["stored-settings", "acme", "unset", "port", "n"], ["name"]),
            (["stored-settings", "acme", "import", ""], []), (["stored-settings", "missing", "get", ""], []),
            (["stored-settings", "./x"], []),
        ]
    )
    func bash(words: [String], expected: [String]) async throws {
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        let test = """
            source "$SCRIPT"
            [[ $(complete -p \(words[0])) =~ -F\\ ([a-z_]+) ]] || echo unregistered
            COMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1)
            "${BASH_REMATCH[1]}"
            [[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
            """
        #expect(try await run("/bin/bash", ["--norc", "-c", test], words[0]) == expected)
    }

    @Test(
        "zsh",
        .enabled(if: FileManager.default.isExecutableFile(atPath: zshPath), "zsh is not installed"),
        arguments: cases
    )
    func zsh(words: [String], expected: [String]) async throws {
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        // The line editor defines these variables, and offers what is passed to `compadd`.
        let test = """
            compdef() { handler=$1 }
            compadd() { [[ $1 != -- ]] || shift; print -l -- "$@" }
            _files() { }
            source "$SCRIPT"
            words=(\(list)); CURRENT=\(words.count); PREFIX='\(words[words.count - 1])'
            $handler
            """
        let offered = try await run(Self.zshPath, ["-f", "-c", test], words[0])
        #expect(offered.filter { $0.hasPrefix(words[words.count - 1]) } == expected)
    }

    @Test(
        "fish",
        .enabled(if: FileManager.default.isExecutableFile(atPath: fishPath), "fish is not installed"),
        arguments: cases
    )
    func fish(words: [String], expected: [String]) async throws {
        let test = "source $SCRIPT; complete -C '\(words.joined(separator: " "))'"
        // A line is the word, a tab, and a description. The words are sorted.
        let offered = try await run(Self.fishPath, ["--no-config", "-c", test], words[0])
        #expect(offered.compactMap { $0.split(separator: "\t").first.map(String.init) }.sorted() == expected.sorted())
    }

    /// Runs a shell with the script of a program, and returns the lines of its output.
    private func run(_ shell: String, _ arguments: [String], _ program: String) async throws -> [String] {
        try await withTemporaryDirectory { home in
            try await output(of: "stored-settings", ["acme", "set", "port=80", "path=x", "name=y"], home: home)
            let name = URL(fileURLWithPath: shell).lastPathComponent
            let words = (program == "tool" ? ["config"] : []) + ["completion", name]
            let script = try await output(of: program, words, home: home).joined(separator: "\n")
            try (home + "/script").overwriteFile(with: script + "\n")
            let directory = URL(fileURLWithPath: try Surroundings.program(program)).deletingLastPathComponent().path
            let variables = ["SCRIPT": home + "/script", "PATH": "\(directory):/usr/bin:/bin", "HOME": home]
            let run = try ExampleProgram(shell, arguments, home: home, variables: variables)
            #expect(await run.exitCode() == 0)
            #expect(run.errors == "")
            return run.lines
        }
    }
}
