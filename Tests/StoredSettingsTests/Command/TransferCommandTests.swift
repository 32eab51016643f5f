// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("Export and import")
struct TransferCommandTests {
    @Test("export prints the stored values, without secrets and keys of no setting unless they are asked for")
    func export() async {
        let harness = CommandHarness(["port": 81, "token": "s3cret", "prot": 1, "max_limit": 5])
        let result = await harness.run("export")
        #expect(result.output == "{\n  \"limit\": 5,\n  \"port\": 81\n}\n")
        #expect(result.errors.contains("'token': secret") && result.errors.contains("'prot': not the key of a setting"))
        let all = await harness.run("export", "--reveal", "--force")
        #expect(all.output == "{\n  \"limit\": 5,\n  \"port\": 81,\n  \"prot\": 1,\n  \"token\": \"s3cret\"\n}\n")
        #expect(all.errors.isEmpty)
        #expect(await harness.run("export", "--all").output.contains("\"level\": \"info\""))
    }

    @Test("import stores what export has printed")
    func roundTrip() async {
        let values: [String: StoredValue] = [
            "port": 81, "token": "s3cret", "hosts": ["a", "b"], "ratio": 0.1, "motd": "\u{1B}é\n",
        ]
        let text = await CommandHarness(values).run("export", "--reveal").output
        let other = CommandHarness()
        #expect(await other.with(input: text).run("import", "-") == .init(code: 0, output: "", errors: ""))
        #expect(other.suite.snapshot() == values)
    }

    @Test("import accepts a last good copy, and the name of a schema")
    func reservedMembers() async {
        let harness = CommandHarness()
        let text = #"{"$lastGood": {"port": 1}, "$schema": "x", "port": 81}"#
        #expect(await harness.with(input: text).run("import", "-") == .init(code: 0, output: "", errors: ""))
        #expect(harness.suite.snapshot() == ["port": 81])
    }

    @Test("import stores all values in one transaction, or none, and reports every problem with its place")
    func importing() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory + "/new.json"
            let harness = CommandHarness(["port": 1, "motd": "old"])
            let changes = harness.suite.changes()
            try file.overwriteFile(with: "{\"port\": 0,\n \"levle\": \"debug\", \"ratio\": 2.0}")
            let result = await harness.run("import", file)
            #expect(result.code == 65)
            let messages = result.errors.split(separator: "\n")
            #expect(messages.count == 2)
            #expect(messages.first?.contains("\(file):2:11") == true)
            #expect(messages.first?.contains("Rename it to 'level'") == true)
            #expect(messages.last?.contains("\(file):1:10") == true)
            #expect(harness.suite.snapshot() == ["port": 1, "motd": "old"])

