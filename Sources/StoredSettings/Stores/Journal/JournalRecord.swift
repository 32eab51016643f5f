// SPDX-License-Identifier: Apache-2.0

/// The changes of one commit, as a journal contains them.
///
/// Documentation/FileFormat.md describes the bytes.
package struct JournalRecord {
    /// The new values; `nil` for keys that are removed.
    package var values: [String: StoredValue?]
    /// The offset of the record's end in the bytes that it was read from.
    package var end: Int

    /// The length of the header before the text, in bytes.
    package static let headerSize = 24
    static let alignment = 8

    /// The longest record that is written or read, in bytes: 64 MiB.
    ///
    /// A length that is damaged costs no more memory than this.
    package static let longest = 1 << 26

    /// The text is an object of arrays of values, which may be as deep as those of a file.
    private static let maximumDepth = JSONReader.maximumDepth + 1

    /// Returns the bytes of a record.
    ///
    /// - Parameters:
    ///   - changes: The changes of one commit, one per key, with values that JSON can represent.
    ///   - epoch: The journal's epoch.
    ///   - salt: The salt of the epoch.
    ///   - longest: The longest record that is allowed, in bytes.
    /// - Returns: The bytes.
    /// - Throws: ``SettingsError`` when a value has no JSON form, or the record would be too long.
    package static func bytes(
        of changes: [StoreChange],
        epoch: UInt32,
        salt: UInt64,
        longest: Int = longest
    ) throws -> [UInt8] {
        var bytes = try JSONWriter.text(of: changes, after: headerSize, maximumDepth: maximumDepth)
        let textLength = bytes.count - headerSize
        for _ in 0..<(alignment - textLength % alignment) % alignment { bytes.append(0) }
        guard bytes.count <= longest else { throw SettingsError.recordTooLong(longest) }
        bytes.withUnsafeMutableBytes { record in
            storeLengths(in: record, text: textLength, key: 0)
            complete(record, epoch: epoch, salt: salt)
        }
        return bytes
    }

    private static func storeLengths(in record: UnsafeMutableRawBufferPointer, text: Int, key: Int) {
        // All are inside the header, with which the record begins.
        record.storeBytes(of: UInt32(record.count).littleEndian, toByteOffset: 0, as: UInt32.self)
        record.storeBytes(of: UInt32(text).littleEndian, toByteOffset: 16, as: UInt32.self)
        record.storeBytes(of: UInt32(key).littleEndian, toByteOffset: 20, as: UInt32.self)
    }

    /// Stores the epoch and the checksum in the header of a record.
    ///
    /// - Parameters:
    ///   - bytes: The record, which is not shorter than its header.
    ///   - epoch: The journal's epoch.
    ///   - salt: The salt of the epoch.
    static func complete(_ bytes: UnsafeMutableRawBufferPointer, epoch: UInt32, salt: UInt64) {
        // Both are inside the header, with which the record begins.
        bytes.storeBytes(of: epoch.littleEndian, toByteOffset: 4, as: UInt32.self)
        let checksum = checksum(of: UnsafeRawBufferPointer(bytes), salt: salt)
        bytes.storeBytes(of: checksum.littleEndian, toByteOffset: 8, as: UInt64.self)
    }

    /// Runs a body with the bytes of a record that sets one key.
    ///
    /// Its epoch is not known yet, so the body calls ``complete(_:epoch:salt:)``.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - value: The value; `nil` to remove the stored one.
    ///   - body: Receives the bytes, which are valid during the call.
    /// - Returns: The result of the body.
    /// - Throws: ``SettingsError`` when the value has no JSON form, or the record would be too long; the error of the body.
    static func withRecord<Result>(
        setting key: String,
        to value: StoredValue?,
        _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) throws -> Result {
        if let result = try withShortRecord(setting: key, to: value, body) { return result }
        var bytes = try bytes(of: [StoreChange(key: key, old: nil, new: value)], epoch: 0, salt: 0)
        return try bytes.withUnsafeMutableBytes { try body($0) }
    }

    private static let shortLength = 512

    /// Composes a short record on the stack.
    ///
    /// - Returns: The result of the body; `nil` if the record is longer, or the value is of another kind.
    private static func withShortRecord<Result>(
        setting key: String,
        to value: StoredValue?,
        _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) throws -> Result? {
        try withUnsafeTemporaryAllocation(byteCount: shortLength, alignment: alignment) { buffer in
            var text = ShortText(buffer, from: headerSize)
            guard text.appendMember(key, value) else { return nil }
            let textLength = text.count - headerSize
            text.pad(to: alignment)
            // The text is at least as long as an empty object, and the memory is used only in this closure.
            let record = UnsafeMutableRawBufferPointer(rebasing: buffer[..<text.count])
            storeLengths(in: record, text: textLength, key: text.keyLength)
            return try body(record)
        }
    }

    /// Returns the bytes of changes that were committed before: one record if that is not too long, otherwise several.
    package static func records(
        of changes: [StoreChange],
        epoch: UInt32,
        salt: UInt64,
        longest: Int = longest
    ) throws -> [UInt8] {
        do {
            return try bytes(of: changes, epoch: epoch, salt: salt, longest: longest)
        } catch let error as SettingsError where error.code == .unstorable && changes.count > 1 {
            // Each change was in a record that was not too long.
            let half = changes.count / 2
            return try records(of: Array(changes[..<half]), epoch: epoch, salt: salt, longest: longest)
                + records(of: Array(changes[half...]), epoch: epoch, salt: salt, longest: longest)
        }
    }

    /// The length of the record that some bytes begin with, if they begin as a record of an epoch that is longer than they
    /// are; otherwise `nil`.
    static func length(ofCut bytes: UnsafeRawBufferPointer, epoch: UInt32) -> Int? {
        guard bytes.count >= headerSize else { return nil }
        let length = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self)))
        let itsEpoch = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        return itsEpoch == epoch && length > bytes.count && length <= longest ? length : nil
    }

    /// Parses the text of a record.
    static func values(in text: UnsafeRawBufferPointer) -> [String: StoredValue?]? {
        do {
            let object = try text.withMemoryRebound(to: UInt8.self) { (text) throws(JSONSyntaxError) in
                try JSONReader.readObject(text, maximumDepth: maximumDepth)
            }
            var values: [String: StoredValue?] = [:]
            for (key, entry) in object {
                guard case .array(let elements) = entry, elements.count <= 1 else { return nil }
                values.updateValue(elements.first, forKey: key)
            }
            return values
        } catch {
            // The checksum is correct, so another program has written this.
            return nil
        }
    }

    /// The checksum of all bytes except the checksum itself.
    ///
    /// The caller has checked the length of the record.
    package static func checksum(of record: UnsafeRawBufferPointer, salt: UInt64) -> UInt64 {
        var checksum = Checksum(salt: salt)
        for offset in stride(from: 0, to: record.count - 7, by: 8) where offset != 8 {
            checksum.add(UInt64(littleEndian: record.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
        }
        return checksum.value
    }
}

/// A checksum of words.
///
/// Different words change a checksum differently, so a change within one word is always noticed. Any other change is
/// missed with a probability of 1 in 2⁶⁴. For the same reason, equal words have different checksums under different salts.
package struct Checksum {
    package private(set) var value: UInt64

    package init(salt: UInt64) {
        value = 0xCBF2_9CE4_8422_2325 ^ salt
    }

    package mutating func add(_ word: UInt64) {
        // Multiplication by an odd number is bijective, and so is the shift, which mixes high bits into low ones.
        value = (value ^ word) &* 0x9E37_79B9_7F4A_7C15
        value ^= value >> 32
    }
}

// MARK: - The text of a record

/// A valid record of a journal, whose text is not parsed yet.
///
/// Every access is within the bytes: the initializer compares the lengths in the record with their number. The bytes must
/// remain valid as long as this value is used.
struct RecordText {
    private let text: UnsafeRawBufferPointer
    /// The key in quotation marks, if the record sets only one, and the key has no escapes; otherwise empty.
    private let key: UnsafeRawBufferPointer
    /// The offset of the record's end in the bytes that it is part of.
    let end: Int

    /// - Returns: `nil` when there is no complete record of this epoch at the offset.
    init?(_ bytes: UnsafeRawBufferPointer, at start: Int, epoch: UInt32, salt: UInt64) {
        let headerSize = JournalRecord.headerSize
        guard start >= 0, bytes.count - start >= headerSize else { return nil }
        let length = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self)))
        let itsEpoch = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self))
        guard itsEpoch == epoch, length >= headerSize, length % JournalRecord.alignment == 0,
            length <= bytes.count - start, length <= JournalRecord.longest
        else { return nil }
        let record = UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])
        let checksum = UInt64(littleEndian: record.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        let textLength = Int(UInt32(littleEndian: record.loadUnaligned(fromByteOffset: 16, as: UInt32.self)))
        let keyLength = Int(UInt32(littleEndian: record.loadUnaligned(fromByteOffset: 20, as: UInt32.self)))
        guard checksum == JournalRecord.checksum(of: record, salt: salt), textLength <= length - headerSize else {
            return nil
        }
        text = UnsafeRawBufferPointer(rebasing: record[headerSize..<headerSize + textLength])
        // The key follows the opening brace.
        let hasKey = keyLength >= 2 && keyLength < textLength
        key =
            hasKey
            ? UnsafeRawBufferPointer(rebasing: text[1..<1 + keyLength]) : UnsafeRawBufferPointer(start: nil, count: 0)
        end = start + length
    }

    /// Whether both records set the same single key.
    func isReplaced(by next: RecordText) -> Bool {
        guard !key.isEmpty, key.count == next.key.count else { return false }
        return key.elementsEqual(next.key)
    }

    /// The record; `nil` if another program has written a text that is not that of a record.
    var record: JournalRecord? {
        if let (key, value) = member { return JournalRecord(values: [key: value], end: end) }
        return JournalRecord.values(in: text).map { JournalRecord(values: $0, end: end) }
    }

    /// The key and the new value, if the text has the usual form; `nil` does not mean that it is invalid.
    private var member: (key: String, value: StoredValue?)? {
        guard let name = Self.string(in: key), text.count >= key.count + 5,
            text[0] == JSONByte.leftBrace, text[1 + key.count] == JSONByte.colon,
            text[2 + key.count] == JSONByte.leftBracket, text[text.count - 2] == JSONByte.rightBracket,
            text[text.count - 1] == JSONByte.rightBrace
        else { return nil }
        let value = UnsafeRawBufferPointer(rebasing: text[(3 + key.count)..<(text.count - 2)])
        guard !value.isEmpty else { return (name, nil) }
        return Self.value(in: value).map { (name, $0) }
    }

    private static func value(in bytes: UnsafeRawBufferPointer) -> StoredValue? {
        switch bytes[0] {
        case JSONByte.quote: string(in: bytes).map { .string($0) }
        case UInt8(ascii: "n") where bytes.elementsEqual("null".utf8): .null
        case UInt8(ascii: "t") where bytes.elementsEqual("true".utf8): .bool(true)
        case UInt8(ascii: "f") where bytes.elementsEqual("false".utf8): .bool(false)
        default: integer(in: bytes).map { .integer(Int128($0)) }
        }
    }

    /// The string in quotation marks; `nil` if it has an escape or another character that needs a closer look.
    private static func string(in bytes: UnsafeRawBufferPointer) -> String? {
        guard bytes.count >= 2, bytes[0] == JSONByte.quote, bytes[bytes.count - 1] == JSONByte.quote else { return nil }
        let contents = UnsafeRawBufferPointer(rebasing: bytes[1..<bytes.count - 1])
        for byte in contents where byte < 0x20 || byte == JSONByte.quote || byte == JSONByte.backslash { return nil }
        return String(validating: contents, as: UTF8.self)
    }

    /// The number; `nil` if it has more than 64 bits, or another form than the usual one.
    private static func integer(in bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.count <= 20 else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return Int64(text).flatMap { $0.description == text ? $0 : nil }
    }
}

