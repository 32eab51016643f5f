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
        func value<Value: StoredValueConvertible>(_ key: String, default value: Value) -> Value {
            Setting(key, default: value, suite: suite).value
        }
        #expect(value("verbose", default: false))
        #expect(!value("color", default: true))
        #expect(value("port", default: Int.zero) == 9090)
        #expect(value("offset", default: Int8(0)) == -5)
        #expect(value("ratio", default: Double.zero) == 2500)
        #expect(value("name", default: "") == "42")
        #expect(value("logLevel", default: LogLevel.info) == .debug)
        #expect(value("priority", default: Priority.low) == .high)
        #expect(value("since", default: Date.distantPast) == Date(timeIntervalSince1970: 1_795_266_000))
        #expect(value("data", default: Data()) == Data("hi".utf8))
        #expect(value("home", default: URL(filePath: "/")).absoluteString == "https://example.org/?a=b,c")
        #expect(value("timeout", default: Duration.zero) == .seconds(1.5))
        #expect(value("hosts", default: ["localhost"]) == ["a", "b", "c"])
        #expect(value("ids", default: Set<Int>()) == [1, 3])
        #expect(value("weights", default: [String: Double]()) == ["a": 1, "b": 2.5])
        #expect(value("limits", default: Limits()) == Limits(perSecond: 7))
        #expect(value("range", default: Int.zero...1) == 2...9)
        #expect(Setting<Int?>("count", default: 42, suite: suite).value == nil)
        #expect(Setting("warmth", default: 1, suite: suite, as: Celsius()).value == 0)
        let token = Setting<String?>("token", suite: suite)
        #expect(token.value == "secret")
        #expect(reporter.errors.map(\.message) == [])
        #expect(suite.snapshot().isEmpty)
        let isOfFlags = override == .commandLine(Self.arguments)
        #expect(token.explain().layer == (isOfFlags ? .commandLine : .environment))
    }
}
