// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Values-and-JSON.md, "The library has its own JSON reader and writer".

/// A JSON parser (RFC 8259) for the contents of `settings.json`, which may begin with a byte order mark.
///
/// It is strict unless its ``Dialect`` is that of the settings file. It rejects input that could not be written again without loss: an integer wider than `Int128`, a number that
/// overflows, and a duplicate name in an object. It does not recurse, so deep nesting needs no stack.
///
/// The bytes are read through a pointer, which is fast in debug builds too. Two things make that safe. A reader exists
/// only during a call of `read` or `readObject`, and the caller holds the bytes during that call. Every byte is read by
/// ``byte(at:)``, which checks the offset in every build and returns 0, which is not valid in any JSON, beyond the end.
package struct JSONReader {
    /// The maximum number of nested arrays and objects, including the outermost one.
    package static let maximumDepth = StoredValue.maximumDepth + 1
    /// The number of bytes of the longest name that an error contains.
    private static let longestNameInError = 100

    let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte, which only grows and is never negative.
    var position: Int

    /// The open containers, outermost first.
    private var open: [Container] = []
    /// The values of all open containers, those of the innermost container last.
    private var values: [StoredValue] = []
    /// The names of all open objects, those of the innermost object last.
    private var names: [(text: String, offset: Int)] = []
    private let maximumDepth: Int
    let dialect: Dialect

    /// What a reader accepts.
    package enum Dialect: Sendable {
        /// Only JSON.
        case strict
        /// JSON with comments (`//` to the end of the line, `/* */`) and with commas after the last element of an array
        /// or an object.
        case settingsFile
    }

    private struct Container {
        let isObject: Bool
        let firstValue: Int
    }

    private init(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ dialect: Dialect = .strict,
        maximumDepth: Int = JSONReader.maximumDepth
    ) {
        self.bytes = bytes
        self.dialect = dialect
        self.maximumDepth = maximumDepth
        position = bytes.startsWithByteOrderMark ? 3 : 0
    }

    /// The byte at a nonnegative offset; 0 beyond the end.
    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        offset < bytes.count ? bytes[offset] : 0
    }

    /// Returns the error for a problem at an offset, or an unexpected end of input if the bytes end there.
    func failure(_ problem: String, at offset: Int) -> JSONSyntaxError {
        guard offset < bytes.count else {
            return JSONSyntaxError("unexpected end of input", at: bytes.count, in: bytes)
        }
        return JSONSyntaxError(problem, at: offset, in: bytes)
    }
}

extension JSONReader {
    /// Parses one value of any kind.
    package static func read(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONSyntaxError) -> StoredValue {
        var reader = JSONReader(bytes)
        return try reader.readDocument(isObject: false)
    }