/// JSON text of limited length, which is written into memory of the caller.
///
/// It has the same form as that of ``JSONWriter``, which has no limit. Every access is within the memory, whose length
/// is checked for each addition. The memory must remain valid as long as this value is used.
struct ShortText {
    private let buffer: UnsafeMutableRawBufferPointer
    /// The end of the text in the memory.
    private(set) var count: Int
    /// The length of the key of the object that was appended, with its quotation marks.
    private(set) var keyLength = 0

    init(_ buffer: UnsafeMutableRawBufferPointer, from start: Int) {
        (self.buffer, count) = (buffer, start)
    }

    /// Appends an object with one member: an array of a value, or an empty array.
    ///
    /// - Returns: `false` if there is not enough room for the text and its padding, or the value is of another kind than
    ///   null, a Boolean, a 64-bit integer or a string.
    mutating func appendMember(_ key: String, _ value: StoredValue?) -> Bool {
        guard append(JSONByte.leftBrace) else { return false }
        let start = count
        guard append(key) else { return false }
        keyLength = count - start
        guard append(JSONByte.colon), append(JSONByte.leftBracket) else { return false }
        switch value {
        case nil: break
        case .null: guard append(text: "null") else { return false }
        case .bool(let isTrue): guard append(text: isTrue ? "true" : "false") else { return false }
        case .integer(let number):
            guard let number = Int64(exactly: number), append(text: number.description) else { return false }
        case .string(let string): guard append(string) else { return false }
        case .double, .date, .data, .array, .dictionary: return false
        }
        guard append(JSONByte.rightBracket), append(JSONByte.rightBrace) else { return false }
        return count + 8 <= buffer.count
    }

    /// Appends zeros up to a multiple of a number, for which there is room.
    mutating func pad(to alignment: Int) {
        while count % alignment != 0, append(UInt8(0)) {}
    }

    private mutating func append(_ byte: UInt8) -> Bool {
        guard count < buffer.count else { return false }
        buffer[count] = byte
        count += 1
        return true
    }

    private mutating func append(text: String) -> Bool {
        var text = text
        return text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= buffer.count - count else { return false }
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: bytes)
        count += bytes.count
        return true
    }

    /// Appends a string in quotation marks, unless a character needs an escape.
    private mutating func append(_ string: String) -> Bool {
        var string = string
        return string.withUTF8 { bytes in
            guard append(JSONByte.quote) else { return false }
            for byte in bytes where byte < 0x20 || byte == JSONByte.quote || byte == JSONByte.backslash { return false }
            return append(UnsafeRawBufferPointer(bytes)) && append(JSONByte.quote)
        }
    }
}
