// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import StoredSettings
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsFoundation

extension UserDefaultsTests {
    @Suite("Limits of UserDefaults")
    struct Traps {
        #if !canImport(ObjectiveC)
        static let hard: [(name: String, value: StoredValue)] = [
            ("true", true), ("an integer", 7), ("a number with a fraction", 0.1),
            ("the least number", .double(.leastNonzeroMagnitude)), ("bytes", .data(Data(0...255))),
            ("no bytes", .data(Data())), ("no text", ""),
            ("nested collections", [["a": [[1, 2]]], []]),
            ("null", .null), ("the largest Int", .integer(Int128(Int.max))),
            ("the largest UInt64", .integer(Int128(UInt64.max))), ("the smallest Int128", .integer(.min)),
            ("negative zero", .double(-0.0)), ("NaN", .double(.nan)), ("infinity", .double(.infinity)),
            ("a byte order mark", "\u{FEFF}text"), ("control characters", "\0\u{1}\r\n"),
            ("a fraction of a second", .date(Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7))),
            ("a fraction before 2001", .date(Date(timeIntervalSinceReferenceDate: -0.75))),
            ("a date beyond the calendar", .date(Date(timeIntervalSinceReferenceDate: 1e20))),
            ("null in an array", [1, nil]), ("null in a dictionary", ["a": nil, "b": 1]),
            (
                "a dictionary that resembles a tag",
                ["date": "0.5", "x": [["double": "nan"], .date(Date(timeIntervalSinceReferenceDate: 0.5))]]
            ),
            ("a name with a byte order mark", ["\u{FEFF}a": 1, "a": 2]),
        ]

        @Test("every stored value is preserved exactly by the file", arguments: hard.indices)
        func exact(_ index: Int) async throws {
            try await withDomain { domain in
                let (name, value) = Self.hard[index]
                let store = UserDefaultsStore(try domain.open())
                for key in ["key", "\u{FEFF}key"] { try store.commit { $0[key] = value } }
                // Makes Foundation read the file again.
                let file = try domain.contentsOnDisk
                try domain.overwrite(with: [:])
                try store.synchronize()
                #expect(store.contents() == [:])
                try domain.overwrite(with: file)
                let other = UserDefaultsStore(try domain.open())
                try other.synchronize()
                #expect(other.contents() == ["key": value, "\u{FEFF}key": value], "\(name)")
            }
        }

        @Test("several threads that read a suite first receive the stored values")
        func firstTouch() async throws {
            for _ in 0..<10 {
                try await withDomain { domain in
                    // Enough values that reading the file takes some time.
                    let others = Dictionary(uniqueKeysWithValues: (0..<500).map { ("key \($0)", $0) })
                    try domain.overwrite(with: others.merging(["a": 7]) { $1 })
                    let suites = try (0..<8).map { _ in SettingsSuite(userDefaults: try domain.open()) }
                    let values = Mutex<[Int]>([])
                    DispatchQueue.concurrentPerform(iterations: 8) { index in
                        let value = suites[index][SettingKey("a", default: 0)]
                        values.withLock { $0.append(value) }
                    }
                    #expect(values.withLock { $0 } == Array(repeating: 7, count: 8))
                }
            }
        }

        @Test("a file that is not a property list is read as empty")
        func brokenFile() async throws {
            try await withDomain { domain in
                try domain.file.overwriteFile(with: "not a property list")
                let suite = SettingsSuite(userDefaults: try domain.open())
                #expect(suite.keys == [])
                suite[SettingKey("a", default: 0)] = 1
                #expect(suite[SettingKey("a", default: 0)] == 1)
            }
        }
        #endif

        @Test("damaged exact forms are ignored, and the native forms are used")
        func damagedExactForms() async throws {
            try await withDefaults { defaults, _ in
                let suite = SettingsSuite(userDefaults: defaults)
                let date = Setting("date", default: Date.distantPast, suite: suite)
                date.value = Date(timeIntervalSinceReferenceDate: 0.5)
                for spoilt in [Data([1, 2, 3]), Data(#"{"date":{"date":5}}"#.utf8), Data(#"{"date":{}}"#.utf8)]
                    as [Data]
                {
                    defaults.set(spoilt, forKey: ExactForms.key)
                    #expect(abs(date.value.timeIntervalSinceReferenceDate) < 1)
                }
                defaults.set("text", forKey: ExactForms.key)
                #expect(suite.keys == ["date"])
                expectError(.invalidKey) {
                    try suite.setStoredValue(1, forKey: ExactForms.key)
                }
            }
        }

        @Test("launch arguments are not part of a suite")
        func arguments() async throws {
            try await withDefaults { defaults, _ in
                defaults.setVolatileDomain(["port": "1"], forName: UserDefaults.argumentDomain)
                #expect(defaults.string(forKey: "port") == "1")
                let suite = SettingsSuite(userDefaults: defaults)
                let port = Setting("port", default: 80, suite: suite)
                #expect(port.value == 80 && !port.isSet)
                port.value = 8080
                #expect(port.value == 8080 && suite.keys == ["port"])
            }
        }

        @Test("a set that cannot be written throws and changes nothing; an assignment is retained and retried")
        func unwritable() async throws {
            try await withDomain { domain in
                let defaults = try #require(FullDisk(suiteName: domain.name))
                let reporter = RecordingReporter()
                let suite = SettingsSuite(userDefaults: defaults, reporter: reporter)
                let setting = Setting("a", default: 0, suite: suite)
                try await setting.set(1)
                defaults.isFull.withLock { $0 = true }
                expectError(.writeFailed) { try setting.set(2) }
                #expect(setting.value == 1 && defaults.integer(forKey: "a") == 1)
                setting.value = 3
                #expect(setting.value == 3 && reporter.errors.map(\.code) == [.writeFailed])
                expectError(.notSaved) { try suite.synchronize() }
                defaults.isFull.withLock { $0 = false }
                try await suite.synchronize()
                #expect(defaults.integer(forKey: "a") == 3)
            }
        }
    }
}

/// Preferences that fail to write on demand.
private final class FullDisk: UserDefaults {
    let isFull = Mutex(false)

    override func synchronize() -> Bool {
        isFull.withLock { $0 } ? false : super.synchronize()
    }
}
