// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "A checkpoint edits the text of the file".

/// A recognizer of the form in which ``JSONWriter`` writes a file.
///
/// It makes one pass and allocates next to nothing, so it takes a fraction of the time of reading the file. It rejects a
/// few files that have the form: those with an escape in a name, whose order it does not determine.
///
/// The pointer is safe for the reasons that ``JSONReader`` gives.
struct JSONForm {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    /// The open containers, outermost first.
    private var open: [Container] = []

    private struct Container {
        let isObject: Bool
        /// The last name that was read, without its quotation marks.
        var lastName: Range<Int>?

        var closing: UInt8 { isObject ? JSONByte.rightBrace : JSONByte.rightBracket }
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// Whether ``JSONWriter/text(of:)`` writes the same bytes for the entries of a file.
    ///
    /// - Parameter bytes: The file, which ``JSONReader`` has read without an error.
    /// - Returns: `true` if that is certain.
    static func isCanonical(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            var form = JSONForm(bytes)
            return form.byte(at: 0) == JSONByte.leftBrace && form.readDocument()
        }
    }

    /// The byte at a nonnegative offset; 0 beyond the end.
    @inline(__always)
    private func byte(at offset: Int) -> UInt8 {
        offset < bytes.count ? bytes[offset] : 0
    }

    // Each method returns `false` as soon as the bytes have another form.

    private mutating func readDocument() -> Bool {
        while true {
            switch byte(at: position) {
            case JSONByte.leftBrace, JSONByte.leftBracket:
                let container = Container(isObject: byte(at: position) == JSONByte.leftBrace)
                position += 1
                if byte(at: position) == container.closing {
                    position += 1
                } else {
                    open.append(container)
                    guard readStartOfLine() else { return false }
                    continue
                }
            case JSONByte.quote:
                guard readString() != nil else { return false }
            case JSONByte.minus, JSONByte.zero...JSONByte.nine:
                guard readNumber() else { return false }
            default:
                let start = position
                while 0x61...0x7A ~= byte(at: position) { position += 1 }  // true, false and null
                guard position > start else { return false }
            }

            var isNext = false
            while !isNext, let innermost = open.last {
                isNext = byte(at: position) == JSONByte.comma
                if isNext {
                    position += 1
                } else {
                    open.removeLast()
                }
                guard readStartOfLine(withName: isNext) else { return false }
                if !isNext {
                    guard byte(at: position) == innermost.closing else { return false }
                    position += 1
                }
            }
            if open.isEmpty { return byte(at: position) == JSONByte.lineFeed && position + 1 == bytes.count }
        }
    }

    /// Reads a line break, the indentation, and in an object a name.
    private mutating func readStartOfLine(withName hasName: Bool = true) -> Bool {
        guard byte(at: position) == JSONByte.lineFeed else { return false }
        position += 1
        let end = position + 2 * open.count
        while position < end {
            guard byte(at: position) == JSONByte.space else { return false }
            position += 1
        }
        guard hasName, let innermost = open.indices.last, open[innermost].isObject else { return true }
        guard byte(at: position) == JSONByte.quote, let name = readString(), !bytes[name].contains(JSONByte.backslash),
            open[innermost].lastName.map({ bytes[$0].lexicographicallyPrecedes(bytes[name]) }) ?? true,
            byte(at: position) == JSONByte.colon, byte(at: position + 1) == JSONByte.space
        else { return false }
        open[innermost].lastName = name
        position += 2
        return true
    }

    /// Reads a string, and returns its range without the quotation marks; `nil` if an escape is not necessary.
    private mutating func readString() -> Range<Int>? {
        let start = position + 1
        position = start
        while position < bytes.count {
            switch byte(at: position) {
            case JSONByte.quote:
                position += 1
                return start..<position - 1
            case JSONByte.backslash:
                let escape = byte(at: position + 1)
                if escape == 0x75 {  // u
                    guard isNecessaryEscape(at: position + 2) else { return nil }
                    position += 6
                } else {
                    guard escape != JSONByte.solidus else { return nil }
                    position += 2
                }
            default:
                position += 1
            }
        }
        return nil
    }

    /// Whether four digits are those of a control character without a shorter escape.
    private func isNecessaryEscape(at digits: Int) -> Bool {
        let (third, fourth) = (byte(at: digits + 2), byte(at: digits + 3))
        guard byte(at: digits) == JSONByte.zero, byte(at: digits + 1) == JSONByte.zero else { return false }
        switch (third, fourth) {
        case (0x30, 0x38), (0x30, 0x39), (0x30, 0x41), (0x30, 0x43), (0x30, 0x44): return false  // b, t, n, f, r
        case (0x30...0x31, 0x30...0x39), (0x30...0x31, 0x41...0x46): return true
        default: return false
        }
    }

    /// Reads a number.
    ///
    /// An integer has one form only, except that minus zero is a double.
    private mutating func readNumber() -> Bool {
        let start = position
        var isInteger = true
        while true {
            switch byte(at: position) {
            case JSONByte.minus, JSONByte.zero...JSONByte.nine: break
            case JSONByte.plus, JSONByte.point, 0x45, 0x65: isInteger = false  // E, e
            default:
                let text = bytes[start..<position]
                guard !isInteger else { return !text.elementsEqual([JSONByte.minus, JSONByte.zero]) }
                guard let number = Double(String(decoding: text, as: UTF8.self)) else { return false }
                return text.elementsEqual(number.description.utf8)
            }
            position += 1
        }
    }
}
