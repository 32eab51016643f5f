// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StoredSettings
@testable import StoredSettingsCommand

@Suite("watch", .deadlockLimit)
struct WatchCommandTests {
    @Test("watch prints each change of the chosen settings, one line each, until it is canceled")
    func watching() async throws {
        let harness = CommandHarness(["port": 1])
        let task = Task { await harness.run("watch", "--initial", "port", "motd", "token", "limit") }
        await eventually("the current values") { harness.output == "port=1\nmotd\ntoken\nlimit=10\n" }
        func change(_ values: [String: StoredValue?], _ expected: String) async throws {
            let before = harness.output
            try await harness.suite.transaction { transaction in
                for (key, value) in values { try transaction.setStoredValue(value, forKey: key) }
            }
            await eventually("\(expected)") { harness.output != before }
            #expect(harness.output == before + expected)
        }
        try await change(["port": 2, "ratio": 1.0, "motd": "a\nport=3"], "port=2\nmotd=a\\nport=3\n")
        // The value of another setting, and the same value, are no changes that are printed.
        try await harness.suite.setStoredValue(3.0, forKey: "ratio")
        try await change(["token": "s3cret", "port": 2], "token=••••\n")
        try await change(["motd": nil], "motd\n")
        try await change(["max_limit": 4], "limit=4\n")
        task.cancel()
        #expect(await task.value.code == 0)
    }

    @Test("watch prints the changes of a group's settings with their whole keys")
    func group() async throws {
        let suite = SettingsSuite.inMemory()
        let group = suite.group("db")
        let harness = CommandHarness(suite, SettingsCatalog(Setting("host", default: "a", suite: group)))
        let task = Task { await harness.run("watch", "--initial") }
        await eventually("the current value") { harness.output == "db.host=a\n" }
        try await group.setStoredValue("b", forKey: "host")
        await eventually("the change") { harness.output == "db.host=a\ndb.host=b\n" }
        task.cancel()
        #expect(await task.value.errors.isEmpty)
    }

    @Test("watch --json prints an object on each line")
    func json() async throws {
        let harness = CommandHarness()
        let task = Task { await harness.run("watch", "--json", "--initial", "hosts", "token") }
        let first = "{\"key\":\"hosts\",\"value\":[\"localhost\"]}\n{\"key\":\"token\",\"value\":null}\n"
        await eventually("the current values") { harness.output == first }
        try await harness.suite.setStoredValue("s3cret", forKey: "token")
        await eventually("the change") { harness.output == first + "{\"key\":\"token\",\"value\":\"••••\"}\n" }
        task.cancel()
        #expect(await task.value.errors.isEmpty)
    }

    @Test("watch prints the changes of layers, except those that a stored value hides")
    func layers() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/base.json"
            try path.overwriteFile(with: #"{"max_limit": 5}"#)
            let fleet = SettingsSuite.inMemory(["port": 1, "ratio": 0.25])
            let suite = SettingsSuite.inMemory(["ratio": 1.5], sources: [.suite(fleet), .file(path)])
            let harness = CommandHarness(suite: suite)
            let task = Task { await harness.run("watch", "--initial", "port", "ratio", "limit") }
            await eventually("the current values") { harness.output == "port=1\nratio=1.5\nlimit=5\n" }
            try await fleet.setStoredValue(0.5, forKey: "ratio")
            try await fleet.setStoredValue(2, forKey: "port")
            await eventually("the change of the suite") { harness.output.hasSuffix("limit=5\nport=2\n") }
            try path.replaceFile(with: #"{"max_limit": 6}"#)
            await eventually("the change of the file") { harness.output.hasSuffix("limit=5\nport=2\nlimit=6\n") }
            task.cancel()
            #expect(await task.value.code == 0)
        }
    }

    @Test("watch prints the changes of several suites")
    func suites() async throws {
        let (first, second) = (SettingsSuite.inMemory(), SettingsSuite.inMemory())
        let catalog = SettingsCatalog(
            Setting("a", default: 1, suite: first),
            Setting("b", default: 2, suite: second)
        )
        let harness = CommandHarness(first, catalog)
        let task = Task { await harness.run("watch", "--initial") }
        await eventually("the current values") { harness.output == "a=1\nb=2\n" }
        try await second.setStoredValue(3, forKey: "b")
        await eventually("the second change") { harness.output == "a=1\nb=2\nb=3\n" }
        try await first.setStoredValue(4, forKey: "a")
        await eventually("the first change") { harness.output == "a=1\nb=2\nb=3\na=4\n" }
        await first.finish()
        await second.finish()
        #expect(await task.value.code == 0)
    }
}
