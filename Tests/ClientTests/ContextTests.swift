// SPDX-License-Identifier: Apache-2.0

import ClientModule
import StoredSettings
import StoredSettingsTesting
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
            #expect(suite[storedValueFor: "jobs"] == 2)
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

    @Test("a loop on the main actor that receives the values of a setting one by one")
    @MainActor
    func mainActorIterator() async {
        let setting = Setting("count", default: 0, suite: suite)
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
}
