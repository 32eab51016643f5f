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
