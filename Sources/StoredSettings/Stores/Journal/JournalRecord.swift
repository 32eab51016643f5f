// SPDX-License-Identifier: Apache-2.0

/// The changes of one commit, as a journal contains them.
///
/// Documentation/FileFormat.md describes the bytes.
package struct JournalRecord {
    /// The new values; `nil` for keys that are removed.
    package var values: [String: StoredValue?]
    /// The offset of the record's end in the bytes that it was read from.
    package var end: Int
    /// Whether records that set the same key were omitted before this one.
    var hasOmitted = false

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
        let keyLength = changes.count == 1 ? keyLength(in: bytes[headerSize...]) : 0
        for _ in 0..<(alignment - textLength % alignment) % alignment { bytes.append(0) }
        guard bytes.count <= longest else { throw SettingsError.recordTooLong(longest) }
        bytes.withUnsafeMutableBytes { record in
            // All are inside the header, with which the record begins.
            record.storeBytes(of: UInt32(record.count).littleEndian, toByteOffset: 0, as: UInt32.self)
            record.storeBytes(of: UInt32(textLength).littleEndian, toByteOffset: 16, as: UInt32.self)
            record.storeBytes(of: UInt32(keyLength).littleEndian, toByteOffset: 20, as: UInt32.self)
            complete(record, epoch: epoch, salt: salt)
        }
        return bytes
    }

    /// The length of the first key with its quotation marks; 0 if it has an escape.
    private static func keyLength(in text: ArraySlice<UInt8>) -> Int {
        let key = text.dropFirst()
        guard let end = key.dropFirst().firstIndex(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }),
            key[end] == UInt8(ascii: "\"")
        else { return 0 }
        return end + 1 - key.startIndex
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

    /// Returns the bytes of changes that were committed before: one record if that is not too long, otherwise several.
    package static func bytesOfRecords(
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
            return try bytesOfRecords(of: Array(changes[..<half]), epoch: epoch, salt: salt, longest: longest)
                + bytesOfRecords(of: Array(changes[half...]), epoch: epoch, salt: salt, longest: longest)
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
struct ValidRecord {
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
            ? UnsafeRawBufferPointer(rebasing: text[1..<1 + keyLength])
            : UnsafeRawBufferPointer(start: nil, count: 0)
        end = start + length
    }

    /// Whether both records set the same single key.
    func isReplaced(by next: ValidRecord) -> Bool {
        guard !key.isEmpty, key.count == next.key.count else { return false }
        return key.elementsEqual(next.key)
    }

    /// The record; `nil` if another program has written a text that is not that of a record.
    var record: JournalRecord? {
        JournalRecord.values(in: text).map { JournalRecord(values: $0, end: end) }
    }
}
