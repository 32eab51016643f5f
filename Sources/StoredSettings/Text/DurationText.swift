// SPDX-License-Identifier: Apache-2.0

/// Durations as text: decimal seconds such as `1.5s`, exact to the attosecond over all that a `Duration` can hold.
enum DurationText {
    private static let attosecondsPerSecond: UInt128 = 1_000_000_000_000_000_000

    /// The units that people may write: the power of ten of their attoseconds, and what that is to be multiplied by.
    private static let units: [(name: String, power: Int, factor: UInt128)] = [
        ("ns", 9, 1), ("us", 12, 1), ("ms", 15, 1), ("s", 18, 1), ("m", 19, 6), ("h", 20, 36), ("d", 20, 864),
    ]

    /// The text of a duration.
    static func text(for duration: Duration) -> String {
        let attoseconds = duration.attoseconds
        let (seconds, rest) = attoseconds.magnitude.quotientAndRemainder(dividingBy: attosecondsPerSecond)
        var fraction = ""
        if rest > 0 {
            // A one in front keeps the zeros that the fraction begins with.
            fraction = "." + String(attosecondsPerSecond + rest).dropFirst()
            while fraction.last == "0" { fraction.removeLast() }
        }
        return "\(attoseconds < 0 ? "-" : "")\(seconds)\(fraction)s"
    }

    /// Reads a decimal number with its unit.
    static func duration(from text: String) throws -> Duration {
        for unit in units where text.hasSuffix(unit.name) {
            guard let number = DecimalText(text.dropLast(unit.name.count)) else { continue }
            return try duration(number, power: unit.power, factor: unit.factor)
        }
        throw SettingsError.invalidValue(
            "the text is not a duration like 1.5s, with a unit of ns, us, ms, s, m, h or d"
        )
    }

    /// Reads a decimal number of seconds.
    static func duration(secondsText: String) throws -> Duration {
        guard let seconds = DecimalText(secondsText) else { throw unheld }
        return try duration(seconds, power: 18, factor: 1)
    }

    private static func duration(_ number: DecimalText, power: Int, factor: UInt128) throws -> Duration {
        guard var magnitude = number.digits.number(as: UInt128.self)?.scaled(by: factor) else { throw unheld }
        var exponent = number.exponent + power
        while magnitude != 0, exponent != 0 {
            if exponent > 0 {
                guard let larger = magnitude.scaled(by: 10) else { throw unheld }
                magnitude = larger
                exponent -= 1
            } else {
                guard magnitude.isMultiple(of: 10) else { throw unheld }
                magnitude /= 10
                exponent += 1
            }
        }
        guard number.isNegative else {
            guard let attoseconds = Int128(exactly: magnitude) else { throw unheld }
            return Duration(attoseconds: attoseconds)
        }
        // The least value has no positive counterpart to be negated.
        guard magnitude <= Int128.min.magnitude else { throw unheld }
        return Duration(attoseconds: Int128(truncatingIfNeeded: 0 &- magnitude))
    }

    private static var unheld: SettingsError {
        .invalidValue("the duration is outside ±170141183460469231731 seconds, or finer than an attosecond")
    }
}

extension UInt128 {
    fileprivate func scaled(by factor: UInt128) -> UInt128? {
        let (product, overflowed) = multipliedReportingOverflow(by: factor)
        return overflowed ? nil : product
    }
}
