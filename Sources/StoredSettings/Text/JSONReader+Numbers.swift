// SPDX-License-Identifier: Apache-2.0

extension JSONReader {
    /// Reads the number whose sign or first digit is at the position.
    mutating func readNumber() throws(JSONSyntaxError) -> StoredValue {
        let start = position
        let isNegative = byte(at: position) == JSONByte.minus
        if isNegative { position += 1 }

        // The digits as one integer, without the point. It wraps beyond 19 digits, and is then not used.
        var digits: UInt64 = 0
        let firstDigit = position
        try readDigits(into: &digits, else: "expected a digit after '-'")
        var digitCount = position - firstDigit
        if digitCount > 1, byte(at: firstDigit) == JSONByte.zero {
            throw failure("a number has a leading zero", at: firstDigit)
        }

        var scale = 0
        var isInteger = true
        if byte(at: position) == JSONByte.point {
            isInteger = false
            position += 1
            let firstOfFraction = position
            try readDigits(into: &digits, else: "expected a digit after '.'")
            scale = firstOfFraction - position
            digitCount -= scale
        }
        if byte(at: position) | 0x20 == 0x65 {  // e or E
            isInteger = false
            scale += try readExponent()
        }
        guard isInteger else {
            let digits = digitCount <= 19 ? digits : nil
            return .double(try double(from: start, isNegative: isNegative, digits: digits, scale: scale))
        }
        guard digitCount <= 19 else { return .integer(try integer(from: start, isNegative: isNegative)) }
        // An integer has no negative zero, so it is read as a double.
        if isNegative, digits == 0 { return .double(-0.0) }
        return .integer(isNegative ? -Int128(digits) : Int128(digits))
    }

    /// Reads one or more digits.
    private mutating func readDigits(into number: inout UInt64, else problem: String) throws(JSONSyntaxError) {
        let start = position
        while true {
            let digit = byte(at: position) &- JSONByte.zero
            guard digit < 10 else { break }
            number = number &* 10 &+ UInt64(digit)
            position += 1
        }
        guard position > start else { throw failure(problem, at: position) }
    }

    /// Reads the exponent whose `e` is at the position.
    ///
    /// An exponent of more than nine digits is returned as ±1,000,000,000, which the fast conversion does not accept.
    private mutating func readExponent() throws(JSONSyntaxError) -> Int {
        position += 1
        let sign = byte(at: position)
        if sign == JSONByte.minus || sign == JSONByte.plus { position += 1 }
        let start = position
        var exponent: UInt64 = 0
        try readDigits(into: &exponent, else: "expected a digit in an exponent")
        // More digits may have wrapped. `double(from:isNegative:digits:scale:)` then parses the original characters.
        let magnitude = position - start <= 9 ? Int(exponent) : 1_000_000_000
        return sign == JSONByte.minus ? -magnitude : magnitude
    }

    /// Returns the integer between an offset and the position.
    private func integer(from start: Int, isNegative: Bool) throws(JSONSyntaxError) -> Int128 {
        // Computed as a negative number, because the negative range is larger by one.
        var number: Int128 = 0
        var isTooLarge = false
        for offset in (isNegative ? start + 1 : start)..<position where !isTooLarge {
            let (product, overflow) = number.multipliedReportingOverflow(by: 10)
            let (difference, borrow) = product.subtractingReportingOverflow(Int128(byte(at: offset) &- JSONByte.zero))
            number = difference
            isTooLarge = overflow || borrow
        }
        isTooLarge = isTooLarge || !isNegative && number == .min
        guard !isTooLarge else {
            throw failure("an integer is too large to be stored exactly; write it as a string", at: start)
        }
        return isNegative ? number : -number
    }

    /// Returns the correctly rounded number between an offset and the position: `digits` times ten to the `scale`.
    private func double(
        from start: Int,
        isNegative: Bool,
        digits: UInt64?,
        scale: Int
    ) throws(JSONSyntaxError) -> Double {
        // Integers to 2^53 and powers of ten to 10^22 are exact, so one operation on them rounds only once.
        if let digits, digits <= 1 << 53, (-22...22).contains(scale) {
            var power = 1.0
            for _ in 0..<abs(scale) { power *= 10 }
            let magnitude = scale < 0 ? Double(digits) / power : Double(digits) * power
            return isNegative ? -magnitude : magnitude
        }
        guard let number = Double(String(decoding: bytes[start..<position], as: UTF8.self)), number.isFinite else {
            throw failure("a number is too large to be stored; write it as a string", at: start)
        }
        return number
    }
}
