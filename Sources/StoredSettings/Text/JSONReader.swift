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
    private var names: [Name] = []
    private let maximumDepth: Int
    let dialect: Dialect
    /// The name of the member of the outermost object to find, and the offset of its value once it is found.
    private var sought: (name: String, offset: Int?)?

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
        let firstName: Int
    }

    private struct Name {
        let text: String
        let offset: Int
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

    /// Parses one object.
    ///
    /// - Parameters:
    ///   - bytes: The UTF-8 bytes.
    ///   - dialect: What the reader accepts.
    ///   - maximumDepth: The maximum number of nested arrays and objects, including the outermost one.
    /// - Returns: The entries of the object.
    /// - Throws: ``JSONSyntaxError``.
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
}

extension JSONReader {
    /// Reads a string in quotation marks.
    static func readName(_ bytes: ArraySlice<UInt8>) throws(JSONSyntaxError) -> String {
        try bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in
            var reader = JSONReader(bytes)
            return try reader.readString()
        }
    }

    /// Finds the value of a member of the outermost object of a settings file.
    ///
    /// - Parameters:
    ///   - name: The name of the member.
    ///   - bytes: The UTF-8 bytes of the object.
    /// - Returns: The line and the column of the value, from 1; `nil` when there is none, or the bytes are not valid.
    static func place(ofMember name: String, in bytes: [UInt8]) -> (line: Int, column: Int)? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes, .settingsFile)
            reader.sought = (name, nil)
            do {
                _ = try reader.readDocument(isObject: true)
            } catch {
                return nil
            }
            guard let offset = reader.sought?.offset else { return nil }
            let place = JSONSyntaxError("", at: offset, in: bytes)
            return (place.line, place.column)
        }
    }
}

extension JSONReader {
    /// What is wrong with text in another encoding, as its first bytes show.
    private var encodingProblem: String? {
        guard bytes.count > 1 else { return nil }
        return switch (byte(at: 0), byte(at: 1)) {
        case (0, 0): "the file begins with null characters instead of text"
        case (0, _), (_, 0), (0xFE, 0xFF), (0xFF, 0xFE): "the file is not in UTF-8, perhaps in UTF-16; save it in UTF-8"
        default: nil
        }
    }

    private mutating func readDocument(isObject: Bool) throws(JSONSyntaxError) -> StoredValue {
        if let encodingProblem { throw failure(encodingProblem, at: 0) }
        try skipWhitespace()
        guard position < bytes.count else {
            // Nothing but white space and comments has been read.
            guard !bytes.contains(JSONByte.solidus) else { throw failure("", at: bytes.count) }
            throw JSONSyntaxError("the file is empty", at: 0, in: bytes)
        }
        if isObject, byte(at: position) != JSONByte.leftBrace {
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
            case JSONByte.leftBrace:
                try openContainer(isObject: true)
                guard byte(at: position) == JSONByte.rightBrace else {
                    try readName(else: "expected '}' or a name in double quotes after '{'")
                    continue
                }
                value = try closeContainer()
            case JSONByte.leftBracket:
                try openContainer(isObject: false)
                guard byte(at: position) == JSONByte.rightBracket else { continue }
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
        if next == JSONByte.comma {
            position += 1
            try skipWhitespace()
            let closing = isObject ? JSONByte.rightBrace : JSONByte.rightBracket
            if dialect == .settingsFile, byte(at: position) == closing { return false }
            if isObject {
                try readName(else: "expected a name in double quotes after ','")
            } else if byte(at: position) == JSONByte.rightBracket {
                throw failure("expected a value after ','", at: position)
            }
            return true
        }
        guard next == (isObject ? JSONByte.rightBrace : JSONByte.rightBracket) else {
            throw failure("expected ',' or '\(isObject ? "}" : "]")' after a value", at: position)
        }
        return false
    }

    private mutating func readName(else problem: String) throws(JSONSyntaxError) {
        guard byte(at: position) == JSONByte.quote else { throw failure(problem, at: position) }
        let offset = position
        names.append(Name(text: try readString(), offset: offset))
        try skipWhitespace()
        guard byte(at: position) == JSONByte.colon else { throw failure("expected ':' after a name", at: position) }
        position += 1
        if let sought, open.count == 1, names.last?.text == sought.name {
            try skipWhitespace()
            self.sought?.offset = position
        }
    }

    private mutating func openContainer(isObject: Bool) throws(JSONSyntaxError) {
        guard open.count < maximumDepth else {
            throw failure("the nesting is deeper than \(maximumDepth) levels", at: position)
        }
        open.append(Container(isObject: isObject, firstValue: values.count, firstName: names.count))
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
        case JSONByte.quote:
            return .string(try readString())
        case JSONByte.minus, JSONByte.zero...JSONByte.nine:
            return try readNumber()
        case 0x74 where matches(0x72, 0x75, 0x65, at: position + 1):  // true
            position += 4
            return .bool(true)
        case 0x66 where matches(0x61, 0x6C, 0x73, at: position + 1) && byte(at: position + 4) == 0x65:  // false
            position += 5
            return .bool(false)
        case 0x6E where matches(0x75, 0x6C, 0x6C, at: position + 1):  // null
            position += 4
            return .null
        default:
            throw failure("expected a value", at: position)
        }
    }

    private func matches(_ first: UInt8, _ second: UInt8, _ third: UInt8, at offset: Int) -> Bool {
        byte(at: offset) == first && byte(at: offset + 1) == second && byte(at: offset + 2) == third
    }
}
