// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A settings file with comments")
struct CommentedFileTests {
    private let reporter = RecordingReporter()

    private static let text = """
        // The proxy.
        {
          "$schema": "./schema.json",

          // Changed with every release.
          "port": 80, // not 8080
          "hosts": ["a", /* b */ "c",],
          /* last */
          "limits": { "burst": 1.50, },
        }

        """

    @Test("a checkpoint changes only the members that were set")
    func checkpoint() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: Self.text)
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            #expect(suite.snapshot() == ["port": 80, "hosts": ["a", "c"], "limits": ["burst": .double(1.5)]])
            try await suite.setStoredValue(81, forKey: "port")
            try await suite.setStoredValue(true, forKey: "verbose")
            try await suite.checkpoint()
            let expected = Self.text.replacing("\"port\": 80,", with: "\"port\": 81,")
                .replacing("{ \"burst\": 1.50, },\n", with: "{ \"burst\": 1.50, },\n  \"verbose\": true,\n")
            #expect(try path.fileContents == expected)
            // The copy is read by the library only.
            let copy = try JSONWriter.prettyText(of: .dictionary(suite.snapshot()))
            #expect(try copy == Array((path + ".last-good").fileContents.utf8))

            // The file that this process has written is edited again.
            try await suite.setStoredValue(80, forKey: "port")
            try await suite.setStoredValue(nil, forKey: "verbose")
            try await suite.checkpoint()
            #expect(try path.fileContents == Self.text)
            await suite.finish()
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test(
        "keys that are set and unset leave a file as it was",
        arguments: [
            "{ // nothing yet\n}\n", "{\n  // nothing yet\n}\n", "{\n  // The heading.\n\n  // \"a\": 1\n}\n",
            "{\n  // About b.\n  \"b\": 1 // \"b\": 2\n  // \"c\": 3\n}\n", "{ \"b\": 1 /* one */ }",
            "{ /* one */ \"b\": 1 }", "{\r\n\t\"b\": 1, // one\r\n\r\n\t/* two */\r\n}",
            "{\n  \"b\": 1\n  // next\n  , \"d\": 2\n}\n", "{\"b\":1/* one */,/* two */\"d\":2/* three */}",
        ]
    )
    func settingAndUnsetting(text: String) async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: text)
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            for key in ["a", "c"] {
                try await suite.setStoredValue(1, forKey: key)
                try await suite.checkpoint()
            }
            for key in ["a", "c"] {
                try await suite.setStoredValue(nil, forKey: key)
                try await suite.checkpoint()
            }
            #expect(try path.fileContents == text)
            await suite.finish()
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("a checkpoint of a process that has not read the file preserves its comments")
    func adoptedFile() async throws {
        try await withSettingsPath { path in
            let counter = CallCounter(path)
            try path.overwriteFile(with: Self.text)
            let first = makeStore(path, CheckpointReadsTests.delayedRenames)
            let second = makeStore(path, counter.system)
            // Both have the journal open from here on.
            try first.commit { $0["port"] = 79 }
            try first.checkpoint()
            // Once, because each look at a recent file leads to another look later, which would be counted below.
            second.look()
            await eventually("the file has settled") {
                second.contents()["port"] == 79 && second.peek { $0.settings.reading?.isCertain == true }
            }
            try first.commit { $0["port"] = 81 }
            let reads = counter.count(.read)
            #expect(second.contents()["port"] == 81)
            try first.checkpoint()
            second.look()
            #expect(second.contents()["port"] == 81)
            #expect(counter.count(.read) == reads)
            try second.commit { $0["port"] = 82 }
            try second.checkpoint()
            #expect(try path.fileContents == Self.text.replacing("80,", with: "82,"))
        }
    }

    @Test("comments that are added while a checkpoint writes its draft stay, and subscribers receive the changed value")
    func editDuringDraft() async throws {
        try await withSettingsPath { path in
            let commented = "{\n  // a\n  \"a\": 3\n}\n"
            let origins = CallLog<SettingChangeOrigin>()
            let observer = WokenObserver { origins.add($0) }
            let drafting = Interruption(after: .write) { $0.hasSuffix(".new") }
            let store = makeStore(path, drafting.system)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            drafting.run { try path.replaceFile(with: commented) }
            try store.commit { $0["b"] = 2 }
            store.setObserver(observer)
            try store.checkpoint()
            #expect(try path.fileContents == "{\n  // a\n  \"a\": 3,\n  \"b\": 2\n}\n")
            #expect(origins.all == [.external])
        }
    }

    @Test("the schema of a file is not a setting, and nothing removes it")
    func schema() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"$schema": "x.json", "port": 1}"#)
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            #expect(suite.snapshot() == ["port": 1])
            #expect(suite.keys == ["port"])
            #expect(suite[storedValueFor: "$schema"] == nil)
            try await suite.removeAll()
            try await suite.checkpoint()
            #expect(try path.fileContents == #"{"$schema": "x.json"}"#)
            try await suite.setStoredValue(nil, forKey: "$schema")
            try await suite.setStoredValue(2, forKey: "port")
            try await suite.checkpoint()
            #expect(try path.fileContents == #"{"$schema": "x.json", "port": 2}"#)
            await suite.finish()
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test(
        "no value can be stored under the name of the schema, or of the last good values",
        arguments: ["$schema", "$lastGood"]
    )
    func reservedKey(key: String) async throws {
        try await withSettingsPath { path in
            for suite in [SettingsSuite.inMemory(), SettingsSuite(fileAt: path)] {
                expectError(.invalidKey) { try suite.setStoredValue("x", forKey: key) }
                expectError(.invalidKey) { try suite.transaction { try $0.setStoredValue("x", forKey: key) } }
                let setting = Setting(key, default: "", suite: suite)
                expectError(.invalidKey) { try setting.set("x") }
                setting.value = "x"
                #expect(setting.value == "")
                suite.finish()
            }
        }
    }
}
