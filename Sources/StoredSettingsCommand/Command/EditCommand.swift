// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension CommandInvocation {
    /// Opens the stored values in an editor, and stores the differences.
    package func edit() async throws {
        // A signal ends the process when the file is removed, or left to the person with what was typed.
        CaughtSignals.begin()
        defer { CaughtSignals.end() }
        let before = settings.suites.map(values)
        var contents = before.map(\.contents)
        let text = try editedText(before.map(\.values))
        for suite in settings.suites { showProblem(of: suite) }
        let directory = try privateDirectory()
        let file = directory.appending("settings.json")
        // Whether the file may have something that a person has typed, and that is not stored.
        var mayBeUnsaved = false
        defer {
            if !mayBeUnsaved || !keep(file, original: text, in: directory) { remove(directory) }
        }
        try write(text, to: file)
        mayBeUnsaved = true
        while true {
            let start = console.time()
            try await runEditor(on: file)
            let isQuick = console.time() < start + Self.shortestEdit
            let bytes = try readFile(file)
            do {
                let after = try values(in: bytes, file: "the edited file")
                let edits = try differences(from: before.map(\.values), to: after, bytes)
                if edits.isEmpty {
                    let hint = isQuick && bytes == text ? Self.hint(editor) : ""
                    console.show(message: "\(program): No value was edited. Nothing is changed.\(hint)")
                } else {
                    try await edits.store(ifUnchangedSince: contents, settings.suites)
                }
                mayBeUnsaved = false
                return
            } catch {
                let failure = CommandFailure(error)
                guard console.isInputTerminal, console.isErrorTerminal else { throw failure }
                for message in failure.messages(ofChange: true) { console.show(message: "\(program): \(message)") }
                console.writeError("Edit again? [Y/n] ")
                let answer = console.readAnswer()?.lowercased()
                if CaughtSignals.number != 0 {
                    throw CommandFailure(CommandExit.temporary, "a signal ends the command. Nothing is changed.")
                }
                guard let answer, ["", "y", "yes"].contains(answer) else {
                    throw CommandFailure(failure.code, "The edited values are not stored.")
                }
                // The person knows of the other change now.
                if failure.code == CommandExit.temporary { contents = settings.suites.map(values).map(\.contents) }
            }
        }
    }

    /// Says that the editor shows earlier values, if those of a suite cannot be read.
    private func showProblem(of suite: SettingsSuite) {
        guard let problem = suite.engine.store.problem else { return }
        let place = problem.location.map { " (\($0))" } ?? ""
        console.show(
            message: """
                \(program): \(problem.fact)\(place). The editor shows the last good values of \(suite.name), and changes of \
                them can be stored only when that is corrected.
                """
        )
    }

    /// Returns the contents of the file: with the help as comments, unless there are several suites.
    private func editedText(_ values: [[String: StoredValue]]) throws -> [UInt8] {
        guard settings.suites.count == 1 else {
            return try JSONWriter.prettyText(of: .dictionary(object(of: values)))
        }
        return Array(settings.catalog.file(with: values[0], for: settings.suites[0]).utf8)
    }

    /// Returns the changes from one state of the values to another, after all of them are checked.
    private func differences(
        from before: [[String: StoredValue]],
        to after: [(suite: SettingsSuite, values: [String: StoredValue])],
        _ bytes: [UInt8]
    ) throws -> SettingsEdits {
        var changed: [(suite: SettingsSuite, values: [String: StoredValue])] = []
        var removed: [(suite: SettingsSuite, keys: [String])] = []
        for (suite, old) in zip(settings.suites, before) {
            let new = after.first { $0.suite == suite }?.values ?? [:]
            changed.append((suite, new.filter { old[$0.key] != $0.value }))
            // The value of a renamed setting may have been typed under an old key.
            let own = settings.settings(of: suite)
            let kept = own.filter { $0.base.storedKeys.old.contains { new[$0] != nil } }.map(\.key)
            removed.append((suite, old.keys.filter { new[$0] == nil && !kept.contains($0) }))
        }
        var edits = try checkedEdits(changed, bytes: bytes, file: "the edited file")
        for (suite, keys) in removed {
            for key in keys {
                let setting = settings.settings(of: suite).first { $0.key == key }
                edits.add(setting?.base.storedKeys.edits(nil) ?? [(key, nil)], in: suite)
            }
        }
        return edits
    }
}

extension SettingsEdits {
    /// Stores all changes unless one of the values has changed meanwhile.
    ///
    /// - Parameters:
    ///   - contents: The stored values of each suite before.
    ///   - suites: The suites.
    /// - Throws: ``CommandFailure`` that names the values; the error of a transaction.
    fileprivate func store(ifUnchangedSince contents: [[String: StoredValue]], _ suites: [SettingsSuite]) async throws {
        let known = zip(suites.map(\.engine), contents).map { (engine: $0, contents: $1) }
        try await eachGroup { group in
            let old = known.first { $0.engine === group.suite.engine }?.contents ?? [:]
            try group.checkUnmanaged()
            // A store may accept changes beside a broken file. What a person edits are the values of that file.
            do {
                try group.suite.refresh()
            } catch {
                var error = SettingsError.wrapping(error, as: .readFailed)
                error.consequence = "nothing is changed"
                throw error
            }
            // Each suite was asked about its own keys.
            try group.suite.transaction(isManaging: true) { transaction in
                let conflicts = group.edits.filter { key, new in
                    let stored = transaction[storedValueFor: key]
                    return stored != old.value(forKey: key) && stored != new
                }
                guard conflicts.isEmpty else { throw CommandFailure.conflict(conflicts.map(\.key)) }
                for (key, value) in group.edits { try transaction.setStoredValue(value, forKey: key) }
            }
        }
    }
}

