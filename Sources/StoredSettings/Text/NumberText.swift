// SPDX-License-Identifier: Apache-2.0

/// A finite decimal number as its text says it, before any type has rounded it.
///
/// Dates, durations and decimals are all exact decimals at heart. They share this one reading of a text, so that none of
/// them goes through a binary fraction on the way.
struct DecimalText: Equatable {
    /// Whether the number is below zero.
    ///
    /// Zero has no sign here.
    let isNegative: Bool

    /// The digits, as numbers of 0...9, without zeros at either end.
    ///
    /// None for zero.
    let digits: [UInt8]

    /// The power of ten of the last digit.
    ///
    /// Held within ±10¹², so that arithmetic on it cannot overflow.
    let exponent: Int

    /// Reads a sign, digits with or without a point, and a power of ten (`-12.5e3`); nothing else, no spaces.
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

    /// The digits before and after the point, those after it without zeros at the end.
    ///
    /// Only for numbers whose power of ten is known to be small: the zeros are written out.
    var parts: (whole: [UInt8], fraction: [UInt8]) {
        let point = digits.count + exponent
        if point <= 0 { return ([], Array(repeating: 0, count: -point) + digits) }
        if exponent >= 0 { return (digits + Array(repeating: 0, count: exponent), []) }
        return (Array(digits[..<point]), Array(digits[point...]))
    }
}

extension ArraySlice<UInt8> {
    /// Takes the decimal digits off the front, as numbers.
    mutating func removeDigits() -> [UInt8] {
        let digits = prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        removeFirst(digits.count)
        return digits.map { $0 - UInt8(ascii: "0") }
    }
}

extension [UInt8] {
    /// The number that these digits spell, or nil when it is too wide for the type.
    func number<Integer: FixedWidthInteger>(as type: Integer.Type = Integer.self) -> Integer? {
        var number: Integer = 0
        for digit in self {
            let (shifted, overflowed) = number.multipliedReportingOverflow(by: 10)
            let (sum, carried) = shifted.addingReportingOverflow(Integer(digit))
            guard !overflowed, !carried else { return nil }
            number = sum
        }
        return number
    }

    /// These digits as text.
    var digitText: String {
        String(decoding: map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
    }
}

extension Double {
    /// The shortest text that reads as this number again; `nan`, `inf` and `-inf` for what JSON has no numbers for.
    var storedText: String {
        // All NaNs are one to a store, and the description of some tells them apart.
        isNaN ? "nan" : description
    }

    /// Reads the three texts that stand for what JSON has no numbers for, and no other text.
    init?(nonFiniteText text: String) {
        switch text {
        case "nan": self = .nan
        case "inf": self = .infinity
        case "-inf": self = -.infinity
        default: return nil
        }
    }

    /// Reads what ``storedText`` writes, and any other decimal number.
    init?(storedText text: String) {
        if let value = Double(nonFiniteText: text) {
            self = value
        } else {
            // The reading of the standard library takes more than decimal numbers: hexadecimal ones, "infinity".
            guard DecimalText(text) != nil, let value = Double(text) else { return nil }
            self = value
        }
    }
}
