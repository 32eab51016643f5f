// SPDX-License-Identifier: Apache-2.0

/// What the design asks of a row.
enum Bar {
    /// At most so many times what it is compared with.
    case atMost(Double)
    /// So many times faster than what it is compared with.
    case faster(Double)
    /// Two threads together get so many times as much done as the one that they are compared with.
    case together(Double)
    /// At most so many nanoseconds.
    case median(Double)
    case p99(Double)

    /// Whether the bar is met; `nil` where that was not measured.
    func isMet(by subject: Measurement, beside other: Measurement?) -> Bool? {
        switch self {
        case .atMost(let limit): other.map { subject.median <= limit * $0.median }
        case .faster(let factor): other.map { subject.median * factor <= $0.median }
        case .together(let factor): other.map { subject.median * factor <= 2 * $0.median }
        case .median(let limit): subject.median <= limit
        case .p99(let limit): subject.p99.map { $0 <= limit }
        }
    }
}
