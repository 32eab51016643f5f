// SPDX-License-Identifier: Apache-2.0

import ClientModule
import StoredSettings
import TestSupport
import Testing

@Suite("Settings in a client's tasks", .deadlockLimit)
struct ConcurrencyTests {
    @Test("each task has its own standard suite", arguments: 0..<8)
    func standardSuites(_ index: Int) async throws {
        let suite = SettingsSuite.inMemory()
        try await SettingsSuite.withStandard(suite) {
            #expect(SettingsSuite.standard == suite)
            #expect(StandardSettings().count == 0)
            // Tasks that start here, and their child tasks, share the suite.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let sum = try await Task { try await StandardSettings().$count.update { $0 += index } }.value
                        #expect(sum.isMultiple(of: max(index, 1)))
                        StandardSettings().owner = "owner \(index)"
                    }
                }
                try await group.waitForAll()
            }
            #expect(StandardSettings().count == 4 * index)
            #expect(StandardSettings().owner == "owner \(index)")
            SettingsSuite.withStandard(.inMemory()) {
                #expect(StandardSettings().owner == nil)
            }
        }
        #expect(suite.keys == (index == 0 ? ["owner"] : ["count", "owner"]))
    }

    @Test("a setting stays in the suite in which it was created")
    func settingsStayWithTheirSuite() {
        let suite = SettingsSuite.inMemory()
        let settings = SettingsSuite.withStandard(suite) { StandardSettings() }
        SettingsSuite.withStandard(.inMemory()) { settings.count = 5 }
        #expect(suite.snapshot() == ["count": 5])
    }

    @Test("settings are passed to actors and back")
    func settingsCrossIsolation() async throws {
        actor Reader {
            func read(_ setting: Setting<Int>) -> Int { setting.value }
            func make(in suite: SettingsSuite) -> Setting<Int> { Setting("count", default: 1, suite: suite) }
        }
        let suite = SettingsSuite.inMemory()
        let reader = Reader()
        let setting = await reader.make(in: suite)
        let written = try await Task.detached { try await setting.update { $0 += 41 } }.value
        #expect(written == 42)
        #expect(await reader.read(setting) == 42)
        #expect(await MainActor.run { setting.value } == 42)
    }

    @Test("a task receives the values of a setting")
    func values() async {
        let settings = ServerSettings(suite: .inMemory())
        let follower = Task {
            var seen: [Int] = []
            for await port in settings.$port.values {
                seen.append(port)
                if port == 3 { break }
                settings.port = seen.count
            }
            return seen
        }
        #expect(await follower.value == [8080, 1, 2, 3])
    }

    @Test("a task receives the changes of a setting, of some keys and of a whole suite")
    func changes() async throws {
        let suite = SettingsSuite.inMemory()
        let settings = ServerSettings(suite: suite)
        let ports = settings.$port.changes()
        let some = suite.changes(of: .hosts, .port)
        let named = suite.changes(of: "logLevel")
        let all = suite.changes()
        try await suite.transaction { transaction in
            transaction[settings.$port] = 1
            transaction[settings.$logLevel] = .error
        }
        async let port = ports.first { _ in true }
        async let keys = some.first { _ in true }?.keys
        async let level = named.first { _ in true }?["logLevel"]?.new
        async let allKeys = all.first { _ in true }?.keys
        #expect(await port == SettingChange(old: 8080, new: 1, origin: .local))
        #expect(await keys == ["port"])
        #expect(await level == "error")
        #expect(await allKeys == ["logLevel", "port"])
    }

    @Test("a task on the main actor receives the values of a setting one by one")
    @MainActor
    func mainActorIterator() async {
        let setting = Setting("count", default: 0, suite: .inMemory())
        var values = setting.values.makeAsyncIterator()
        #expect(await values.next(isolation: MainActor.shared) == 0)
        setting.value = 1
        setting.value = 2
        #expect(await values.next(isolation: #isolation) == 2, "A slow consumer receives the newest value.")
        setting.value = 3
        #expect(await values.next() == 3)
        await setting.suite.finish()
        #expect(await values.next(isolation: MainActor.shared) == nil)
    }

    @Test("a canceled stream ends")
    func cancellation() async {
        let settings = ServerSettings(suite: .inMemory())
        let (started, signal) = AsyncStream.makeStream(of: Void.self)
        let follower = Task {
            var seen: [Int] = []
            for await port in settings.$port.values {
                seen.append(port)
                signal.finish()
            }
            return seen
        }
        for await _ in started {}
        follower.cancel()
        #expect(await follower.value == [8080])
    }

    @Test("several tasks use one sequence, each with its own loop")
    func sharedSequence() async {
        let setting = Setting("count", default: 0, suite: .inMemory())
        let values = setting.values
        let sums = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var sum = 0
                    for await value in values {
                        sum += value
                        guard value == 0 else { break }
                        setting.value = 5
                    }
                    return sum
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sums == [5, 5, 5, 5])
    }

    @Test("observation notifies a task of changes")
    func observation() {
        let settings = ServerSettings(suite: .inMemory())
        let received = Setting("received", default: [Int](), suite: .inMemory())
        let observation = settings.$port.observe(initial: true) { received.value.append($0.new) }
        settings.port = 1
        settings.port = 1
        settings.port = 2
        observation.invalidate()
        settings.port = 3
        #expect(received.value == [8080, 1, 2])
    }
}
