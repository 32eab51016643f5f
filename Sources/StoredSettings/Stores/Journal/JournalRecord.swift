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
        try pad(&bytes, longest)
        complete(&bytes, epoch: epoch, salt: salt)
        return bytes
    }

    /// Extends a record to a multiple of the alignment, and stores its length in its header.
    private static func pad(_ bytes: inout [UInt8], _ longest: Int) throws {
        let textLength = bytes.count - headerSize
        for _ in 0..<(alignment - textLength % alignment) % alignment { bytes.append(0) }
        guard bytes.count <= longest, let length = UInt32(exactly: bytes.count) else {
            throw SettingsError.recordTooLong(longest)
        }
        bytes.withUnsafeMutableBytes { bytes in
            // Both are inside the header, with which the array begins.
            bytes.storeBytes(of: length.littleEndian, toByteOffset: 0, as: UInt32.self)
            bytes.storeBytes(of: UInt32(textLength).littleEndian, toByteOffset: 16, as: UInt32.self)
        }
    }

    /// Stores the epoch and the checksum in the header of a record.
    static func complete(_ bytes: inout [UInt8], epoch: UInt32, salt: UInt64) {
        bytes.withUnsafeMutableBytes { complete($0, epoch: epoch, salt: salt) }
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
    /// Its epoch is not known yet: see ``complete(_:epoch:salt:)``.
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
        var bytes = try JSONWriter.text(
            of: [StoreChange(key: key, old: nil, new: value)],
            after: headerSize,
            maximumDepth: maximumDepth
        )
        try pad(&bytes, longest)
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
            record.storeBytes(of: UInt32(text.count).littleEndian, toByteOffset: 0, as: UInt32.self)
            record.storeBytes(of: UInt32(textLength).littleEndian, toByteOffset: 16, as: UInt32.self)
            record.storeBytes(of: UInt32(text.keyLength).littleEndian, toByteOffset: 20, as: UInt32.self)
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

    /// Reads the record that begins at an offset.
    ///
    /// - Parameters:
    ///   - bytes: Part of a journal.
    ///   - start: The offset of the record in the bytes.
    ///   - epoch: The journal's epoch.
    ///   - salt: The salt of the epoch.
    /// - Returns: The record; `nil` when there is no complete record of this epoch.
    package static func read(
        _ bytes: UnsafeRawBufferPointer,
        at start: Int,
        epoch: UInt32,
        salt: UInt64
    ) -> JournalRecord? {
        RecordText(bytes, at: start, epoch: epoch, salt: salt)?.record
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
