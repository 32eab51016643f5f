// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum Level: String, StoredValueConvertible, Sampled {
    case debug
    case info = "1"
    case warning = "true"

    static var edges: [Level] { [.debug, .info, .warning] }
    static func random(using generator: inout SeededGenerator) -> Level {
        edges.randomElement(using: &generator) ?? .debug
    }
}

struct Rank: RawRepresentable, Hashable, StoredValueConvertible, Sampled {
    var rawValue: Int8

    init?(rawValue: Int8) {
        guard rawValue >= 0 else { return nil }
        self.rawValue = rawValue
    }

    static var edges: [Rank] { [0, 1, 127].compactMap(Rank.init(rawValue:)) }
    static func random(using generator: inout SeededGenerator) -> Rank {
        Rank(rawValue: .random(in: 0...127, using: &generator)) ?? edges[0]
    }
}

/// A type with a raw value and a different Codable conformance.
struct Both: RawRepresentable, Codable, Hashable, StoredValueConvertible, Sampled {
    var rawValue: String { "\(x)/\(y)" }
    var x: Int
    var y: Int

    init(x: Int, y: Int) {
        self.x = x
        self.y = y
    }

    init?(rawValue: String) {
        let parts = rawValue.split(separator: "/").compactMap { Int($0) }
        guard parts.count == 2 else { return nil }
        self.init(x: parts[0], y: parts[1])
    }

    // Explicit, because the standard library codes the raw value.
    enum CodingKeys: CodingKey { case x, y }
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        x = try container.decode(Int.self, forKey: .x)
        y = try container.decode(Int.self, forKey: .y)
    }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(x, forKey: .x)
        try container.encode(y, forKey: .y)
    }

    static var edges: [Both] { [Both(x: 0, y: 0), Both(x: .min, y: .max)] }
    static func random(using generator: inout SeededGenerator) -> Both {
        Both(x: .random(using: &generator), y: .random(using: &generator))
    }
}

indirect enum Shape: Codable, Hashable, StoredValueConvertible, Sampled {
    case empty
    case circle(radius: Double)
    case tagged(String, Shape)
    case group([Shape])

    static var edges: [Shape] {
        [.empty, .circle(radius: -0.0), .tagged("", .empty), .group([]), .group([.empty, .empty])]
    }
    static func random(using generator: inout SeededGenerator) -> Shape {
        switch generator.next() % 4 {
        case 0: .empty
        case 1: .circle(radius: .random(in: -1...1, using: &generator))
        case 2: .tagged(.random(using: &generator), .random(using: &generator))
        default: .group([Shape].random(using: &generator))
        }
    }
}

/// A type with a property of every kind that coders support.
struct Everything: Codable, StoredValueConvertible, Sampled {
    var bool: Bool
    var integers: [Int64]
    var byte: UInt8
    var wide: Int128
    var wider: UInt128
    var double: Double
    var float: Float
    var string: String
    var date: Date
    var data: Data
    var url: URL
    var uuid: UUID
    var decimal: Decimal
    var duration: Duration
    var anything: StoredValue
    var optional: Date?
    var optionals: [Date?]
    var dates: [String: Date]
    var numbered: [Int: Date]
    var ranked: [Bool: Data]
    var set: Set<String>
    var level: CodableLevel
    var range: ClosedRange<Double>

    enum CodableLevel: String, Codable { case low, high }

    static var edges: [Everything] { [] }
    static func random(using generator: inout SeededGenerator) -> Everything {
        Everything(
            bool: .random(using: &generator),
            integers: .random(using: &generator),
            byte: .random(using: &generator),
            wide: .random(using: &generator),
            wider: .random(using: &generator),
            double: .random(using: &generator),
            float: .random(using: &generator),
            string: .random(using: &generator),
            date: .random(using: &generator),
            data: .random(using: &generator),
            url: .random(using: &generator),
            uuid: .random(using: &generator),
            decimal: .random(using: &generator),
            duration: .random(using: &generator),
            // Integers only, because JSON represents a date among any values as a string.
            anything: .array([Int].random(using: &generator).map { .integer(Int128($0)) }),
            optional: .random(using: &generator),
            optionals: .random(using: &generator),
            dates: .random(using: &generator),
            numbered: .random(using: &generator),
            ranked: .random(using: &generator),
            set: .random(using: &generator),
            level: Bool.random(using: &generator) ? .low : .high,
            range: .random(using: &generator)
        )
    }

    func isExactly(_ other: Everything) -> Bool {
        bool == other.bool && integers == other.integers && byte == other.byte && wide == other.wide
            && wider == other.wider
            && double.isExactly(other.double) && float.isExactly(other.float) && string.isExactly(other.string)
            && date.isExactly(other.date) && data == other.data && url.isExactly(other.url) && uuid == other.uuid
            && decimal.isExactly(other.decimal) && duration == other.duration && anything == other.anything
            && optional.isExactly(other.optional) && optionals.isExactly(other.optionals)
            && dates.isExactly(other.dates)
            && numbered.isExactly(other.numbered) && ranked == other.ranked && set.isExactly(other.set)
            && level == other.level && range.isExactly(other.range)
    }
}
