// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Stored values in other coders")
struct StoredValueCodableTests {
    private func throughJSON(_ value: StoredValue) throws -> StoredValue {
        try JSONDecoder().decode(StoredValue.self, from: JSONEncoder().encode(value))
    }

    @Test(
        "values that JSON supports round-trip through JSON",
        arguments: [
            nil, true, false, 0, -1, .integer(Int128(Int64.min)), .integer(Int128(Int64.max)),
            .integer(Int128(UInt64.max)), 1.5,
            -0.25, 1e300, "", "x\0é", [], [:], [nil, [1, [true]]], ["a": ["b": [1.5, "x", nil]], "": [:]],
        ] as [StoredValue]
    )
    func roundTrip(_ value: StoredValue) throws {
        #expect(try throughJSON(value) == value)
    }

    @Test(
        "64-bit integers are encoded by encoders without larger integers",
        arguments: [Int128(Int64.min), Int128(UInt64.max)]
    )
    func narrowIntegers(number: Int128) throws {
        // A property list has no integers of 128 bits.
        let value: StoredValue = ["n": .integer(number)]
        let data = try PropertyListEncoder().encode(value)
        #expect(try PropertyListDecoder().decode(StoredValue.self, from: data) == value)
    }

    @Test("a stored value is coded as plain JSON")
    func plainJSON() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let value: StoredValue = ["a": [1, 1.5, "x", nil, true], "b": .data(Data([1]))]
        #expect(
            String(decoding: try encoder.encode(value), as: UTF8.self) == #"{"a":[1,1.5,"x",null,true],"b":"AQ=="}"#
        )
    }

    @Test("values that JSON does not support become the strings that a settings file contains for them")
    func strings() throws {
        #expect(try throughJSON([.double(.nan)]) == ["nan"])
        #expect(try throughJSON([.double(-.infinity)]) == ["-inf"])
        #expect(try throughJSON([.date(Date(timeIntervalSinceReferenceDate: 0.5))]) == ["2001-01-01T00:00:00.5Z"])
        #expect(try throughJSON([.data(Data([1]))]) == ["AQ=="])
    }

    @Test("an error deep inside is reported, and no other type is tried")
    func deepFailure() {
        struct Wrapper: Codable { var value: StoredValue }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Wrapper.self, from: Data(#"{"value":[1,]x}"#.utf8))
        }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Wrapper.self, from: Data("{}".utf8)) }
    }
}
