// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Types that declare the conformance only")
struct DeclaredTests {
    @Test("an invalid raw value is reported with the type and without the value")
    func rawValue() {
        #expect(
            settingsError { try Level(storedValue: "loud") }?.message == "found a string that is not a valid Level."
        )
        #expect(settingsError { try Level(storedValue: "loud") }?.code == .invalidValue)
        #expect(settingsError { try Level(storedValue: 3) }?.message == "expected a string, found an integer.")
        #expect(settingsError { try Rank(storedValue: -3) }?.message == "found an integer that is not a valid Rank.")
        #expect(settingsError { try Rank(storedValue: 300) }?.message == "the integer is outside -128...127.")
    }

    @Test("an error for an invalid raw value lists the raw values of the cases if there are few")
    func rawValueOfFew() {
        let error = settingsError { try Few(storedValue: "loud") }
        #expect(error?.message == "found a string that is not a valid Few. Use one of low, very-high.")
        #expect(settingsError { try FewNumbers(storedValue: 9) }?.remedy == "use one of 1, 2")
        #expect(settingsError { try Many(storedValue: 99) }?.remedy == "")
    }

    @Test("an error for an invalid stored value lists the raw values of the cases")
    func rawValueStored() throws {
        let reporter = RecordingReporter()
        let suite = SettingsSuite.inMemory(["few": "loud"], reporter: reporter)
        #expect(Setting("few", default: Few.low, suite: suite).value == .low)
        #expect(reporter.errors.map(\.remedy) == ["use one of low, very-high"])
    }

    @Test("a type with a raw value and a Codable conformance is stored by its raw value")
    func both() throws {
        #expect(try Both(x: 1, y: 2).storedValue() == "1/2")
        #expect(try [Both(x: 1, y: 2)].storedValue() == ["1/2"])
        #expect(settingsError { try Both(storedValue: ["x": 1, "y": 2]) }?.code == .typeMismatch)
    }

    @Test("a Codable type is stored as a dictionary")
    func codable() throws {
        #expect(try Limits().storedValue() == ["perSecond": 100, "burst": 20])
        #expect(
            try Limits(storedValue: ["perSecond": 1, "burst": 2.0, "unknown": "kept elsewhere"])
                == Limits(perSecond: 1, burst: 2)
        )
    }

    @Test("an error in a Codable type contains its path, also through collections")
    func path() throws {
        let storedValue: StoredValue = ["a": [["perSecond": 1, "burst": 2], ["perSecond": "x", "burst": 2]]]
        let error = try #require(settingsError { try [String: [Limits]](storedValue: storedValue) })
        #expect(error.message == "at a[1].perSecond: expected an integer, found a string.")
        #expect(error.underlying is DecodingError)
    }

    @Test("a class can declare the conformance")
    func classes() throws {
        #expect(try Counter(storedValue: Counter(3).storedValue()).count == 3)
    }
}

private final class Counter: Codable, StoredValueConvertible {
    let count: Int

    init(_ count: Int) {
        self.count = count
    }
}

private enum Few: String, StoredValueConvertible, CaseIterable {
    case low
    case high = "very-high"
}

private enum FewNumbers: Int, StoredValueConvertible, CaseIterable {
    case one = 1
    case two
}

private struct Many: RawRepresentable, StoredValueConvertible, CaseIterable {
    static let allCases = (0...10).compactMap(Many.init)

    let rawValue: Int

    init?(rawValue: Int) {
        guard 0...10 ~= rawValue else { return nil }
        self.rawValue = rawValue
    }
}
