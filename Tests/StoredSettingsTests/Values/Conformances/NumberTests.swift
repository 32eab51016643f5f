// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Numbers")
struct NumberTests {
    @Test("a number without a fraction is read as an integer")
    func integral() throws {
        #expect(try Int(storedValue: -3.0) == -3)
        #expect(try Int(storedValue: -0.0) == 0)
        #expect(try JSONReader.read(Array("-9007199254740991.0".utf8)).as(Int64.self) == -9_007_199_254_740_991)
        #expect(try JSONReader.read(Array("9007199254740993".utf8)).as(UInt64.self) == 9_007_199_254_740_993)
    }

    @Test(
        "a number with a point or an exponent that may be a rounded integer is not read as one",
        arguments: [
            "9007199254740993.0", "9007199254740993e0", "90071992547409930e-1", "-9007199254740993.0",
            "9007199254740992.0", "1.8446744073709552e+19", "1e18",
        ]
    )
    func rounded(text: String) throws {
        let value = try JSONReader.read(Array(text.utf8))
        #expect(settingsError { try value.as(Int.self) }?.code == .invalidValue)
        let error = try #require(settingsError { try value.as(Int128.self) })
        #expect(error.code == .invalidValue)
        #expect(error.message.contains("write all its digits, without a point"))
        #expect(try value.as(Double.self) == Double(text))
    }

    @Test(
        "a fraction, an infinity or a NaN is not read as an integer",
        arguments: [1.5, -0.1, .infinity, -.infinity, .nan]
    )
    func fraction(_ value: Double) {
        #expect(settingsError { try Int(storedValue: .double(value)) }?.code == .typeMismatch)
        #expect(settingsError { try Int128(storedValue: .double(value)) }?.code == .typeMismatch)
    }

    @Test("an error for an integer out of range contains the range")
    func range() {
        #expect(settingsError { try Int8(storedValue: 128) }?.fact == "the integer is outside -128...127")
        #expect(settingsError { try UInt8(storedValue: -1.0) }?.fact == "the integer is outside 0...255")
        #expect(settingsError { try Int64(storedValue: .double(0x1p63)) }?.code == .invalidValue)
        #expect(settingsError { try UInt64(storedValue: .integer(1 << 64)) }?.code == .invalidValue)
        #expect(settingsError { try UInt128(storedValue: "-1") }?.code == .invalidValue)
        #expect(settingsError { try Int128(storedValue: .double(1e300)) }?.code == .invalidValue)
        let beyond = StoredValue.string(String(UInt128.max) + "0")
        #expect(settingsError { try UInt128(storedValue: beyond) }?.code == .invalidValue)
    }

    @Test("only 128-bit integers are read from strings", arguments: ["", "x", "1.5", "1.0", "1e3", " 1", "0x10", "-"])
    func text(_ text: String) throws {
        #expect(settingsError { try Int(storedValue: "1") }?.code == .typeMismatch)
        #expect(try Int128(storedValue: "-1") == -1)
        #expect(UInt128.max.storedValue() == "340282366920938463463374607431768211455")
        #expect(settingsError { try Int128(storedValue: .string(text)) }?.code == .typeMismatch)
    }

    @Test("an integer is read as the nearest double")
    func nearest() throws {
        #expect(try Double(storedValue: .integer((1 << 53) + 1)) == 0x1p53)
        #expect(try Double(storedValue: .integer((1 << 53) + 3)) == 0x1p53 + 4)
        #expect(try Double(storedValue: .integer(.max)) == 0x1p127)
        #expect(try Double(storedValue: .integer(.min)) == -0x1p127)
    }

    @Test(
        "only the strings nan, inf and -inf are read as numbers",
        arguments: ["NaN", "Inf", "+inf", "infinity", "1", "1.5", "", "0x1p3", " nan"]
    )
    func otherStrings(_ text: String) {
        #expect(settingsError { try Double(storedValue: .string(text)) }?.code == .typeMismatch)
        #expect(settingsError { try Float(storedValue: .string(text)) }?.code == .typeMismatch)
    }

    @Test("a float is stored with its shortest decimal representation")
    func float() throws {
        #expect(Float(0.1).storedValue() == 0.1)
        #expect(Float.greatestFiniteMagnitude.storedValue() == 3.4028235e+38)
        #expect(try Float(storedValue: 0.1).bitPattern == Float(0.1).bitPattern)
        #expect(try Float(storedValue: .double(0.1 + 1e-12)) == 0.1)
    }

    @Test("a number beyond the range of a float is rejected", arguments: [3.5e38, -3.5e38, 1e300])
    func overflow(_ value: Double) throws {
        let error = try #require(settingsError { try Float(storedValue: .double(value)) })
        #expect(error.code == .invalidValue)
        #expect(error.fact == "the number is outside ±3.4028235e+38")
    }
}