extension CommandFailure {
    fileprivate static func conflict(_ keys: [String]) -> CommandFailure {
        let list = keys.map { "'\($0)'" }.joined(separator: ", ")
        return CommandFailure(
            CommandExit.temporary,
            "another process has changed \(list) since the editor was opened. Nothing is changed. Edit again."
        )
    }
}

// MARK: - The editor and its file

extension CommandInvocation {
    private func privateDirectory() throws -> FilePath {
        let parent = console.variable("TMPDIR").flatMap { $0.isEmpty ? nil : FilePath($0) } ?? "/tmp"
        return try creating { () throws(SystemError) in try console.system.makePrivateDirectory(in: parent) }
    }

    private func write(_ bytes: [UInt8], to path: FilePath) throws {
        try creating { () throws(SystemError) in
            let flags = OpenFlags.readWrite | OpenFlags.create | OpenFlags.exclusiveCreate
            try console.system.write(bytes, to: console.system.open(path, flags, mode: 0o600))
        }
    }

    private func creating<Result>(_ body: () throws(SystemError) -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw CommandFailure(
                CommandExit.cannotCreate,
                "the file to edit cannot be created: \(error). Nothing is changed. Set TMPDIR to a directory with space."
            )
        }
    }

    private func readFile(_ path: FilePath) throws -> [UInt8] {
        do {
            // An editor may have put another file in its place, so it is opened again.
            let file = try console.system.open(path, OpenFlags.readOnly | OpenFlags.nonBlocking)
            guard try console.system.status(of: file).isRegular else {
                throw CommandFailure(CommandExit.data, "the editor has left no regular file. Nothing is changed.")
            }
            return try console.system.contents(of: file, limit: SettingsFile.longestFile)
        } catch let error as SystemError {
            throw CommandFailure(CommandExit.input, "the edited file cannot be read: \(error). Nothing is changed.")
        }
    }

    /// Returns the command of the shell that opens a file in an editor.
    private static func command(_ editor: String) -> String {
        // The editor takes the place of the shell, so that it receives the signals. Only a simple command can.
        guard editor.contains(where: { ";|&(){}=".contains($0) || $0.isNewline }) else {
            return "exec \(editor) \"$1\""
        }
        // An interrupt is for the editor. The shell waits for it.
        return "trap : INT QUIT; \(editor) \"$1\""
    }

    /// The shortest time in which a person edits a file, in nanoseconds.
    private static let shortestEdit: UInt64 = 1_000_000_000

    private static func hint(_ editor: String) -> String {
        """
         The editor '\(editor)' ended at once. If its window is still open, what is typed there is lost. Set EDITOR to \
        a command that waits, such as 'code --wait', and run the command again.
        """
    }

    /// The editor of the user, as a command of the shell; with a blank one, the shell would execute the file.
    private var editor: String {
        ["VISUAL", "EDITOR"].compactMap { console.variable($0) }.first { !$0.allSatisfy(\.isWhitespace) } ?? "vi"
    }

    /// Runs the editor of the user.
    private func runEditor(on file: FilePath) async throws {
        let editor = editor
        let (system, isInteractive) = (console.system, console.isInputTerminal)
        let thread = SuspendedOperations()
        let code = try await thread.run {
            try system.runShell(Self.command(editor), [file], isInteractive: isInteractive)
        }
        guard code == 0 else {
            throw CommandFailure(
                CommandExit.unavailable,
                """
                the editor '\(editor)' ended with code \(code). Nothing is changed. Run the command again, or set EDITOR to \
                another editor.
                """
            )
        }
    }

    /// Leaves what was typed to the person, beside what it was made from; returns `false` if there is nothing.
    ///
    /// To import it would undo what other processes have changed meanwhile.
    private func keep(_ file: FilePath, original: [UInt8], in directory: FilePath) -> Bool {
        do {
            guard try console.system.status(at: file)?.isRegular == true, try readFile(file) != original else {
                return false
            }
        } catch {
            // It is there, but cannot be examined.
        }
        let before = directory.appending("before.json")
        var advice = "Run '\(program) edit' again, make the changes there"
        do {
            try write(original, to: before)
            advice += " ('diff \(before) \(file)' shows them)"
        } catch {
            // The person knows what has been typed.
        }
        console.show(
            message: """
                \(program): The edited values are in \(file). They are not stored. \(advice), and remove \(directory).
                """
        )
        return true
    }

    private func remove(_ directory: FilePath) {
        do {
            // Some editors leave a copy beside the file.
            let handle = try console.system.openDirectory(directory)
            for name in try console.system.names(in: handle) { try console.system.unlink(name, in: handle) }
            try console.system.removeDirectory(directory)
        } catch {
            console.show(message: "\(program): \(directory) with the edited values is left: \(error). Remove it.")
        }
    }
}
