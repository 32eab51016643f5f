// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization

@testable import StoredSettings
@testable import StoredSettingsCommand

/// A command over settings in memory, whose output is captured.
struct CommandHarness: Sendable {
    enum Level: String, CaseIterable, StoredValueConvertible { case debug, info }

    struct Server {
        @DefaultStorage(key: "port", in: 1...65_535, help: "Port to listen on.", traits: .requiresRestart) var port =
            8080
        @DefaultStorage(key: "level", help: "Lowest severity.") var level = Level.info
        @DefaultStorage(key: "ratio") var ratio = 0.5
        @DefaultStorage(key: "verbose") var isVerbose = false
        @DefaultStorage(key: "hosts") var hosts = ["localhost"]
        @DefaultStorageOptional(key: "motd") var message: String?
        @DefaultStorage(key: "limit", traits: .renamed(from: "max_limit")) var limit = 10
        @DefaultStorageOptional(key: "token", traits: .secret) var token: String?
    }

    /// The result of one run.
    struct Result: Equatable {
        var code: Int32
        var output: String
        var errors: String

        var lines: [String] {
            output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
        }
    }

    let suite: SettingsSuite
    let catalog: SettingsCatalog
    var console: CommandConsole
    private let captured = Captured()

    private final class Captured: Sendable {
        let output = Mutex("")
        let errors = Mutex("")
    }

    init(_ values: [String: StoredValue] = [:], sources: [SettingsSource] = []) {
        self.init(suite: .inMemory(values, sources: sources, reporter: RecordingReporter()))
    }

    init(suite: SettingsSuite) {
        self.init(suite, SettingsSuite.withStandard(suite) { SettingsCatalog(Server()) })
    }

    init(_ suite: SettingsSuite, _ catalog: SettingsCatalog) {
        self.suite = suite
        self.catalog = catalog
        let captured = captured
        console = CommandConsole(
            write: { text in captured.output.withLock { $0 += text } },
            writeError: { text in captured.errors.withLock { $0 += text } }
        )
    }

    /// The standard output so far.
    var output: String { captured.output.withLock { $0 } }

    /// The standard error so far.
    var errors: String { captured.errors.withLock { $0 } }

    /// Runs a command, and returns what it has written.
    func run(_ arguments: String...) async -> Result {
        await run(arguments)
    }

    func run(_ arguments: [String]) async -> Result {
        captured.output.withLock { $0 = "" }
        captured.errors.withLock { $0 = "" }
        let code = await SettingsCommand(catalog, console: console).run(arguments)
        return Result(code: code, output: captured.output.withLock { $0 }, errors: captured.errors.withLock { $0 })
    }

    /// Returns a harness whose standard input has some text.
    func with(input: String) -> CommandHarness {
        var harness = self
        harness.console.read = { Array(input.utf8) }
        return harness
    }

    /// Returns a harness with an editor, and a directory for temporary files.
    func with(editor: String, in directory: String) -> CommandHarness {
        var harness = self
        harness.console.variable = { ["TMPDIR": directory, "EDITOR": editor][$0] }
        return harness
    }

    /// Returns a harness whose output is a terminal.
    func onTerminal(_ variables: [String: String] = [:], columns: Int? = nil) -> CommandHarness {
        var harness = self
        harness.console.isOutputTerminal = true
        harness.console.variable = { variables[$0] }
        harness.console.terminalColumns = { columns }
        return harness
    }
}
