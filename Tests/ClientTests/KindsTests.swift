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

@Suite("Kinds of values in a client")
struct KindsTests {
    let reporter = RecordingReporter()
    let suite: SettingsSuite
    let settings: KindsOfTypes
    /// Reads the values stored by ``settings``, without any cache.
    let again: KindsOfTypes

    init() {
        let suite = SettingsSuite.inMemory(reporter: reporter)
        (settings, again) = SettingsSuite.withStandard(suite) { (KindsOfTypes(), KindsOfTypes()) }
        self.suite = suite
    }

    @Test("raw values")
    func rawValues() {
        settings.level = .warning
        settings.port.rawValue = 443
        settings.features.insert(.upload)
        settings.mode = .safe
        #expect(suite.snapshot() == ["level": "warning", "port": 443, "features": 3, "mode": 2])
        #expect(again.level == .warning)
        #expect(again.port == Port(rawValue: 443))
        #expect(again.features == [.search, .upload])
        #expect(again.mode == .safe, "The raw value takes precedence over Codable.")
    }

    @Test("Codable values, stored by their structure")
    func codable() throws {
        settings.limits.perSecond = 5
        settings.endpoint = .network(host: "localhost", port: 80)
        #expect(suite.storedValue(forKey: "limits") == ["perSecond": 5])
        #expect(suite.storedValue(forKey: "endpoint") == ["network": ["host": "localhost", "port": 80]])
        #expect(again.limits == Limits(perSecond: 5))
        #expect(again.endpoint == .network(host: "localhost", port: 80))
        settings.endpoint = .disabled
        #expect(suite.storedValue(forKey: "endpoint") == ["disabled": [:]])
    }

    @Test("values with their own conversions, in a range")
    func ownConversions() {
        settings.share = Percentage(0.25)
        #expect(suite.storedValue(forKey: "share") == 25.0)
        #expect(again.share.fraction == 0.25)
        settings.share = Percentage(1.5)
        #expect(again.share.fraction == 0.25)
        #expect(reporter.errors.map(\.code) == [.validationFailed])
    }

    @Test("collections")
    func collections() {
        let endpoints: [Endpoint] = [.socket(path: "/run"), .disabled, .network(host: "a", port: 1)]
        settings.levels = [.error, .debug]
        settings.endpoints = endpoints
        settings.endpointSet = Set(endpoints)
        settings.limitsByHost = ["a": Limits(), "b": Limits(perSecond: 1, burst: 2)]
        settings.hostsByLevel = [.error: ["a", "b"], .info: []]
        settings.nested = [["a": [["b": 1], ["c": 2, "d": 3]], "e": []], [:]]
        settings.gaps = [1, nil, 3]
        #expect(again.levels == [.error, .debug])
        #expect(again.endpoints == endpoints)
        #expect(again.endpointSet == Set(endpoints))
        #expect(again.limitsByHost == ["a": Limits(), "b": Limits(perSecond: 1, burst: 2)])
        #expect(again.hostsByLevel == [.error: ["a", "b"], .info: []])
        #expect(again.nested == [["a": [["b": 1], ["c": 2, "d": 3]], "e": []], [:]])
        #expect(again.gaps == [1, nil, 3])
        #expect(suite.storedValue(forKey: "gaps") == [1, nil, 3])
        #expect(suite.storedValue(forKey: "hostsByLevel") == ["error": ["a", "b"], "info": []])
        #expect(reporter.errors.isEmpty)
    }

    @Test("an optional whose nil is a value, unlike no stored value")
    func nullIsAValue() throws {
        #expect(settings.count == 42)
        #expect(try settings.$count.load() == .none as Int??)
        settings.count = nil
        #expect(again.count == nil)
        #expect(settings.$count.isSet)
        #expect(try settings.$count.load() == .some(.none) as Int??)
        #expect(suite.storedValue(forKey: "count") == .null)
        try settings.$count.reset()
        #expect(again.count == 42)
        settings.nothing = 1
        #expect(again.nothing == 1)
        settings.nothing = nil
        #expect(suite.snapshot() == ["nothing": .null])
    }

    @Test("an optional whose nil means that no value is stored")
    func nilIsAbsence() throws {
        settings.optionalMode = .safe
        settings.positive = 1
        settings.positive = -1
        settings.optionalColor = Color(red: 1, green: 1, blue: 1)
        settings.twice = .some(.none)
        #expect(again.optionalMode == .safe)
        #expect(again.positive == 1)
        #expect(again.twice == .some(.none))
        #expect(suite.snapshot() == ["optionalMode": 2, "positive": 1, "optionalColor": [1, 1, 1], "twice": .null])
        #expect(reporter.errors.map(\.key) == ["positive"])
        settings.optionalMode = nil
        settings.positive = nil
        settings.optionalColor = nil
        settings.twice = nil
        #expect(suite.keys.isEmpty)
        #expect(again.twice == nil)
        #expect(reporter.errors.count == 1, "The validator is not called for nil.")
    }

    @Test("values with bridges")
    func bridges() {
        settings.color.blue = 255
        settings.since = Date(timeIntervalSince1970: 1.5)
        settings.since = Date(timeIntervalSince1970: -1)
        #expect(suite.snapshot() == ["color": [0, 0, 255], "since": 1.5])
        #expect(again.color == Color(red: 0, green: 0, blue: 255))
        #expect(again.since == Date(timeIntervalSince1970: 1.5))
        #expect(reporter.errors.map(\.key) == ["since"])
    }

    @Test("ranges of every kind reject values outside")
    func ranges() {
        let settings = SettingsSuite.withStandard(suite) { KindsOfRanges() }
        settings.closed = 5
        settings.halfOpen = 4
        settings.from = 255
        settings.through = -9
        settings.upTo = 4
        settings.fraction = 1
        settings.text = "f"
        settings.date = Date(timeIntervalSince1970: 0)
        settings.timeout = .seconds(60)
        settings.even = 10
        let taken = suite.snapshot()
        #expect(taken.count == 10)
        #expect(reporter.errors.isEmpty)

        settings.closed = 6
        settings.halfOpen = 5
        settings.from = 0
        settings.through = 6
        settings.upTo = 5
        settings.fraction = 1.5
        settings.text = "g"
        settings.date = Date(timeIntervalSince1970: -1)
        settings.timeout = .seconds(61)
        settings.even = 12
        settings.even = 9
        #expect(suite.snapshot() == taken)
        #expect(reporter.errors.map(\.code) == Array(repeating: .validationFailed, count: 11))
        #expect(
            reporter.errors.prefix(7).map(\.fact) == [
                "the value is outside 1...5",
                "the value is outside 1..<5",
                "the value is below 1",
                "the value is above 5",
                "the value is not less than 5",
                "the value is outside 0.0...1.0",
                "the value is outside a...f",
            ]
        )
    }
}
