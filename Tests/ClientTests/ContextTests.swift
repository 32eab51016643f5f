// SPDX-License-Identifier: Apache-2.0

import ClientModule
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Contexts of settings in a client")
struct ContextTests {
    let reporter = RecordingReporter()
    let suite: SettingsSuite

    init() {
        suite = .inMemory(reporter: reporter)
    }

    @Test("a shared Sendable struct")
    func sharedStructure() async throws {
        // No other test uses the shared settings.
        let shared = ServerSettings.shared
        #expect(shared.port == 8080)
        let ports = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                group.addTask { try await ServerSettings.shared.$port.update { $0 += 1 } }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(ports == Set(8081...8096))
        #expect(ServerSettings.shared.port == 8096)
    }

    @Test("a struct in a `let`")
    func structureInLet() {
        let application = Application(ServerSettings(suite: suite))
        application.move(to: 9090)
        application.settings.logLevel = .error
        #expect(application.settings.port == 9090)
        #expect(application.settings.allowedHosts == ["localhost", "example.org"])
        #expect(application.settings.limits == Limits(perSecond: 100, burst: 7))
        #expect(application.settings.lastDeploy == Date(timeIntervalSince1970: 1))
        #expect(
            suite.snapshot() == [
                "port": 9090,
                "logLevel": "error",
                "allowedHosts": ["example.org", "localhost"],
                "limits": ["perSecond": 100, "burst": 7],
                "lastDeploy": .date(Date(timeIntervalSince1970: 1)),
            ]
        )
        application.settings.port = 0
        #expect(application.settings.port == 9090, "A value outside the range is rejected.")
        #expect(reporter.errors.map(\.key) == ["port"])
    }

    @Test("a struct of another module with its projected values")
    func structureOfAnotherModule() throws {
        let settings = ServerSettings(suite: suite)
        #expect(!settings.$port.isSet)
        #expect(settings.$port.key == "port")
        #expect(settings.$port.suite == suite)
        #expect(settings.$port.defaultValue == 8080)
        #expect(try settings.$port.update { $0 += 1 } == 8081)
        expectError(.validationFailed) { try settings.$port.set(65_536) }
        #expect(try settings.$port.load() == 8081)
        #expect(try settings.$lastDeploy.load() == nil)
        #expect(settings.$port.explain().layer == .store)
        #expect(settings.$logLevel.explain().layer == .default)
        try settings.$port.reset()
        #expect(settings.port == 8080)
    }

    @Test("a class on the main actor")
    @MainActor
    func mainActorClass() async {
        await SettingsSuite.withStandard(suite) {
            let settings = WindowSettings()
            settings.width = 1000
            settings.title = "Title"
            #expect(suite.snapshot() == ["width": 1000, "title": "Title"])
            settings.width = 0
            #expect(settings.width == 1000, "A value outside the range is rejected.")
            #expect(reporter.errors.map(\.key) == ["width"])
            #expect(await settings.widen(upTo: 1200) == [1000, 1100, 1200])
        }
    }

    @Test("an actor")
    func actor() async throws {
        try await SettingsSuite.withStandard(suite) {
            let worker = Worker()
            try await worker.addJob()
            try await worker.addJob()
            #expect(await worker.jobs == 2)
            #expect(suite.storedValue(forKey: "jobs") == 2)
            #expect(await worker.$jobs.isSet)
            let setting = await worker.$jobs
            setting.value = 7
            #expect(await worker.jobs == 7)
            await worker.rest(since: Date(timeIntervalSince1970: 3))
            #expect(await worker.idleSince == Date(timeIntervalSince1970: 3))
            #expect(try await worker.count(to: 3) == [1, 2, 3])
            #expect(await worker.idleSince == nil)
            #expect(!suite.contains("idleSince"))
        }
    }

    @Test("a class and its subclass")
    func plainClass() {
        SettingsSuite.withStandard(suite) {
            let settings = SpecialToolSettings()
            settings.retries += 1
            settings.recent.append("file")
            settings.isDryRun.toggle()
            let other = ToolSettings()
            #expect(other.retries == 4)
            #expect(other.recent == ["file"])
            #expect(suite.snapshot() == ["retries": 4, "recent": ["file"], "dryRun": true])
        }
    }

    @Test("an unchecked Sendable class")
    func uncheckedClass() async throws {
        let settings = SettingsSuite.withStandard(suite) { SharedSettings() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    settings.last = "task \(index)"
                    try await settings.$hits.update { $0 += 1 }
                }
            }
            try await group.waitForAll()
        }
        #expect(settings.hits == 8)
        #expect(settings.last?.hasPrefix("task ") == true)
    }

    @Test("a generic type")
    func genericType() {
        let numbers = Cache(default: 1, key: "numbers", suite: suite)
        let levels = Cache(default: LogLevel.info, key: "levels", suite: suite)
        let lists = Cache<[Limits?]>(default: [], key: "lists", suite: suite)
        numbers.push(2)
        levels.push(.error)
        lists.push([Limits(), nil])
        #expect(numbers.newest == 2)
        #expect(numbers.previous == 1)
        #expect(levels.all == ["newest": .error])
        #expect(lists.newest == [Limits(), nil])
        #expect(lists.previous == [])
        #expect(suite.storedValue(forKey: "lists") == [["perSecond": 100], nil])
    }

    @Test("local variables")
    func localVariables() {
        let (count, isSet, note) = SettingsSuite.withStandard(suite) { countLocally() }
        #expect(count == 2)
        #expect(isSet)
        #expect(note == "noted")
        #expect(suite.snapshot() == ["local.count": 2, "local.note": "noted", "quality": 0.25])
    }

    @Test("a setting without a wrapper")
    func noWrapper() throws {
        let port = Setting("port", default: 8080, suite: suite)
        let deploy = Setting(.lastDeploy, suite: suite)
        let maximum = Setting<Int?>("maximum", default: nil, suite: suite)
        port.value += 1
        deploy.value = Date(timeIntervalSince1970: 1)
        maximum.value = nil
        #expect(try port.load() == 8081)
        #expect(maximum.isSet)
        #expect(suite.storedValue(forKey: "maximum") == .null)
        deploy.value = nil
        #expect(suite.keys == ["maximum", "port"])
    }
}
