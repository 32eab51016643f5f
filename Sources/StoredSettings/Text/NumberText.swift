// SPDX-License-Identifier: Apache-2.0

/// A finite decimal number, parsed from a string without rounding.
///
/// Dates, durations and decimals are all exact decimals. They share this parser, so that none of them is converted to a
/// binary fraction on the way.
struct DecimalText: Equatable {
    /// Whether the number is below zero; `false` for negative zero.
    let isNegative: Bool

    /// The digits as numbers in 0...9, without leading or trailing zeros; empty for zero.
    let digits: [UInt8]

    /// The power of ten of the last digit.
    ///
    /// The written exponent is clamped to ±10¹², so that arithmetic on it cannot overflow.
    let exponent: Int

    /// Parses a sign, digits with or without a point, and an exponent (`-12.5e3`); nothing else, and no spaces.
    init?(_ text: some StringProtocol) {
        var bytes = Array(text.utf8)[...]
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative || bytes.first == UInt8(ascii: "+") { bytes.removeFirst() }

        var digits = bytes.removeDigits()
        var exponent = 0
        if bytes.first == UInt8(ascii: ".") {
            bytes.removeFirst()
            let fraction = bytes.removeDigits()
            digits += fraction
            exponent = -fraction.count
        }
        guard !digits.isEmpty else { return nil }

        if bytes.first == UInt8(ascii: "e") || bytes.first == UInt8(ascii: "E") {
            bytes.removeFirst()
            let sign = bytes.first == UInt8(ascii: "-") ? -1 : 1
            if sign < 0 || bytes.first == UInt8(ascii: "+") { bytes.removeFirst() }
            let power = bytes.removeDigits()
            guard !power.isEmpty else { return nil }
            exponent += sign * power.reduce(0) { min($0 * 10 + Int($1), 1_000_000_000_000) }
        }
        guard bytes.isEmpty else { return nil }

        let leading = digits.prefix { $0 == 0 }.count
        digits.removeFirst(leading)
        while digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
        self.isNegative = isNegative && !digits.isEmpty
        self.digits = digits
        self.exponent = digits.isEmpty ? 0 : exponent
    }

    /// The digits before the point, and those after it without trailing zeros.
    ///
    /// Use it only for numbers with a small exponent, because all zeros are materialized.
    var parts: (whole: [UInt8], fraction: [UInt8]) {
        let point = digits.count + exponent
        if point <= 0 { return ([], Array(repeating: 0, count: -point) + digits) }
        if exponent >= 0 { return (digits + Array(repeating: 0, count: exponent), []) }
        return (Array(digits[..<point]), Array(digits[point...]))
    }
}

extension BinaryInteger {
    /// The number with at least some digits.
    func digits(_ count: Int, radix: Int = 10) -> String {
        let text = String(self, radix: radix)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}

extension ArraySlice<UInt8> {
    /// Removes the leading decimal digits, and returns them as numbers.
    mutating func removeDigits() -> [UInt8] {
        let digits = prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        removeFirst(digits.count)
        return digits.map { $0 - UInt8(ascii: "0") }
    }
}

extension [UInt8] {
    /// These digits as a string.
    var digitText: String {
        String(decoding: map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
    }
}

extension Double {
    /// The shortest string that is read as this number; `nan`, `inf` and `-inf` for the numbers that JSON lacks.
    var storedText: String {
        // A store considers all NaNs equal, but the description of some contains a payload.
        isNaN ? "nan" : description
    }

    /// Parses the three strings for the numbers that JSON lacks, and no other string.
    init?(nonFiniteText text: String) {
        switch text {
        case "nan": self = .nan
        case "inf": self = .infinity
        case "-inf": self = -.infinity
        default: return nil
        }
    }

    /// Parses the output of ``storedText``, and any other decimal number.
    init?(storedText text: String) {
        // The standard library also accepts hexadecimal numbers and "infinity".
        let number = DecimalText(text) == nil ? nil : Double(text)
        guard let value = Double(nonFiniteText: text) ?? number else { return nil }
        self = value
    }
}
