// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Bool: Sampled {
    static var edges: [Bool] { [false, true] }
    static func random(using generator: inout SeededGenerator) -> Bool { generator.next() & 1 == 1 }
}

protocol SampledInteger: Sampled, FixedWidthInteger {}

extension SampledInteger {
    static var edges: [Self] { [0, 1, .max, .min, .max - 1, .min + 1, Self(truncatingIfNeeded: -1)] }

    static func random(using generator: inout SeededGenerator) -> Self {
        // Shift randomly, to produce integers of every width.
        .random(in: .min ... .max, using: &generator) >> Self.random(in: 0..<Self(bitWidth / 2 + 1), using: &generator)
    }
}

extension Int: SampledInteger {}
extension Int8: SampledInteger {}
extension Int16: SampledInteger {}
extension Int32: SampledInteger {}
extension Int64: SampledInteger {}
extension Int128: SampledInteger {}
extension UInt: SampledInteger {}
extension UInt8: SampledInteger {}
extension UInt16: SampledInteger {}
extension UInt32: SampledInteger {}
extension UInt64: SampledInteger {}
extension UInt128: SampledInteger {}

extension Double: Sampled {
    static var edges: [Double] {
        [
            0, -0.0, 1, -1, 0.1, 1.0 / 3, .infinity, -.infinity, .nan, .greatestFiniteMagnitude,
            -.greatestFiniteMagnitude,
            .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude, .pi, 1e15, 1e16, 1e21,
            9_007_199_254_740_992,
        ]
    }

    static func random(using generator: inout SeededGenerator) -> Double {
        switch generator.next() % 3 {
        case 0: Double(bitPattern: generator.next())
        case 1: Double(Int64.random(in: -1_000_000...1_000_000, using: &generator)) / 1_000
        default: .random(in: -1e9...1e9, using: &generator)
        }
    }

    func isExactly(_ other: Double) -> Bool { isNaN ? other.isNaN : bitPattern == other.bitPattern }
}

extension Float: Sampled {
    static var edges: [Float] {
        [
            0, -0.0, 1, -1, 0.1, 1.0 / 3, .infinity, -.infinity, .nan, .greatestFiniteMagnitude,
            -.greatestFiniteMagnitude,
            .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude, .pi, 16_777_216, 1e15, 7.038531e-26,
        ]
    }

    static func random(using generator: inout SeededGenerator) -> Float {
        Float(bitPattern: UInt32(truncatingIfNeeded: generator.next()))
    }

    func isExactly(_ other: Float) -> Bool { isNaN ? other.isNaN : bitPattern == other.bitPattern }
}

extension String: Sampled {
    static var edges: [String] {
        [
            "", " ", "a", "\0", "\u{1}\u{1f}\u{7f}\u{85}\u{2028}\u{2029}", "\r\n", "\u{301}", "e\u{301}", "\u{e9}",
            "\u{212b}",
            "👩‍👩‍👧‍👦", "🏳️‍🌈", "\u{fffd}", "\u{feff}x", "\u{10ffff}", "\"\\/", "null", "nan", "1", "1.0", "true",
            String(repeating: "long ", count: 500),
        ]
    }

    static func random(using generator: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...8, using: &generator) {
            let limit: UInt32 = [0x80, 0x370, 0x3000, 0x110000].randomElement(using: &generator) ?? 0x80
            if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &generator)) { text.append(scalar) }
        }
        return String(text)
    }

    func isExactly(_ other: String) -> Bool { Array(utf8) == Array(other.utf8) }
}

extension Date: Sampled {
    static var edges: [Date] {
        let intervals: [Double] = [
            -0.5, 0.5, -1e-9, 1e-300, -1e-300, 86_400, -86_400, 785_941_200.123456, -978_307_200, -978_307_200.001,
            -63_113_904_000, -63_113_904_000.5, 252_455_616_000, 1e15, -1e15, 8_999_999_999_999_999,
            -8_999_999_999_999_999,
            9e15, -9e15, 9.1e15, 1e300, 951_782_400, 5_007_398_400,
        ]
        return (Double.edges + intervals).map(Date.init(timeIntervalSinceReferenceDate:)) + [
            .distantPast, .distantFuture,
        ]
    }

    static func random(using generator: inout SeededGenerator) -> Date {
        switch generator.next() % 4 {
        case 0: Date(timeIntervalSinceReferenceDate: .random(using: &generator))
        case 1: Date(timeIntervalSinceReferenceDate: .random(in: -1e10...1e10, using: &generator))
        case 2: Date(timeIntervalSinceReferenceDate: .random(in: -9e15...9e15, using: &generator))
        default: Date(timeIntervalSince1970: .random(in: 1e9...2e9, using: &generator))
        }
    }

