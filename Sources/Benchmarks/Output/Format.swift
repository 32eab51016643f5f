// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Numbers as people read them.
enum Format {
    /// A time with three digits that count.
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
        case .faster(let factor): "≥ \(short(factor)) × faster"
        case .median(let limit): "median ≤ \(short(limit / 1e6)) ms"
        case .p99(let limit): "p99 ≤ \(short(limit / 1e6)) ms"
        }
    }

    /// What was found, in the terms of a bar.
    static func finding(_ bar: Bar?, subject: Measurement, ratio: Double?) -> String {
        switch bar {
        case .faster:
            guard let ratio else { return "–" }
            return ratio <= 1 ? "\(number(1 / ratio)) × faster" : "\(number(ratio)) × slower"
        case .median:
            return time(subject.median)
        case .p99:
            return subject.p99.map(time) ?? "–"
        case .atMost, nil:
            return ratio.map { "\(number($0)) ×" } ?? "–"
        }
    }

    private static func short(_ number: Double) -> String {
        number == number.rounded() ? String(format: "%.0f", number) : String(format: "%g", number)
    }
}

extension Format {
    /// A number of things, with commas.
    static func count(_ count: Int) -> String {
        count < 1_000 ? "\(count)" : "\(count / 1_000),\(String(1_000 + count % 1_000).dropFirst())"
    }
}
