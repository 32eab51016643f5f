// SPDX-License-Identifier: Apache-2.0

/// Reads the text of `settings.json`: RFC 8259 to the letter, after one byte order mark if there is one.
///
/// It refuses what could not be written again as it was: an integer wider than `Int128`, a number that overflows, and
/// a name that stands twice in one object. It does not recurse, so how deep a text is nested costs no stack.
///
/// The bytes are read through a pointer, which is as fast without optimisation as with it. Two things make that safe.
/// A reader lives only inside a call of `read` or `readObject`, and the caller holds the bytes that long. And every byte
/// is read by ``byte(at:)``, which checks its offset in every build and gives 0, which is no part of any JSON, past the end.
package struct JSONReader {
    /// How many arrays and objects may stand one in another, the outermost included.
    package static let maximumDepth = StoredValue.maximumDepth + 1

    let bytes: UnsafeBufferPointer<UInt8>
    /// The byte to be read next, never negative, as it only ever grows.
    var position: Int

    /// The containers that are open, outermost first.
    private var open: [Container] = []
    /// The values of all open containers, those of the innermost last.
    private var values: [StoredValue] = []
    /// The names of all open objects, those of the innermost last.
    private var names: [Name] = []
    private let maximumDepth: Int

    private struct Container {
        let isObject: Bool
        let firstValue: Int
        let firstName: Int
    }

    private struct Name {
        let text: String
        let offset: Int
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = JSONReader.maximumDepth) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
        position = bytes.startsWithByteOrderMark ? 3 : 0
    }

    /// The byte at an offset, which is not negative; 0 past the end.
    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        offset < bytes.count ? bytes[offset] : 0
    }

    /// The error at an offset, unless the text has ended there, which is then the problem.
    func failure(_ problem: String, at offset: Int) -> JSONSyntaxError {
        guard offset < bytes.count else {
            return JSONSyntaxError("the file ends too early", at: bytes.count, in: bytes)
        }
        return JSONSyntaxError(problem, at: offset, in: bytes)
    }
}

extension JSONReader {
    /// Reads a text that is one value of any kind.
    package static func read(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONSyntaxError) -> StoredValue {
        var reader = JSONReader(bytes)
        return try reader.readText(isObject: false)
    }

    /// Reads a text that is one value of any kind.
    package static func read(_ bytes: [UInt8]) throws(JSONSyntaxError) -> StoredValue {
        try bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in try read(bytes) }
    }

    /// Reads a text that is one object.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - maximumDepth: How many arrays and objects may stand one in another, the outermost included.
    /// - Returns: The entries.
    /// - Throws: ``JSONSyntaxError``, with the place.
    package static func readObject(
        _ bytes: UnsafeBufferPointer<UInt8>,
        maximumDepth: Int = JSONReader.maximumDepth
    ) throws(JSONSyntaxError) -> [String: StoredValue] {
        var reader = JSONReader(bytes, maximumDepth: maximumDepth)
        guard case .dictionary(let entries) = try reader.readText(isObject: true) else { return [:] }
        return entries
    }

    /// Reads a text that is one object.
    package static func readObject(_ bytes: [UInt8]) throws(JSONSyntaxError) -> [String: StoredValue] {
        try bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in try readObject(bytes) }
    }
}

extension JSONReader {
    private mutating func readText(isObject: Bool) throws(JSONSyntaxError) -> StoredValue {
        skipWhitespace()
        guard position < bytes.count else { throw JSONSyntaxError("the file is empty", at: 0, in: bytes) }
        if isObject, byte(at: position) != JSONByte.leftBrace {
            throw failure("expected '{', as the file holds one object", at: position)
        }
        let value = try readValue()
        skipWhitespace()
        guard position >= bytes.count else { throw failure("something stands after the value", at: position) }
        return value
    }

    /// Reads a value and all that it contains.
    private mutating func readValue() throws(JSONSyntaxError) -> StoredValue {
        while true {
            skipWhitespace()
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

            // The value may be the last of its container, which then is the last of the one around it, and so on.
            var isNext = false
            while !isNext {
                guard let isObject = open.last?.isObject else { return value }
                values.append(value)
                isNext = try readComma(inObject: isObject)
                if !isNext { value = try closeContainer() }
            }
        }
    }

    /// Reads what follows a value: a comma, and in an object the name after it, or the end of the container, which is
    /// left standing.
    private mutating func readComma(inObject isObject: Bool) throws(JSONSyntaxError) -> Bool {
        skipWhitespace()
        let next = byte(at: position)
        if next == JSONByte.comma {
            position += 1
            skipWhitespace()
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
        skipWhitespace()
        guard byte(at: position) == JSONByte.colon else { throw failure("expected ':' after a name", at: position) }
        position += 1
    }

    private mutating func openContainer(isObject: Bool) throws(JSONSyntaxError) {
        guard open.count < maximumDepth else {
            throw failure("the nesting is deeper than \(maximumDepth) levels", at: position)
        }
        open.append(Container(isObject: isObject, firstValue: values.count, firstName: names.count))
        position += 1
        skipWhitespace()
    }

    /// Steps over the end of the innermost container and gives the container's value.
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
            // One of the two would be lost when the file is written again.
            guard entries.updateValue(value, forKey: name.text) == nil else {
                throw failure("a name stands twice in one object", at: name.offset)
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
        case 0x74 where stands(0x72, 0x75, 0x65, at: position + 1):  // true
            position += 4
            return .bool(true)
        case 0x66 where stands(0x61, 0x6C, 0x73, at: position + 1) && byte(at: position + 4) == 0x65:  // false
            position += 5
            return .bool(false)
        case 0x6E where stands(0x75, 0x6C, 0x6C, at: position + 1):  // null
            position += 4
            return .null
        default:
            throw failure("expected a value", at: position)
        }
    }

    private func stands(_ first: UInt8, _ second: UInt8, _ third: UInt8, at offset: Int) -> Bool {
        byte(at: offset) == first && byte(at: offset + 1) == second && byte(at: offset + 2) == third
    }

    private mutating func skipWhitespace() {
        while true {
            switch byte(at: position) {
            case JSONByte.space, JSONByte.lineFeed, JSONByte.carriageReturn, JSONByte.tab: position += 1
            default: return
            }
        }
    }
}