    /// Parses one value of any kind.
    package static func read(_ bytes: [UInt8]) throws(JSONSyntaxError) -> StoredValue {
        try bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in try read(bytes) }
    }

    /// Parses one object, in which at most some arrays and objects are nested, including the outermost one.
    package static func readObject(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ dialect: Dialect = .strict,
        maximumDepth: Int = JSONReader.maximumDepth
    ) throws(JSONSyntaxError) -> [String: StoredValue] {
        var reader = JSONReader(bytes, dialect, maximumDepth: maximumDepth)
        guard case .dictionary(let entries) = try reader.readDocument(isObject: true) else { return [:] }
        return entries
    }

    /// Parses one object.
    package static func readObject(
        _ bytes: [UInt8],
        _ dialect: Dialect = .strict
    ) throws(JSONSyntaxError) -> [String: StoredValue] {
        try bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in try readObject(bytes, dialect) }
    }

    /// Reads a string in quotation marks.
    static func readName(_ bytes: ArraySlice<UInt8>) throws(JSONSyntaxError) -> String {
        try bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in
            var reader = JSONReader(bytes)
            return try reader.readString()
        }
    }

    /// Finds the value of a key in a settings file.
    ///
    /// - Returns: The line and the column of the value, from 1; `nil` when there is none, or the bytes are not valid.
    package static func place(ofKey key: String, in bytes: [UInt8]) -> (line: Int, column: Int)? {
        do {
            let contents = try readObject(bytes, .settingsFile)
            let tokens = JSONTokens(bytes: bytes)
            var place = tokens.start
            for name in contents.path(ofKey: key) ?? [key] {
                let members = try JSONMembers(at: place, in: tokens).members
                guard let value = members.first(where: { $0.name == name })?.value else { return nil }
                place = value.lowerBound
            }
            let found = bytes.withUnsafeBufferPointer { JSONSyntaxError("", at: place, in: $0) }
            return (found.line, found.column)
        } catch {
            return nil
        }
    }

    /// What is wrong with text in another encoding, as its first bytes show.
    private var encodingProblem: String? {
        guard bytes.count > 1 else { return nil }
        return switch (byte(at: 0), byte(at: 1)) {
        case (0, 0): "the file begins with null characters instead of text"
        case (0, _), (_, 0), (0xFE, 0xFF), (0xFF, 0xFE):
            "the file is not in UTF-8, perhaps in UTF-16; save it in UTF-8"
        default: nil
        }
    }

    private mutating func readDocument(isObject: Bool) throws(JSONSyntaxError) -> StoredValue {
        if let encodingProblem { throw failure(encodingProblem, at: 0) }
        try skipWhitespace()
        guard position < bytes.count else {
            // Nothing but white space and comments has been read.
            guard !bytes.contains(UInt8(ascii: "/")) else { throw failure("", at: bytes.count) }
            throw JSONSyntaxError("the file is empty", at: 0, in: bytes)
        }
        if isObject, byte(at: position) != UInt8(ascii: "{") {
            throw failure("expected '{', because the file must contain one object", at: position)
        }
        let value = try readValue()
        try skipWhitespace()
        guard position >= bytes.count else { throw failure("unexpected characters after the value", at: position) }
        return value
    }

    /// Reads a value, including its contents.
    private mutating func readValue() throws(JSONSyntaxError) -> StoredValue {
        while true {
            try skipWhitespace()
            var value: StoredValue
            switch byte(at: position) {
            case UInt8(ascii: "{"):
                try openContainer(isObject: true)
                guard byte(at: position) == UInt8(ascii: "}") else {
                    try readName(else: "expected '}' or a name in double quotes after '{'")
                    continue
                }
                value = try closeContainer()
            case UInt8(ascii: "["):
                try openContainer(isObject: false)
                guard byte(at: position) == UInt8(ascii: "]") else { continue }
                value = try closeContainer()
            default:
                value = try readLeaf()
            }

            // The value may end its container, which may in turn end the enclosing container, and so on.
            var isNext = false
            while !isNext {
                guard let isObject = open.last?.isObject else { return value }
                values.append(value)
                isNext = try readComma(inObject: isObject)
                if !isNext { value = try closeContainer() }
            }
        }
    }

    /// Reads the comma after a value, and in an object the name after the comma.
    ///
    /// - Returns: `false` when the container ends here. Its closing bracket is not consumed.
    private mutating func readComma(inObject isObject: Bool) throws(JSONSyntaxError) -> Bool {
        try skipWhitespace()
        let next = byte(at: position)
        if next == UInt8(ascii: ",") {
            position += 1
            try skipWhitespace()
            let closing = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
            if dialect == .settingsFile, byte(at: position) == closing { return false }
            if isObject {
                try readName(else: "expected a name in double quotes after ','")
            } else if byte(at: position) == UInt8(ascii: "]") {
                throw failure("expected a value after ','", at: position)
            }
            return true
        }
        guard next == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            throw failure("expected ',' or '\(isObject ? "}" : "]")' after a value", at: position)
        }
        return false
    }

    private mutating func readName(else problem: String) throws(JSONSyntaxError) {
        guard byte(at: position) == UInt8(ascii: "\"") else { throw failure(problem, at: position) }
        let offset = position
        names.append((try readString(), offset))
        try skipWhitespace()
        guard byte(at: position) == UInt8(ascii: ":") else { throw failure("expected ':' after a name", at: position) }
        position += 1
    }

    private mutating func openContainer(isObject: Bool) throws(JSONSyntaxError) {
        guard open.count < maximumDepth else {
            throw failure("the nesting is deeper than \(maximumDepth) levels", at: position)
        }
        open.append(Container(isObject: isObject, firstValue: values.count))
        position += 1
        try skipWhitespace()
    }

    /// Consumes the closing bracket of the innermost container, and returns the container's value.
    private mutating func closeContainer() throws(JSONSyntaxError) -> StoredValue {
        position += 1
        guard let container = open.popLast() else { return .null }
        let count = values.count - container.firstValue
        guard container.isObject else {
            let elements = Array(values.suffix(count))
            values.removeLast(count)
            return .array(elements)
        }
        var entries = [String: StoredValue](minimumCapacity: count)
        for (name, value) in zip(names.suffix(count), values.suffix(count)) {
            // One of the two values would be lost when the file is written again.
            guard entries.updateValue(value, forKey: name.text) == nil else {
                // The names of a nested object may be part of a value.
                let isNamed = open.isEmpty && name.text.utf8.count <= Self.longestNameInError
                let phrase = isNamed ? "the name '\(name.text)'" : "a name"
                throw failure("an object contains \(phrase) twice", at: name.offset)
            }
        }
        values.removeLast(count)
        names.removeLast(count)
        return .dictionary(entries)
    }

    private mutating func readLeaf() throws(JSONSyntaxError) -> StoredValue {
        switch byte(at: position) {
        case UInt8(ascii: "\""):
            return .string(try readString())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try readNumber()
        case UInt8(ascii: "t") where matches("rue", at: position + 1):
            position += 4
            return .bool(true)
        case UInt8(ascii: "f") where matches("alse", at: position + 1):
            position += 5
            return .bool(false)
        case UInt8(ascii: "n") where matches("ull", at: position + 1):
            position += 4
            return .null
        default:
            throw failure("expected a value", at: position)
        }
    }

    private func matches(_ text: String, at offset: Int) -> Bool {
        zip(text.utf8, offset...).allSatisfy { byte(at: $1) == $0 }
    }
}

