// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("edit")
struct EditCommandTests {
    /// Runs `edit` with an editor, and expects that no file is left, or only the edited one.
    private func edit(
        _ harness: CommandHarness,
        editor: String,
        _ options: [String] = [],
        isKept: Bool = false,
        prepare: (inout CommandConsole) -> Void = { _ in }
    ) async throws -> CommandHarness.Result {
        try await withTemporaryDirectory { directory in
            var harness = harness.with(editor: editor, in: directory)
            prepare(&harness.console)
            let result = await harness.run(["edit"] + options)
            let left = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(left.count == (isKept ? 1 : 0))
            for name in left {
                let file = "\(directory)/\(name)/settings.json"
                #expect(result.errors.contains("in \(file)"))
                #expect(try !file.fileContents.isEmpty && file.filePermissions == 0o600)
                #expect(try "\(directory)/\(name)".filePermissions == 0o700)
                // An import would undo what others have changed meanwhile.
                let before = "\(directory)/\(name)/before.json"
                #expect(result.errors.contains("'diff \(before) \(file)'") && !result.errors.contains("import"))
                #expect(try before.fileContents.contains("port") && before.filePermissions == 0o600)
            }
            return result
        }
    }

    @Test("edit stores the differences in one transaction, and removes what was removed")
    func differences() async throws {
        let harness = CommandHarness(["port": 81, "max_limit": 5, "ratio": 1.5])
        let changes = harness.suite.changes()
        let result = try await edit(harness, editor: "sed -i -e s/81/82/ -e '/ratio/d'")
        #expect(result == .init(code: 0, output: "", errors: result.errors))
        #expect(harness.suite.snapshot() == ["port": 82, "max_limit": 5])
        let help = try await edit(harness, editor: "grep -q '// Port to listen on.'")
        #expect(help.code == 0)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.keys == ["port", "ratio"])
    }

    @Test("edit changes a value in an object of the file where it is")
    func inObject() async throws {
        try await withFileSuite(contents: #"{"db": {"port": 1, "host": "a"}}"#) { suite, _ in
            let settings = (
                Setting("db.port", default: 0, suite: suite), Setting("db.host", default: "", suite: suite)
            )
            let harness = CommandHarness(suite, SettingsCatalog(settings.0, settings.1))
            let result = try await edit(harness, editor: #"sed -i -e 's/"db.port": 1/"db.port": 7/'"#)
            #expect(result.code == 0, "\(result.errors)")
            #expect(suite.snapshot() == ["db": ["port": 7, "host": "a"]])
        }
    }

    @Test(
        "the editor receives all signals",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "the system shows masks")
    )
    func signals() async throws {
        let harness = CommandHarness(["port": 81])
        for editor in ["grep -qE 'SigBlk:.0+$' /proc/self/status", "(grep -qE 'SigBlk:.0+$' /proc/self/status) && :"] {
            #expect(try await edit(harness, editor: editor).code == 0, "\(editor)")
        }
    }

    @Test("the edited file is private, and contains no secret without --reveal")
    func privacy() async throws {
        try await withTemporaryDirectory { directory in
            let seen = directory + "/seen"
            let harness = CommandHarness(["token": "s3cret", "prot": 1])
            let script = directory + "/editor"
            try script.overwriteFile(
                with: "stat -c %a \"$1\" \"$(dirname \"$1\")\" > '\(seen)'; cat \"$1\" >> '\(seen)'\n"
            )
            #expect(try await edit(harness, editor: "sh '\(script)'").code == 0)
            #expect(try seen.fileContents == "600\n700\n{}\n")
            #expect(try await edit(harness, editor: "sh '\(script)'", ["--reveal", "--force"]).code == 0)
            #expect(try seen.fileContents == "600\n700\n{\n  \"token\": \"s3cret\",\n\n  \"prot\": 1\n}\n")
            #expect(harness.suite.snapshot() == ["token": "s3cret", "prot": 1])
        }
    }

