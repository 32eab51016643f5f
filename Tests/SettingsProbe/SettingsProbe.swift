// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// A process that tests run beside others: it executes the commands on its standard input.
///
///     settings-probe (--file PATH | --suite NAME) [FLAG...]
///     settings-probe schema cases
///
/// If the system does not report the arguments, it prints the name of the standard suite, and a setting with flags.
///
/// Flags override the settings, and so do environment variables that begin with `PROBE_`.
///
/// The probe prints `ready` first and answers every command with one line; an error's description follows its code. A test
/// starts several probes, waits until all are ready, and then lets them run at once.
@main
@MainActor
struct SettingsProbe {
    static func main() async {
        if CommandLine.arguments.isEmpty {
            let suite = SettingsSuite.inMemory(sources: [.commandLine()])
            let (port, other) = (Setting("port", default: 1, suite: suite), Setting("other", default: 2, suite: suite))
            printLine("\(SettingsSuite.standard.name) \(port.value) \(other.value)")
            return
        }
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 2, let kind = arguments.first, let place = arguments.dropFirst().first else {
            printLine("usage: settings-probe (--file PATH | --suite NAME) [FLAG...]")
            return
        }
        if (kind, place) == ("schema", "cases") {
            do {
                try SchemaCases.print()
            } catch {
                printLine("\(error)")
                exit(1)
            }
            return
        }
        let sources: [SettingsSource] =
            arguments.count > 2 ? [.commandLine(), .environment(prefix: "PROBE_", files: true)] : []
        let suite =
            kind == "--file"
            ? SettingsSuite(fileAt: place, sources: sources) : SettingsSuite(place, sources: sources)
        printLine("ready")
        while let line = readLine() {
            printLine(await answer(to: line.split(separator: " ").map(String.init), suite))
        }
    }

    private static func answer(to words: [String], _ suite: SettingsSuite) async -> String {
        do {
            guard let command = words.first.flatMap(Command.init) else { return "error unknownCommand" }
            return try await command.perform(on: suite, Arguments(words.dropFirst()))
        } catch let error as SettingsError {
            // The description is for the messages of failing tests.
            return "error \(error.code)\t\(error)".replacing("\n", with: " ")
        } catch {
            return "error \(error)"
        }
    }
}

/// Writes a line without buffering, so that a reader can receive it when this returns.
func printLine(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

/// The words after a command.
struct Arguments {
    struct Missing: Error {}

    private let words: [String]

    init(_ words: ArraySlice<String>) {
        self.words = Array(words)
    }

    func text(_ index: Int) throws -> String {
        guard words.indices.contains(index) else { throw Missing() }
        return words[index]
    }

    /// The rest of the line, split at tabs: paths that may contain spaces.
    var paths: [String] { words.joined(separator: " ").split(separator: "\t").map(String.init) }

    func integer(_ index: Int) throws -> Int {
        guard let integer = Int(try text(index)) else { throw Missing() }
        return integer
    }

    func integers(from index: Int) throws -> [Int] {
        try words.indices.dropFirst(index).map(integer)
    }
}
