// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// Values of every supported type, including edge cases.
package enum RoundTripCases {
    package static let all: [RoundTripCase] = numbers + texts + foundation + own + collections

    private static let numbers: [RoundTripCase] = [
        RoundTripCase([false, true]),
        RoundTripCase(extremes(Int.self)), RoundTripCase(extremes(Int8.self)), RoundTripCase(extremes(Int16.self)),
        RoundTripCase(extremes(Int32.self)),
        RoundTripCase(extremes(Int64.self)), RoundTripCase(extremes(Int128.self)),
        RoundTripCase(extremes(UInt.self)), RoundTripCase(extremes(UInt8.self)), RoundTripCase(extremes(UInt16.self)),
        RoundTripCase(extremes(UInt32.self)),
        RoundTripCase(extremes(UInt64.self)), RoundTripCase(extremes(UInt128.self)),
        RoundTripCase(doubles, isSame: sameBits),
        RoundTripCase(doubles.map { Float($0) } + [Float.leastNonzeroMagnitude, 7.038531e-26, 16_777_216]) {
            $0.isNaN ? $1.isNaN : $0.bitPattern == $1.bitPattern
        },
        RoundTripCase([
            Duration(attoseconds: .max), Duration(attoseconds: .min), .zero, .nanoseconds(-1), .seconds(1.5),
        ]),
    ]

    private static let texts: [RoundTripCase] = [
        RoundTripCase(strings, isSame: sameScalars),
        RoundTripCase(["a", "\0", "\r\n", "\u{301}", "e\u{301}", "\u{e9}", "👩‍👩‍👧‍👦"].map { Character($0) }) {
            sameScalars(String($0), String($1))
        },
    ]

    private static let foundation: [RoundTripCase] = [
        RoundTripCase(dates) { sameBits($0.timeIntervalSinceReferenceDate, $1.timeIntervalSinceReferenceDate) },
        RoundTripCase([Data(), Data([0]), Data([0xFF, 0xFE]), Data(0...255)]),
        RoundTripCase(urls) {
            $0 == $1 && sameScalars($0.absoluteString, $1.absoluteString) && $0.baseURL == $1.baseURL
        },
        RoundTripCase([UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255))]),
        RoundTripCase(
            ["0", "-1", "0.1", "3.1415926535897932384626433832795028841", "1e127"].compactMap { Decimal(string: $0) }
        ),
    ]

    private static let own: [RoundTripCase] = [
        RoundTripCase([Level.debug, .info]), RoundTripCase([Rank(rawValue: -1), Rank(rawValue: .max)]),
        RoundTripCase([Limits(), Limits(perSecond: -0.0, burst: .min, names: ["\0": nil, "": .distantPast])]),
        RoundTripCase([
            Shape.empty, .circle(radius: 0.1), .tagged("a", .group([.empty, .circle(radius: -0.0)])), .group([]),
        ]),
    ]

    private static let collections: [RoundTripCase] = [
        RoundTripCase([[], doubles]) { (left: [Double], right: [Double]) in
            left.count == right.count && zip(left, right).allSatisfy(sameBits)
        },
        RoundTripCase([[[Int?]]](arrayLiteral: [], [[]], [[nil, .max], []])),
        RoundTripCase([Set<String>(), ["\0", "e\u{301}", "z", ""]]),
        RoundTripCase([[String: Set<[String: Int]>]](arrayLiteral: [:], ["": []], ["a.b": [["x": .min], [:]]])),
        RoundTripCase([[Int: Date]](arrayLiteral: [.min: dates[4], .max: dates[5]])),
        RoundTripCase([[Level: Data]](arrayLiteral: [.info: Data([0])])),
        RoundTripCase([ContiguousArray<Shape?>](arrayLiteral: [nil, .empty, .group([.empty])])),
        RoundTripCase([0..<1, Int.min..<Int.max]), RoundTripCase([-0.5...0.5, -.infinity ... .infinity]),
        RoundTripCase([[StoredValue]](arrayLiteral: [.null, true, 1.5, "x", .integer(.max), ["a": [nil]]])),
    ]

    private static func extremes<Value: FixedWidthInteger & StoredValueConvertible>(_: Value.Type) -> [Value] {
        [0, 1, .max, .min, .max - 1, .min + 1]
    }

    private static let doubles: [Double] = [
        0, -0.0, 0.1, 1.0 / 3, 1e15, 1e16, 1e21, 9_007_199_254_740_992, .pi, .infinity, -.infinity, .nan,
        .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, .leastNormalMagnitude,
    ]

    private static let strings: [String] = [
        "", " ", "\0", "\u{1}\u{1F}\u{7F}\u{85}\u{2028}\u{2029}", "\r\n", "\u{301}", "e\u{301}", "\u{E9}", "\u{FEFF}x",
        "👩‍👩‍👧‍👦🏳️‍🌈", "\u{FFFD}", "\u{10FFFF}", "\"\\/", "null", "1", "true", String(repeating: "long ", count: 1_000),
    ]

    private static let dates: [Date] = [
        0, -0.5, 1e-9, -1e-300, 785_941_200.123456, 785_941_200.123456.nextUp, -978_307_200.001, 1e10 / 3, 1e15,
    ]
    .map { Date(timeIntervalSinceReferenceDate: $0) }

    private static let urls: [URL] =
        [
            "https://a.b/c?d=e#f", "mailto:a@b.example", "file:///tmp/a%20b/", "urn:isbn:0451450523",
            "http://[::1]:8080/",
            "relative/path", "?query",
        ]
        .compactMap { URL(string: $0) }
        + [URL(string: "../c?d", relativeTo: URL(string: "https://example.com/a/b/"))].compactMap { $0 }

    @Sendable
    private static func sameBits(_ left: Double, _ right: Double) -> Bool {
        left.isNaN ? right.isNaN : left.bitPattern == right.bitPattern
    }

    @Sendable
    private static func sameScalars(_ left: String, _ right: String) -> Bool {
        left.unicodeScalars.elementsEqual(right.unicodeScalars)
    }
}

private enum Level: String, Hashable, StoredValueConvertible {
    case debug
    case info = "1"
}

private struct Rank: RawRepresentable, Hashable, StoredValueConvertible {
    var rawValue: Int8
}

private struct Limits: Codable, Equatable, StoredValueConvertible {
    var perSecond = 0.1
    var burst = 20
    var names: [String: Date?] = [:]
}

private indirect enum Shape: Codable, Equatable, StoredValueConvertible {
    case empty
    case circle(radius: Double)
    case tagged(String, Shape)
    case group([Shape])
}
