// SPDX-License-Identifier: Apache-2.0

/// The string formats of durations: decimal seconds such as `1.5s`, and what a person would write, such as `10ms`.
///
/// Both are exact to the attosecond over the range of `Duration`.
enum DurationText {
    private static let attosecondsPerSecond: UInt128 = 1_000_000_000_000_000_000

    /// The accepted units, each `factor` times ten to the `power` attoseconds.
    private static let units: [(name: String, power: Int, factor: Int128)] = [
        ("ns", 9, 1), ("us", 12, 1), ("ms", 15, 1), ("s", 18, 1), ("m", 19, 6), ("h", 20, 36), ("d", 20, 864),
    ]

    /// Returns the string that is stored for a duration: its seconds.
    static func text(for duration: Duration) -> String {
        text(for: duration, in: attosecondsPerSecond, "s")
    }

    /// Returns the string that a person would write for a duration: `10ms`, `1.5s`, `60s` or `2h`.
    ///
    /// Less than a second is in a smaller unit, and more than a minute in minutes, hours or days if that is a whole number.
    static func written(_ duration: Duration) -> String {
        let (magnitude, second) = (duration.attoseconds.magnitude, attosecondsPerSecond)
        for (name, unit) in [("d", 86_400 * second), ("h", 3_600 * second), ("m", 60 * second)]
        where magnitude > 60 * second && magnitude.isMultiple(of: unit) {
            return text(for: duration, in: unit, name)
        }
        for (name, unit) in [("s", second), ("ms", second / 1_000), ("us", second / 1_000_000)]
        where magnitude >= unit || magnitude == 0 {
            return text(for: duration, in: unit, name)
        }
        return text(for: duration, in: second / 1_000_000_000, "ns")
    }

    /// Returns a duration in a unit, which is a power of ten attoseconds or divides the duration.
    private static func text(for duration: Duration, in unit: UInt128, _ name: String) -> String {
        let attoseconds = duration.attoseconds
        let (whole, rest) = attoseconds.magnitude.quotientAndRemainder(dividingBy: unit)
        var fraction = ""
        if rest > 0 {
            // Adding one unit preserves the leading zeros of the fraction; its digit is dropped.
            fraction = "." + String(unit + rest).dropFirst()
            while fraction.last == "0" { fraction.removeLast() }
        }
        return "\(attoseconds < 0 ? "-" : "")\(whole)\(fraction)\(name)"
    }

    /// Parses a decimal number with a unit.
    static func duration(from text: String) throws -> Duration {
        for unit in units where text.hasSuffix(unit.name) {
            guard let number = DecimalText(text.dropLast(unit.name.count)) else { continue }
            return try duration(number, power: unit.power, factor: unit.factor)
        }
        throw SettingsError.invalidValue(
            "the string is not a duration such as 1.5s, with one of the units ns, us, ms, s, m, h or d"
        )
    }

    /// Parses a decimal number of seconds.
    static func duration(secondsText: String) throws -> Duration {
        guard let seconds = DecimalText(secondsText) else { throw unrepresentable }
        return try duration(seconds, power: 18, factor: 1)
    }

    private static func duration(_ number: DecimalText, power: Int, factor: Int128) throws -> Duration {
        let digits = (number.isNegative ? "-0" : "0") + number.digits.digitText
        guard var attoseconds = Int128(digits)?.scaled(by: factor) else { throw unrepresentable }
        var exponent = number.exponent + power
        while attoseconds != 0, exponent != 0 {
            if exponent > 0 {
                guard let larger = attoseconds.scaled(by: 10) else { throw unrepresentable }
                attoseconds = larger
                exponent -= 1
            } else {
                guard attoseconds.isMultiple(of: 10) else { throw unrepresentable }
                attoseconds /= 10
                exponent += 1
            }
        }
        return Duration(attoseconds: attoseconds)
    }

    private static var unrepresentable: SettingsError {
        .invalidValue("the duration is outside ±170141183460469231731 seconds, or finer than an attosecond")
    }
}

extension Int128 {
    fileprivate func scaled(by factor: Int128) -> Int128? {
        let (product, overflowed) = multipliedReportingOverflow(by: factor)
        return overflowed ? nil : product
    }
}
