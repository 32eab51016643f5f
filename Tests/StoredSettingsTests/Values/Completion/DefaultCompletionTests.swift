// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Codable values over their defaults")
struct DefaultCompletionTests {
    private let reporter = RecordingReporter()

    private func suite(_ value: StoredValue) -> SettingsSuite {
        .inMemory(["key": value], reporter: reporter)
    }

    @Test(
        "Row 27: a stored value in memory takes from the default what its type requires",
        arguments: CompletionCase.all
    )
    func inMemory(example: CompletionCase) throws {
        try example.check(in: suite(example.storedValue), reporter)
    }

    @Test("a hand edit of one member in a file is read, and an update stores the member that it changes")
    func handEdit() async throws {
        try await withFileSuite(reporter: reporter) { suite, path in
            @DefaultStorage(key: "pace", suite: suite) var pace = Pace()
            pace.burst = 7
            try await suite.checkpoint()
            #expect(try path.fileContents.contains("perSecond"))

            var values = $pace.values.makeAsyncIterator()
            #expect(await values.next() == Pace(burst: 7))
            try path.replaceFile(with: #"{"pace": {"perSecond": 5}}"#)
            #expect(await values.next() == Pace(perSecond: 5, burst: 20))
            #expect(pace == Pace(perSecond: 5, burst: 20))

            await #expect(try $pace.update { $0.perSecond += 1 } == Pace(perSecond: 6, burst: 20))
            #expect(suite[storedValueFor: "pace"] == ["perSecond": 6])
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("Row 27: after a struct has gained a property, its stored values keep the other properties")
    func gainedProperty() throws {
        struct OldPace: Codable, StoredValueConvertible { var perSecond = 100 }
        let suite = suite(["perSecond": 1])
        try Setting("key", default: OldPace(), suite: suite).set(OldPace(perSecond: 50))
        @DefaultStorage(key: "key", suite: suite) var pace = Pace(perSecond: 1, burst: 3)
        #expect(pace == Pace(perSecond: 50, burst: 3))
        pace.burst += 1
        #expect(suite[storedValueFor: "key"] == ["perSecond": 50, "burst": 4, "note": nil])
        #expect(reporter.errors.isEmpty)
    }

    @Test("streams and observers receive completed values, and a stored member that equals the default is no change")
    func streams() async throws {
        let suite = suite(["perSecond": 5])
        let pace = Setting("key", default: Pace(), suite: suite)
        let observed = ObservedChanges(of: pace)
        var values = pace.values.makeAsyncIterator()
        #expect(await values.next() == Pace(perSecond: 5))
        try await suite.setStoredValue(["perSecond": 5, "burst": 20], forKey: "key")
        try await suite.setStoredValue(["burst": 9], forKey: "key")
        #expect(await values.next() == Pace(burst: 9))
        #expect(observed.new == [Pace(burst: 9)])
        #expect(reporter.errors.isEmpty)
    }

    @Test("a completed value is validated")
    func validated() throws {
        let suite = suite(["burst": 500])
        let pace = Setting("key", default: Pace(), suite: suite) { $0.burst <= $0.perSecond }
        #expect(pace.value == Pace())
        #expect(reporter.errors.map(\.code) == [.validationFailed])
    }

    @Test("an optional setting without a default has nothing to take a member from")
    func noDefault() {
        let suite = suite(["burst": 3])
        @DefaultStorageOptional(key: "key", suite: suite) var pace: Pace?
        #expect(pace == nil)
        #expect(reporter.errors.map(\.code) == [.invalidValue])
        // A key with another default completes its values.
        @DefaultStorage(SettingKey<Pace?>("key"), suite: suite) var other = Pace()
        #expect(other == Pace(burst: 3))
    }

    @Test("two settings of one key complete values over their own defaults")
    func ownDefaults() {
        let suite = suite(["burst": 3])
        let first = Setting("key", default: Pace(perSecond: 1), suite: suite)
        let second = Setting("key", default: Pace(perSecond: 2), suite: suite)
        #expect(first.value == Pace(perSecond: 1, burst: 3))
        #expect(second.value == Pace(perSecond: 2, burst: 3))
    }
}