            try file.overwriteFile(with: #"{"port": 2, "level": "debug"}"#)
            #expect(await harness.run("import", file).code == 0)
            #expect(harness.suite.snapshot() == ["port": 2, "level": "debug", "motd": "old"])
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next()?.keys == ["level", "port"])
        }
    }

    @Test("import --replace removes other values, and keeps secrets and keys of no setting")
    func replacing() async {
        let values: [String: StoredValue] = ["port": 1, "max_limit": 2, "token": "s3cret", "prot": 3]
        let harness = CommandHarness(values)
        #expect(await harness.with(input: #"{"ratio": 1.0}"#).run("import", "-", "--replace").code == 0)
        #expect(harness.suite.snapshot() == ["ratio": 1.0, "token": "s3cret", "prot": 3])
        #expect(await harness.with(input: "{}").run("import", "-", "--replace", "--force").code == 0)
        #expect(harness.suite.snapshot() == ["token": "s3cret"])
    }

    @Test("suites with one name are told apart by a number, in an export, an import, an editor and after --suite")
    func suitesOfOneName() async throws {
        let suites = [SettingsSuite.inMemory(["a": 2]), SettingsSuite.inMemory(["b": 3]), SettingsSuite.inMemory()]
        let settings = zip(["a", "b", "c"], suites).map { Setting($0, default: 1, suite: $1) }
        let harness = CommandHarness(suites[0], SettingsCatalog((settings[0], settings[1], settings[2])))
        let text = await harness.run("export").output
        let object = try JSONReader.readObject(Array(text.utf8), .settingsFile)
        #expect(object == ["in memory": ["a": 2], "in memory (2)": ["b": 3], "in memory (3)": [:]])
        let ambiguous = await harness.run("schema").errors
        #expect(ambiguous.contains("--suite 'in memory'") && ambiguous.contains("'in memory (2)'"), "\(ambiguous)")
        #expect(await harness.run("get", "b", "--suite", "in memory (2)").output == "3\n")
        try await suites[0].setStoredValue(5, forKey: "a")
        try await suites[2].setStoredValue(5, forKey: "c")
        #expect(await harness.with(input: text).run("import", "-", "--replace").code == 0)
        #expect(suites.map { $0.snapshot() } == [["a": 2], ["b": 3], [:]])
        try await withTemporaryDirectory { directory in
            for (editor, value) in [("touch", 3), ("sed -i 's/: 3/: 4/'", 4)] as [(String, StoredValue)] {
                #expect(await harness.with(editor: editor, in: directory).run("edit").code == 0)
                #expect(suites.map { $0.snapshot() } == [["a": 2], ["b": value], [:]])
            }
        }
    }

    @Test("a key that no setting has is exported once for several suites with one store")
    func suitesOfOneStore() async throws {
        let store = InMemoryStore(["a": 2, "b": 3, "other": 4])
        let first = SettingsSuite(store: store, name: "one")
        let second = SettingsSuite(store: store, name: "one", sources: [.environment([:], prefix: "X_")])
        let catalog = SettingsCatalog((Setting("a", default: 1, suite: first), Setting("b", default: 1, suite: second)))
        let harness = CommandHarness(first, catalog)
        let text = await harness.run("export", "--force").output
        let object = try JSONReader.readObject(Array(text.utf8), .settingsFile)
        #expect(object == ["one": ["a": 2, "other": 4], "one (2)": ["b": 3]])
        #expect(await harness.with(input: text).run("import", "-", "--replace", "--force").code == 0)
        #expect(store.contents() == ["a": 2, "b": 3, "other": 4])
        let less = #"{"one": {"a": 2}, "one (2)": {"b": 3}}"#
        #expect(await harness.with(input: less).run("import", "-", "--replace", "--force").code == 0)
        #expect(store.contents() == ["a": 2, "b": 3])
    }

    @Test("the record of migrations is exported and imported, and never removed")
    func migrations() async throws {
        let key = SettingsMigrator.defaultRecordKey
        let harness = CommandHarness(["port": 81, key: ["one"]])
        let result = await harness.run("export")
        #expect(result.errors.isEmpty)
        #expect(await harness.run("unset", key).code == 64)
        let other = CommandHarness(["port": 5])
        #expect(await other.with(input: result.output).run("import", "-").code == 0)
        #expect(other.suite.snapshot() == ["port": 81, key: ["one"]])
        #expect(await other.with(input: "{}").run("import", "-", "--replace", "--force").code == 0)
        #expect(other.suite.snapshot() == [key: ["one"]])
        #expect(await other.with(input: "{\"\(key)\": 5}").run("import", "-").code == 65)
        #expect(await other.with(input: "{\"\(key)\": [\"two\"]}").run("import", "-", "--replace").code == 0)
        #expect(other.suite.snapshot() == [key: ["two"]])
        try await withTemporaryDirectory { directory in
            #expect(await harness.with(editor: "echo '{}' >", in: directory).run("edit", "--force").code == 0)
        }
        #expect(harness.suite.snapshot() == [key: ["one"]])
    }

    @Test("export prints the stored values, also if others are used because a requirement is not met")
    func unmetRequirement() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.replaceFile(with: #"{"least": 30, "most": 20}"#)
            let suite = SettingsSuite(fileAt: path, reporter: RecordingReporter())
            defer { suite.finish() }
            let pool = PoolSettings(suite)
            #expect(pool.values != [30, 20])
            let harness = CommandHarness(suite, pool.catalog)
            #expect(await harness.run("export").output == "{\n  \"least\": 30,\n  \"most\": 20\n}\n")
            let edited = await harness.with(editor: "sed -i s/30/10/", in: directory).run("edit")
            #expect(edited.code == 0, "\(edited.errors)")
            #expect(pool.values == [10, 20])
        }
    }

    @Test("import reads a pipe")
    func pipe() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/pipe"
            #expect(mkfifo(path, 0o600) == 0)
            let text = "{\"motd\": \"\(String(repeating: "x", count: 100_000))\"}"
            Thread.detachNewThread {
                do {
                    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                    try file.write(contentsOf: Data(text.utf8))
                    try file.close()
                } catch {
                    Issue.record(error)
                }
            }
            let harness = CommandHarness()
            let result = await harness.run("import", path)
            #expect(result == .init(code: 0, output: "", errors: ""))
            #expect(harness.suite[storedValueFor: "motd"] == .string(String(repeating: "x", count: 100_000)))
        }
    }

    @Test("import refuses a file that is missing or malformed, and a placeholder for a secret")
    func refused() async throws {
        let harness = CommandHarness(["token": "s3cret"])
        #expect(await harness.run("import", "/missing/file").code == 66)
        for text in ["", "[]", "{", #"{"port": 1, "port": 2}"#, #"{"token": "••••"}"#, #"{"": 1}"#] {
            let result = await harness.with(input: text).run("import", "-")
            #expect(result.code == 65, "\(text)")
            #expect(result.errors.contains("standard input"), "\(result.errors)")
        }
        #expect(harness.suite.snapshot() == ["token": "s3cret"])
    }
}