// MARK: - Numbers

extension JSONReader {
    /// Reads the number whose sign or first digit is at the position.
    mutating func readNumber() throws(JSONSyntaxError) -> StoredValue {
        let start = position
        let isNegative = byte(at: position) == UInt8(ascii: "-")
        if isNegative { position += 1 }

        // It wraps beyond 19 digits, and is then not used.
        var digits: UInt64 = 0
        let firstDigit = position
        try readDigits(into: &digits, else: "expected a digit after '-'")
        let digitCount = position - firstDigit
        if digitCount > 1, byte(at: firstDigit) == UInt8(ascii: "0") {
            throw failure("a number has a leading zero", at: firstDigit)
        }

        var isInteger = true
        var ignored: UInt64 = 0
        if byte(at: position) == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try readDigits(into: &ignored, else: "expected a digit after '.'")
        }
        if [UInt8(ascii: "e"), UInt8(ascii: "E")].contains(byte(at: position)) {
            isInteger = false
            position += 1
            if [UInt8(ascii: "-"), UInt8(ascii: "+")].contains(byte(at: position)) { position += 1 }
            try readDigits(into: &ignored, else: "expected a digit in an exponent")
        }
        // Most integers are short.
        if isInteger, digitCount <= 19 {
            // An integer has no negative zero, so it is read as a double.
            if isNegative, digits == 0 { return .double(-0.0) }
            return .integer(isNegative ? -Int128(digits) : Int128(digits))
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger {
            guard let number = Int128(text) else {
                throw failure("an integer is too large to be stored exactly; write it as a string", at: start)
            }
            return .integer(number)
        }
        guard let number = Double(text), number.isFinite else {
            throw failure("a number is too large to be stored; write it as a string", at: start)
        }
        return .double(number)
    }