    func isExactly(_ other: Date) -> Bool {
        timeIntervalSinceReferenceDate.isExactly(other.timeIntervalSinceReferenceDate)
    }
}

extension Data: Sampled {
    static var edges: [Data] { [Data(), Data([0]), Data([0xff, 0xfe]), Data(0...255)] }

    static func random(using generator: inout SeededGenerator) -> Data { Data([UInt8].random(using: &generator)) }
}

extension URL: Sampled {
    static var edges: [URL] {
        let texts = [
            "https://example.com/a?b=c#d", "mailto:a@b.example", "file:///tmp/a%20b/", "urn:isbn:0451450523",
            "tel:+1-816-555",
            "data:text/plain;base64,SGVsbG8=", "x-own-scheme://host:1/p", "http://[::1]:8080/", "relative/path",
            "/absolute",
            "?query", "#fragment", "https://ex.example/\u{e9}/\u{1f600}", "//host/path", "a b",
        ]
        let base = URL(string: "https://example.com/a/b/")
        return texts.compactMap { URL(string: $0) }
            + ["c", "../c?d", "/e", "?f", "#g", "", "ftp://other/"].compactMap { URL(string: $0, relativeTo: base) }
            + [
                URL(filePath: "/tmp/with space/é"), URL(filePath: "relative file"),
                URL(filePath: "/dir/", directoryHint: .isDirectory),
            ]
            + ["k"].compactMap { URL(string: $0, relativeTo: URL(string: "h/i", relativeTo: base)) }
    }

    static func random(using generator: inout SeededGenerator) -> URL {
        while true {
            let path = String.random(using: &generator)
            if let url = URL(string: "https://example.com/" + path), url.baseURL == nil { return url }
        }
    }

    func isExactly(_ other: URL) -> Bool {
        self == other && relativeString.isExactly(other.relativeString) && baseURL == other.baseURL
            && absoluteString.isExactly(other.absoluteString)
    }
}

extension UUID: Sampled {
    static var edges: [UUID] { [UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))] }
    static func random(using generator: inout SeededGenerator) -> UUID {
        let bytes = (0..<16).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
                bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            )
        )
    }
}

extension Decimal: Sampled {
    static var edges: [Decimal] {
        ["0", "1", "-1", "0.1", "-0.001", "3.14159265358979323846264338327950288419", "1e127", "-1e-128"]
            .compactMap { Decimal(string: $0) }
            + [.nan, .greatestFiniteMagnitude, .leastFiniteMagnitude, .leastNonzeroMagnitude, .pi]
    }

    static func random(using generator: inout SeededGenerator) -> Decimal {
        let digits = UInt128.random(using: &generator)
        let exponent = Int.random(in: -128...127, using: &generator)
        return Decimal(string: "\(Bool.random(using: &generator) ? "-" : "")\(digits)e\(exponent)") ?? 0
    }

    func isExactly(_ other: Decimal) -> Bool { isNaN ? other.isNaN : self == other && description == other.description }
}

extension Duration: Sampled {
    static var edges: [Duration] {
        Int128.edges.map { Duration(attoseconds: $0) }
            + [.seconds(1.5), .milliseconds(-1), .nanoseconds(1), .seconds(86_400), .seconds(-3_600)]
    }

    static func random(using generator: inout SeededGenerator) -> Duration {
        Duration(attoseconds: .random(using: &generator))
    }
}

extension StoredValue: Sampled {
    static var edges: [StoredValue] {
        [.null, [nil], [[nil]], [nil, nil], [], [:], ["a": nil], ["": [["b": [1.5, "x"]]]]]
            + Int128.edges.map { .integer($0) } + Double.edges.map { .double($0) } + String.edges.map { .string($0) }
            + Date.edges.map { .date($0) } + Data.edges.map { .data($0) } + [true, false]
    }

    static func random(using generator: inout SeededGenerator) -> StoredValue {
        switch generator.next() % 10 {
        case 0: .null
        case 1: .bool(.random(using: &generator))
        case 2: .integer(.random(using: &generator))
        case 3: .double(.random(using: &generator))
        case 4: .string(.random(using: &generator))
        case 5: .date(.random(using: &generator))
        case 6: .data(.random(using: &generator))
        case 7, 8: .array(.random(using: &generator))
        default: .dictionary(.random(using: &generator))
        }
    }
}
