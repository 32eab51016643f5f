// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Parity: overrides")
struct OverrideParityTests {
    private enum LogLevel: String, StoredValueConvertible { case debug, info }
    private enum Priority: Int, StoredValueConvertible { case low, high }
    private struct Limits: Codable, Equatable, StoredValueConvertible {
        var perSecond = 100
        var burst: Int?
    }
    private struct Celsius: StoredValueBridge {
        func value(from storedValue: StoredValue) throws -> Double { try storedValue.as(Double.self) - 273.15 }
        func storedValue(from value: Double) throws -> StoredValue { .double(value + 273.15) }
    }

    private struct Settings {
        @DefaultStorage var verbose: Bool
        @DefaultStorage var color: Bool
        @DefaultStorage var port: Int
        @DefaultStorage var offset: Int8
        @DefaultStorage var ratio: Double
        @DefaultStorage var name: String
        @DefaultStorage var logLevel: LogLevel
        @DefaultStorage var priority: Priority
        @DefaultStorage var since: Date
        @DefaultStorage var data: Data
        @DefaultStorage var home: URL
        @DefaultStorage var timeout: Duration
        @DefaultStorage var hosts: [String]
        @DefaultStorage var ids: Set<Int>
        @DefaultStorage var weights: [String: Double]
        @DefaultStorage var limits: Limits
        @DefaultStorage var range: ClosedRange<Int>
        @DefaultStorage var count: Int?
        @DefaultStorage var warmth: Double
        @DefaultStorageOptional var token: String?

        init(_ suite: SettingsSuite) {
            _verbose = DefaultStorage(wrappedValue: false, key: "verbose", suite: suite)
            _color = DefaultStorage(wrappedValue: true, key: "color", suite: suite)
            _port = DefaultStorage(wrappedValue: 8080, key: "port", suite: suite, in: 1...65_535)
            _offset = DefaultStorage(wrappedValue: 0, key: "offset", suite: suite)
            _ratio = DefaultStorage(wrappedValue: 0, key: "ratio", suite: suite)
            _name = DefaultStorage(wrappedValue: "", key: "name", suite: suite)
            _logLevel = DefaultStorage(wrappedValue: .info, key: "logLevel", suite: suite)
            _priority = DefaultStorage(wrappedValue: .low, key: "priority", suite: suite)
            _since = DefaultStorage(wrappedValue: .distantPast, key: "since", suite: suite)
            _data = DefaultStorage(wrappedValue: Data(), key: "data", suite: suite)
            _home = DefaultStorage(wrappedValue: URL(filePath: "/"), key: "home", suite: suite)
            _timeout = DefaultStorage(wrappedValue: .zero, key: "timeout", suite: suite)
            _hosts = DefaultStorage(wrappedValue: ["localhost"], key: "hosts", suite: suite)
            _ids = DefaultStorage(wrappedValue: [], key: "ids", suite: suite)
            _weights = DefaultStorage(wrappedValue: [:], key: "weights", suite: suite)
            _limits = DefaultStorage(wrappedValue: Limits(), key: "limits", suite: suite)
            _range = DefaultStorage(wrappedValue: 0...1, key: "range", suite: suite)
            _count = DefaultStorage(wrappedValue: 42, key: "count", suite: suite)
            _warmth = DefaultStorage(wrappedValue: 0, key: "warmth", suite: suite, as: Celsius())
            _token = DefaultStorageOptional(key: "token", suite: suite)
        }
    }

    private static let arguments = [
        "--verbose", "input.txt", "--no-color", "--port", "9090", "--offset", "-5", "--ratio=2.5e3", "--name", "42",
        "-logLevel", "debug", "--priority", "1", "--since", "2026-11-21T13:00:00Z", "--data=aGk=", "--home",
        "https://example.org/?a=b,c", "--timeout", "1.5s", "--hosts", "a,b", "--hosts", "c", "--ids=3,1,3", "--weights",
        "a=1,b=2.5", "--limits", #"{"perSecond": 7}"#, "--range=2,9", "--count", "null", "--warmth", "273.15",
        "--token", "secret", "--", "--port", "1",
    ]

    private static let variables = [
        "ACME_VERBOSE": "YES", "ACME_COLOR": "0", "ACME_PORT": "9090", "ACME_OFFSET": "-5", "ACME_RATIO": "2500",
        "ACME_NAME": "42", "ACME_LOG_LEVEL": "debug", "ACME_PRIORITY": "1", "ACME_SINCE": "2026-11-21T13:00:00Z",
        "ACME_DATA": "aGk=", "ACME_HOME": "https://example.org/?a=b,c", "ACME_TIMEOUT": "1.5s", "ACME_HOSTS": "a, b, c",
        "ACME_IDS": "[1, 3]", "ACME_WEIGHTS": #"{"a": 1, "b": 2.5}"#, "ACME_LIMITS": "perSecond=7",
        "ACME_RANGE": "[2, 9]", "ACME_COUNT": "null", "ACME_WARMTH": "273.15", "ACME_TOKEN": "secret",
    ]

    @Test(
        "Row 42: command-line arguments and environment variables override settings of every type",
        arguments: [
            SettingsSource.commandLine(arguments), .environment(variables, prefix: "ACME_"),
        ]
    )
    func everyType(override: SettingsSource) throws {
        let reporter = RecordingReporter()
        let suite = SettingsSuite.inMemory(sources: [override], reporter: reporter)
        let settings = Settings(suite)
        #expect(settings.verbose)
        #expect(!settings.color)
        #expect(settings.port == 9090)
        #expect(settings.offset == -5)
        #expect(settings.ratio == 2500)
        #expect(settings.name == "42")
        #expect(settings.logLevel == .debug)
        #expect(settings.priority == .high)
        #expect(settings.since == Date(timeIntervalSince1970: 1_795_266_000))
        #expect(settings.data == Data("hi".utf8))
        #expect(settings.home.absoluteString == "https://example.org/?a=b,c")
        #expect(settings.timeout == .seconds(1.5))
        #expect(settings.hosts == ["a", "b", "c"])
        #expect(settings.ids == [1, 3])
        #expect(settings.weights == ["a": 1, "b": 2.5])
        #expect(settings.limits == Limits(perSecond: 7))
        #expect(settings.range == 2...9)
        #expect(settings.count == nil)
        #expect(settings.warmth == 0)
        #expect(settings.token == "secret")
        #expect(reporter.errors.map(\.message) == [])
        #expect(suite.snapshot().isEmpty)
        let isOfFlags = override == .commandLine(Self.arguments)
        #expect(settings.$token.explain().layer == (isOfFlags ? .commandLine : .environment))
    }
}