    /// Reads one or more digits.
    private mutating func readDigits(into number: inout UInt64, else problem: String) throws(JSONSyntaxError) {
        let start = position
        while true {
            let digit = byte(at: position) &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            number = number &* 10 &+ UInt64(digit)
            position += 1
        }
        guard position > start else { throw failure(problem, at: position) }
    }
}

// MARK: - Space
// See Documentation/Decisions/Settings-file.md, "A checkpoint edits the text of the file".

extension JSONReader {
    /// Skips white space, and in a settings file comments.
    mutating func skipWhitespace() throws(JSONSyntaxError) {
        while true {
            switch byte(at: position) {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): position += 1
            case UInt8(ascii: "/") where dialect == .settingsFile: try skipComment()
            default: return
            }
        }
    }

    /// Skips the comment whose solidus is at the position.
    ///
    /// A line comment ends before the line break or at the end of the input. Other comments are not nested. A NUL is
    /// rejected, because a file that contains one was damaged.
    private mutating func skipComment() throws(JSONSyntaxError) {
        let start = position
        let isLineComment = byte(at: start + 1) == UInt8(ascii: "/")
        guard isLineComment || byte(at: start + 1) == UInt8(ascii: "*") else {
            throw failure("a '/' does not begin a comment, which begins with '//' or '/*'", at: start)
        }
        position += 2
        var isClosed = isLineComment
        comment: while position < bytes.count {
            switch byte(at: position) {
            case UInt8(ascii: "\n") where isLineComment, UInt8(ascii: "\r") where isLineComment:
                break comment
            case UInt8(ascii: "*") where !isLineComment && byte(at: position + 1) == UInt8(ascii: "/"):
                position += 2
                isClosed = true
                break comment
            case 0:
                throw failure("a comment contains a NUL", at: position)
            default:
                position += 1
            }
        }
        guard String(validating: bytes[start..<position], as: UTF8.self) != nil else {
            throw invalidUTF8("a comment", from: start, to: position)
        }
        guard isClosed else { throw failure("a comment is not closed; expected '*/'", at: start) }
    }
}

// MARK: - Strings

