// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Formats numbers for people.
enum Format {
    static func figure(_ figure: Double, _ unit: Unit) -> String {
        switch unit {
        case .nanoseconds: time(figure)
        case .bytes: "\(count(Int(figure.rounded()))) B"
        }
    }

    /// A time with three significant digits.
    static func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<1e3: "\(number(nanoseconds)) ns"
        case ..<1e6: "\(number(nanoseconds / 1e3)) µs"
        case ..<1e9: "\(number(nanoseconds / 1e6)) ms"
        default: "\(number(nanoseconds / 1e9)) s"
        }
    }

    static func number(_ number: Double) -> String {
        guard number.isFinite else { return "?" }
        let digits = number < 10 ? 2 : number < 100 ? 1 : 0
        return String(format: "%.\(digits)f", number)
    }

    static func bar(_ bar: Bar) -> String {
        switch bar {
        case .atMost(let limit): "≤ \(short(limit)) ×"
        case .atMostAbove(let limit): "≤ \(shortTime(limit)) more"
        case .faster(let factor): "≥ \(short(factor)) × faster"
        case .together(let factor): "≥ \(short(factor)) × the reads"
        case .median(let limit): "median ≤ \(shortTime(limit))"
        case .p99(let limit): "p99 ≤ \(shortTime(limit))"
        }
    }

    /// The result, in the terms of a bar.
    static func finding(_ bar: Bar?, subject: Measurement, ratio: Double?) -> String {
        switch bar {
        case .faster:
            guard let ratio else { return "–" }
            return ratio <= 1 ? "\(number(1 / ratio)) × faster" : "\(number(ratio)) × slower"
        case .atMostAbove:
            guard let ratio else { return "–" }
            let difference = subject.difference(for: ratio)
            return difference < 0 ? "\(time(-difference)) less" : "\(time(difference)) more"
        case .together:
            return ratio.map { "\(number(2 / $0)) × the reads" } ?? "–"
        case .median:
            return time(subject.median)
        case .p99:
            return subject.p99.map(time) ?? "–"
        case .atMost, nil:
            return ratio.map { "\(number($0)) ×" } ?? "–"
        }
    }

    private static func shortTime(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<1e4: "\(short(nanoseconds)) ns"
        case ..<1e6: "\(short(nanoseconds / 1e3)) µs"
        default: "\(short(nanoseconds / 1e6)) ms"
        }
    }

    private static func short(_ number: Double) -> String {
        number == number.rounded() ? String(format: "%.0f", number) : String(format: "%g", number)
    }
}

extension Format {
    /// A count with thousands separators.
    static func count(_ count: Int) -> String {
        abs(count) < 1_000 ? "\(count)" : "\(count / 1_000),\(String(1_000 + abs(count) % 1_000).dropFirst())"
    }
}