    @Test("before the editor opens, a file that cannot be read is named, since the editor shows the last good values")
    func brokenFile() async throws {
        try await withFileSuite(contents: #"{"port": 81}"#, reporter: RecordingReporter()) { suite, path in
            let harness = CommandHarness(suite: suite)
            #expect(try await edit(harness, editor: "true").errors.contains("No value was edited"))
            #expect(try await !edit(harness, editor: "true").errors.contains("last good values"))
            try path.replaceFile(with: "{\n  \"port\": }")
            // A file that was just changed may still be being written.
            await eventually("the broken file is noticed") {
                suite.refreshIgnoringErrors()
                return suite.engine.store.problem != nil
            }
            let result = try await edit(harness, editor: "echo opened >&2; grep -q 81")
            #expect(result.code == 0)
            let lines = result.errors.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines.first?.hasPrefix("tool config: the file is not a valid settings file: ") == true)
            #expect(lines.first?.contains("(\(path):2:11). The editor shows the last good values of ") == true)
            let changed = try await edit(harness, editor: "sed -i s/81/82/", isKept: true)
            #expect(changed.code == 78)
            #expect(try path.fileContents == "{\n  \"port\": }")
        }
    }

    @Test("a wrong result is refused as a whole, without a terminal")
    func refused() async throws {
        let harness = CommandHarness(["port": 81, "ratio": 1.5])
        let wrong = try await edit(harness, editor: "sed -i -e s/81/0/ -e s/1.5/2.5/", isKept: true)
        #expect(wrong.code == 65)
        #expect(wrong.errors.contains("the edited file:4:11"))
        #expect(try await edit(harness, editor: "echo '{' >", isKept: true).code == 65)
        #expect(try await edit(harness, editor: "false").code == 69)
        let failed = try await edit(harness, editor: "f() { sed -i s/81/82/ \"$1\"; exit 3; }; f", isKept: true)
        #expect(failed.code == 69)
        #expect(try await edit(harness, editor: "rm").code == 74)
        let large = try await edit(harness, editor: "truncate -s 70000000", isKept: true)
        #expect(large.code == 74 && large.errors.contains("Nothing is changed"))
        let pipe = try await edit(harness, editor: "f() { rm \"$1\"; mkfifo \"$1\"; }; f")
        #expect(pipe.code == 65 && pipe.errors.contains("no regular file"))
        let same = try await edit(harness, editor: "touch")
        #expect(same.code == 0)
        #expect(same.errors.contains("Nothing is changed"))
        #expect(harness.suite.snapshot() == ["port": 81, "ratio": 1.5])
    }

    @Test("nothing is left of a file that could not be written for the editor")
    func fullDisk() async throws {
        let harness = CommandHarness(["port": 81])
        let result = try await edit(harness, editor: "touch") { console in
            console.system = SystemCalls(fault: { call, _ in call == .write ? ENOSPC : nil })
        }
        #expect(result.code == 73 && !result.errors.contains("edited values"))
    }

    @Test("a value that is typed under the old key of a renamed setting is stored", arguments: ["limit", "max_limit"])
    func oldKey(stored key: String) async throws {
        let harness = CommandHarness([key: 5])
        let result = try await edit(harness, editor: "echo '{\"max_limit\": 7}' >")
        #expect(result.code == 0)
        #expect(harness.suite.snapshot() == ["limit": 7])
    }

    @Test("an editor that ends at once without a change may be one that does not wait, and a hint says so")
    func quickEditor() async throws {
        let harness = CommandHarness(["port": 81])
        let quick = try await edit(harness, editor: "true") { $0.time = { 0 } }
        #expect(quick.code == 0)
        #expect(quick.errors.contains("The editor 'true' ended at once"))
        #expect(quick.errors.contains("--wait"))
        let changed = try await edit(harness, editor: "sed -i s/81/82/") { $0.time = { 0 } }
        #expect(changed.code == 0)
        #expect(!changed.errors.contains("ended at once"))
        let slow = try await edit(harness, editor: "true") { console in
            let time = Mutex<UInt64>(0)
            console.time = {
                time.withLock { time in
                    time += 2_000_000_000
                    return time
                }
            }
        }
        #expect(slow.errors.hasSuffix("Nothing is changed.\n"))
    }

    @Test("a blank variable names no editor, and the edited file is not executed", arguments: ["", "  ", "\t\n"])
    func blankEditor(blank: String) async throws {
        let harness = CommandHarness(["port": 81])
        let result = try await edit(harness, editor: "sed -i s/81/82/") { console in
            let variable = console.variable
            console.variable = { $0 == "VISUAL" ? blank : variable($0) }
        }
        #expect(result.code == 0, "\(result.errors)")
        #expect(harness.suite.snapshot() == ["port": 82])
    }

    /// Lets a person answer on a terminal; there is no answer after the given ones.
    ///
    /// - Returns: The number of questions.
    private func answer(_ answers: String..., on console: inout CommandConsole) -> Counter {
        let questions = Counter()
        console.isInputTerminal = true
        console.isErrorTerminal = true
        console.readAnswer = {
            questions.add()
            return questions.count <= answers.count ? answers[questions.count - 1] : nil
        }
        return questions
    }

    @Test("on a terminal, a wrong result can be edited again or given up")
    func again() async throws {
        let harness = CommandHarness(["port": 81])
        var questions = Counter()
        // The first run of the editor makes the value wrong, the second one right.
        let toggle = "sed -i -e 's/: 81$/: 0/;t' -e 's/: 0$/: 84/'"
        let corrected = try await edit(harness, editor: toggle) { questions = answer("", on: &$0) }
        #expect(corrected.code == 0)
        #expect(questions.count == 1)
        #expect(harness.suite.snapshot() == ["port": 84])
        for isAnswered in [true, false] {
            let givenUp = try await edit(harness, editor: "sed -i s/84/0/", isKept: true) {
                questions = isAnswered ? answer("n", on: &$0) : answer(on: &$0)
            }
            #expect(givenUp.code == 65)
            #expect(questions.count == 1)
        }
        #expect(harness.suite.snapshot() == ["port": 84])
    }

    @Test("what the store refuses can be edited again, and the edited file is kept if a person gives up")
    func refusedByStore() async throws {
        let harness = CommandHarness(["port": 81, "limit": 5])
        let port = Setting("port", default: 8080, suite: harness.suite)
        let limit = Setting("limit", default: 10, suite: harness.suite)
        harness.catalog.require("the limit is less than the port", limit, port) { $0 < $1 }
        var questions = Counter()
        let corrected = try await edit(harness, editor: "sed -i -e 's/: 81/: 4/;t' -e 's/: 4/: 84/'") {
            questions = answer("y", on: &$0)
        }
        #expect(corrected.code == 0)
        #expect(corrected.errors.contains("the limit is less than the port"))
        #expect(questions.count == 1)
        #expect(harness.suite.snapshot() == ["port": 84, "limit": 5])
        let givenUp = try await edit(harness, editor: "sed -i 's/: 84/: 4/'", isKept: true) {
            questions = answer("y", "n", on: &$0)
        }
        #expect(givenUp.code == 65)
        #expect(questions.count == 2)
        // The editor does not start again after the refusal.
        let failed = try await edit(harness, editor: "sed -i '/: 4,/q5;s/: 84/: 4/'", isKept: true) {
            questions = answer("y", on: &$0)
        }
        #expect(failed.code == 69)
        #expect(harness.suite.snapshot() == ["port": 84, "limit": 5])
    }

    /// Changes values when the editor is about to run for the first time.
    private func whileEditing(_ console: inout CommandConsole, _ change: @escaping @Sendable () -> Void) {
        let (variable, hasChanged) = (console.variable, Flag())
        console.variable = { name in
            if name == "EDITOR", !hasChanged.isSet {
                hasChanged.set()
                change()
            }
            return variable(name)
        }
    }

    @Test("a value that changed meanwhile is not overwritten, and changes of other values are kept")
    func conflicts() async throws {
        let harness = CommandHarness(["port": 81, "ratio": 1.5, "max_limit": 5])
        let refused = try await edit(harness, editor: "sed -i -e s/81/82/ -e s/1.5/3.5/", isKept: true) { console in
            whileEditing(&console) { harness.suite[storedValueFor: "port"] = 83 }
        }
        #expect(refused.code == 75)
        #expect(refused.errors.contains("changed 'port' since"))
        #expect(harness.suite.snapshot() == ["port": 83, "ratio": 1.5, "max_limit": 5])
        let kept = try await edit(harness, editor: "sed -i -e s/83/84/ -e 's/: 5$/: 6/'") { console in
            whileEditing(&console) { harness.suite[storedValueFor: "ratio"] = 2.5 }
        }
        #expect(kept.code == 0)
        #expect(harness.suite.snapshot() == ["port": 84, "ratio": 2.5, "limit": 6])
    }

    @Test("after a value changed meanwhile, editing again on a terminal replaces it knowingly, and only it")
    func knownConflicts() async throws {
        let harness = CommandHarness(["port": 81, "ratio": 1.5])
        var questions = Counter()
        let result = try await edit(harness, editor: "sed -i s/81/82/") { console in
            whileEditing(&console) {
                harness.suite[storedValueFor: "port"] = 83
                harness.suite[storedValueFor: "ratio"] = 2.5
            }
            questions = answer("y", on: &console)
        }
        #expect(result.code == 0)
        #expect(questions.count == 1)
        #expect(result.errors.contains("changed 'port' since"))
        #expect(harness.suite.snapshot() == ["port": 82, "ratio": 2.5])
    }
}

extension SettingsSuite {
    /// Reads a file that may be broken.
    fileprivate func refreshIgnoringErrors() {
        do {
            try refresh()
        } catch {
            // The command is to say it.
        }
    }
}