extension JSONReader {
    /// Reads the string whose opening quotation mark is at the position.
    mutating func readString() throws(JSONSyntaxError) -> String {
        let start = position + 1
        var end = start
        var allBits: UInt8 = 0
        // The contents up to the last escape, and where the bytes after it begin.
        var text: [UInt8] = []
        var rest = start
        while true {
            let byte = byte(at: end)
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\") {
                text += bytes[rest..<end]
                position = end
                try readEscape(into: &text)
                end = position
                rest = end
                continue
            }
            if byte < 0x20 { throw controlCharacter(at: end) }
            allBits |= byte
            end += 1
        }
        position = end + 1
        let hasEscapes = rest > start
        if hasEscapes { text += bytes[rest..<end] }
        // ASCII is always valid, and most strings are ASCII: `String(validating:as:)` takes 1,000 instructions more.
        if !hasEscapes, allBits < 0x80 {
            return String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<end]), as: UTF8.self)
        }
        let string =
            hasEscapes
            ? String(validating: text, as: UTF8.self) : String(validating: bytes[start..<end], as: UTF8.self)
        guard let string else { throw invalidUTF8("a string", from: start, to: end) }
        return string
    }

    /// Reads the escape whose backslash is at the position.
    private mutating func readEscape(into text: inout [UInt8]) throws(JSONSyntaxError) {
        switch byte(at: position + 1) {
        case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): text.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): text.append(0x08)  // backspace
        case UInt8(ascii: "f"): text.append(0x0C)  // form feed
        case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
        case UInt8(ascii: "r"): text.append(UInt8(ascii: "\r"))
        case UInt8(ascii: "t"): text.append(UInt8(ascii: "\t"))
        case UInt8(ascii: "u"):
            text.append(contentsOf: UTF8.encode(try readScalarEscape()) ?? UTF8.encodedReplacementCharacter)
            return
        default:
            guard position + 1 < bytes.count else { throw endInString }
            throw failure("a '\\' does not begin a valid escape", at: position)
        }
        position += 2
    }

    /// Reads the `\u` escape, or the pair of escapes, at the position.
    private mutating func readScalarEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position
        let unit = try readUnitEscape()
        if let scalar = Unicode.Scalar(unit) { return scalar }

        let isFirstOfPair = unit < 0xDC00
        let isCutOff = byte(at: position) == UInt8(ascii: "\\") && position + 1 >= bytes.count
        if isFirstOfPair, position >= bytes.count || isCutOff { throw endInString }
        guard isFirstOfPair, byte(at: position) == UInt8(ascii: "\\"), byte(at: position + 1) == UInt8(ascii: "u")
        else {
            throw failure("a '\\u' escape is an unpaired surrogate", at: start)
        }
        let other = try readUnitEscape()
        guard
            (0xDC00...0xDFFF).contains(other),
            let scalar = Unicode.Scalar(0x1_0000 + (UInt32(unit - 0xD800) << 10) + UInt32(other - 0xDC00))
        else {
            throw failure("a '\\u' escape is an unpaired surrogate", at: start)
        }
        return scalar
    }

    /// Reads `\u` and four hexadecimal digits.
    private mutating func readUnitEscape() throws(JSONSyntaxError) -> UInt16 {
        var unit: UInt16 = 0
        for offset in (position + 2)..<(position + 6) {
            guard let digit = Character(Unicode.Scalar(byte(at: offset))).hexDigitValue else {
                guard offset < bytes.count else { throw endInString }
                throw failure("expected four hexadecimal digits after '\\u'", at: offset)
            }
            unit = unit << 4 | UInt16(digit)
        }
        position += 6
        return unit
    }

    private var endInString: JSONSyntaxError {
        JSONSyntaxError("unexpected end of input in a string", at: bytes.count, in: bytes)
    }

    /// The error for a string that contains a byte below 0x20 or is not terminated.
    private func controlCharacter(at offset: Int) -> JSONSyntaxError {
        guard offset < bytes.count else { return endInString }
        switch byte(at: offset) {
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
            return failure("a string contains a line break; is its closing quotation mark missing?", at: offset)
        default:
            return failure("a string contains a control character that is not escaped", at: offset)
        }
    }

    /// The error for bytes that are known not to be valid UTF-8, at the first invalid byte.
    private func invalidUTF8(_ place: String, from start: Int, to end: Int) -> JSONSyntaxError {
        var offset = start
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes[start..<end].makeIterator()
        while case .valid(let scalar) = parser.parseScalar(from: &rest) { offset += scalar.count }
        return failure("\(place) is not valid UTF-8", at: offset)
    }
}

/// The error for invalid JSON, with its position.
///
/// The problem quotes nothing from the input except structural characters, so it can be logged even if the input is
/// secret.
package struct JSONSyntaxError: Error, Sendable, Hashable {
    /// The number of bytes before the position, including a byte order mark.
    package let offset: Int
    /// The line, counted from one; LF, CR LF and CR each end a line.
    package let line: Int
    /// The column, counted from one in Unicode scalars, without a leading byte order mark.
    package let column: Int
    /// The problem, in one sentence without a period.
    package let problem: String
}

extension JSONSyntaxError {
    /// Creates an error, and counts the lines and columns before it.
    ///
    /// The count starts at the beginning of the input, which happens at most once per parse.
    init(_ problem: String, at offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
        var line = 1
        var column = 1
        var previous: UInt8 = 0
        let first = bytes.startsWithByteOrderMark ? 3 : 0
        for byte in bytes.prefix(offset).dropFirst(first) {
            if byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") && previous != UInt8(ascii: "\r") {
                line += 1
                column = 1
            } else if byte != UInt8(ascii: "\n"), byte & 0b1100_0000 != 0b1000_0000 {
                column += 1
            }
            previous = byte
        }
        self.offset = offset
        self.line = line
        self.column = column
        self.problem = problem
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the bytes begin with U+FEFF in UTF-8.
    var startsWithByteOrderMark: Bool {
        count >= 3 && self[0] == 0xEF && self[1] == 0xBB && self[2] == 0xBF
    }
}
