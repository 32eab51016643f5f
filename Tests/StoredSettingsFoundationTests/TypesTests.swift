// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettingsFoundation

extension UserDefaultsTests {
    @Suite("Types over UserDefaults")
    struct Types {
        /// Stores a value, makes Foundation read its file again, and reads the value.
        private func check<Value: StoredValueConvertible & Equatable>(
            _ values: Value...,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await withDomain { domain in
                for value in values {
                    try await Setting("key", default: value, suite: SettingsSuite(userDefaults: try domain.open()))
                        .set(value)
                    let other = SettingsSuite(userDefaults: try domain.open())
                    try await other.synchronize()
                    let setting = Setting("key", default: value, suite: other)
                    let read = try #require(try setting.load(), sourceLocation: sourceLocation)
                    let (stored, expected) = (try read.storedValue(), try value.storedValue())
                    #expect(stored == expected && read == value, sourceLocation: sourceLocation)
                }
            }
        }

        @Test("Row 14: a value of every built-in type is preserved exactly over UserDefaults")
        func builtIn() async throws {
            try await check(true, false)
            try await check(Int8.min, .max)
            try await check(Int16.min, .max)
            try await check(Int32.min, .max)
            try await check(Int64.min, .max)
            try await check(Int.min, 0, 1, .max)
            try await check(UInt8.max)
            try await check(UInt16.max)
            try await check(UInt32.max)
            try await check(UInt64.max)
            try await check(UInt.max, 0, 1)
            try await check(Float(0.1), .greatestFiniteMagnitude, -0.0, .infinity)
            try await check(0.1, -0.0, 1, .leastNonzeroMagnitude, -.infinity)
            try await check(CGFloat(0.1), -0.0)
            try await check("", "\u{FEFF}mark", "e\u{301}")
            try await check(Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7), .distantPast, .distantFuture)
            try await check(Data(), Data(0...255))
            try await check(try #require(URL(string: "https://a.b/c?d=e#f")), URL(fileURLWithPath: "/tmp/a b"))
            try await check([["a": [Set([1, 2])]]], [])
            try await check([Int?.some(1), nil])
        }
    }
}
