// SPDX-License-Identifier: Apache-2.0

// Tests of code that uses settings:
//
//     swift test --filter RateLimiterTests

import StoredSettings
import StoredSettingsTesting
import Testing

// Every test has a standard suite of its own, in memory. So the tests run in parallel, and leave nothing behind.
@Suite("the rate limiter", .isolatedSettings())
struct RateLimiterTests {
    @Test("as many requests are admitted as the default says")
    func defaultLimit() {
        var limiter = RateLimiter()
        let answers = (1...3).map { _ in limiter.admits() }
        #expect(answers == [true, true, false])
    }

    @Test("a limit that is raised at run time admits more requests at once", arguments: [3, 7])
    func raisedLimit(limit: Int) throws {
        var limiter = RateLimiter()
        while limiter.admits() {}
        try limiter.settings.$limit.set(limit)
        let isAdmitted = limiter.admits()
        #expect(isAdmitted)
    }

    @Test("a limit of 0 is rejected, and the limit stays")
    func rejectedLimit() {
        let reporter = RecordingReporter()
        SettingsSuite.withStandard(.inMemory(["limit": 5], reporter: reporter)) {
            let settings = LimiterSettings()
            settings.limit = 0
            #expect(settings.limit == 5)
            #expect(reporter.errors.map(\.code) == [.validationFailed])
        }
    }

    @Test("a flag overrides the stored limit")
    func flag() {
        let suite = SettingsSuite.inMemory(["limit": 5], sources: [.commandLine(["--limit", "9"])])
        SettingsSuite.withStandard(suite) {
            #expect(LimiterSettings().limit == 9)
        }
    }
}
