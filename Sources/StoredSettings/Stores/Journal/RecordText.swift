// SPDX-License-Identifier: Apache-2.0

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

    /// The number; `nil` if it has more than 18 digits, or another form than the usual one.
    private static func integer(in bytes: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = bytes[0] == UInt8(ascii: "-")
        let digits = bytes[(isNegative ? 1 : 0)...]
        guard let first = digits.first, digits.count <= 18, first != UInt8(ascii: "0") || bytes.count == 1 else {
            return nil
        }
        var number: Int64 = 0
        for byte in digits {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return isNegative ? -number : number
    }
}

/// The valid records at the beginning of some bytes, in order.
struct RecordSequence {
    private let bytes: UnsafeRawBufferPointer
    private let epoch: UInt32
    private let salt: UInt64
    /// Whether a record is omitted if the next one sets the same key.
    private let isOmittingReplaced: Bool
    /// The record after the last one that was returned.
    private var following: RecordText?
    /// The end of the last valid record.
    private(set) var end = 0

    /// - Parameters:
    ///   - bytes: The bytes, which must remain valid as long as this value is used.
    ///   - epoch: The epoch of the records.
    ///   - salt: The salt of the epoch.
    ///   - isOmittingReplaced: Whether a record is omitted if the next one sets the same key.
    init(_ bytes: UnsafeRawBufferPointer, epoch: UInt32, salt: UInt64, isOmittingReplaced: Bool) {
        (self.bytes, self.epoch, self.salt, self.isOmittingReplaced) = (bytes, epoch, salt, isOmittingReplaced)
        following = RecordText(bytes, at: 0, epoch: epoch, salt: salt)
    }

    mutating func next() -> JournalRecord? {
        while let text = following {
            following = RecordText(bytes, at: text.end, epoch: epoch, salt: salt)
            if isOmittingReplaced, let following, text.isReplaced(by: following) { continue }
            guard let record = text.record else {
                following = nil
                return nil
            }
            end = text.end
            return record
        }
        return nil
    }
}
