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

    /// Whether the bar is met by a row that takes so many times what it is compared with; `nil` where what the bar is
    /// about was not measured.
    func isMet(by subject: Measurement, ratio: Double?) -> Bool? {
        switch self {
        case .atMost(let limit): ratio.map { $0 <= limit }
        case .faster(let factor): ratio.map { $0 * factor <= 1 }
        case .together(let factor): ratio.map { $0 * factor <= 2 }
        case .median(let limit): subject.median <= limit
        case .p99(let limit): subject.p99.map { $0 <= limit }
        }
    }
}
