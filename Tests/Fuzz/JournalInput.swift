// SPDX-License-Identifier: Apache-2.0

/// An input of the fuzzer: a journal, and the operations on it.
///
/// The first byte contains flags. The rest is either the journal itself, or the numbers of its header and the texts of
/// its records, because a fuzzer seldom produces a page of mostly zeros. Checksums are corrected on demand, to reach
/// the code behind them.
struct JournalInput {
    let flags: UInt8
    let journal: [UInt8]

    /// Whether the input contains the numbers of the header and the texts of the records.
    private var isCompact: Bool { flags & 1 != 0 }
    private var hasRightChecksums: Bool { flags & 2 != 0 }
    var isFileBroken: Bool { flags & 4 != 0 }
    /// Whether the journal replaces one that is in use.
    var isOpenBefore: Bool { flags & 8 != 0 }
    var isReaderSetting: Bool { flags & 16 != 0 }
    var isCheckpointed: Bool { flags & 32 != 0 }

    /// Whether the letters of the key `kept` may occur in the journal.
    let mentionsKept: Bool

    static let seeds: [[UInt8]] = [
        [1 | 2 | 32] + header(epoch: 7) + Array(#"{"a":[2]}~{"b":[],"c":[[null,"x"]]}~{"a":[]}"#.utf8),
        [1 | 2 | 8] + header(epoch: 0xFFFF) + Array(#"{}~{"a":[1,2]}"#.utf8),
        [1 | 4 | 16] + header(epoch: 1),
    ]

    private static func header(epoch: UInt16) -> [UInt8] {
        let (low, high) = (UInt8(truncatingIfNeeded: epoch), UInt8(epoch >> 8))
        let facts: [UInt8] = [1, 0, low, high, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        return [low, high, 0, 0, 0, 0, 0] + facts + facts
    }

    init(_ input: UnsafeBufferPointer<UInt8>) {
        var rest = input[...]
        flags = rest.popFirst() ?? 0
        var journal = Array(rest)
        if flags & 1 != 0 { journal = Self.expanded(rest) }
        if flags & 2 != 0 { Self.fixChecksums(of: &journal) }
        self.journal = journal
        mentionsKept = journal.contains(0x5C) || journal.split(separator: 0x6B).contains { $0.starts(with: "ept".utf8) }
    }

    // MARK: - The compact form

    /// Expands a header of two-byte numbers, and records as texts separated by `~`.
    private static func expanded(_ input: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
        var rest = input
        func number() -> UInt64 {
            let (low, high) = (rest.popFirst() ?? 0, rest.popFirst() ?? 0)
            // Numbers past the middle are near the upper end of the range of a 32-bit word.
            return UInt64(low) | UInt64(high) << 8 | (high >= 0xF0 ? 0xFFFF_0000 : 0)
        }
        var words = [UInt64](repeating: 0, count: 512)
        words[JournalHeader.Word.magic.rawValue] = JournalHeader.magic
        words[JournalHeader.Word.version.rawValue] = JournalHeader.version
        words[JournalHeader.Word.id.rawValue] = 0x1234
        let (epoch, shift) = (number(), number())
        words[JournalHeader.Word.retired.rawValue] = UInt64(rest.popFirst() ?? 0) & 1
        words[JournalHeader.Word.limit.rawValue] = number()
        for place in [64, 128] {
            let serial = number()
            words[place] = serial > 0xFFFF ? serial | 0xFFFF_FFFF_0000_0000 : serial
            words[place + 1] = number()
            // Positions are relative to the start of the records, so that 0 is valid.
            for offset in 2..<7 {
                let number = number()
                words[place + offset] = offset == 5 ? number : number &+ 4_096
            }
        }
        let records = records(rest, epoch: UInt32(truncatingIfNeeded: epoch))
        let end = (4_096 + UInt64(records.count) &+ shift) & 0xFFFF_FFFF
        words[JournalHeader.Word.position.rawValue] = epoch << 32 | end
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } } + records
    }

    private static func records(_ texts: Slice<UnsafeBufferPointer<UInt8>>, epoch: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        for text in texts.split(separator: 0x7E, omittingEmptySubsequences: false) {
            let start = bytes.count
            bytes.append(contentsOf: [UInt8](repeating: 0, count: 24) + text)
            while bytes.count % 8 != 0 { bytes.append(0) }
            put(UInt64(bytes.count - start) | UInt64(epoch) << 32, at: start, in: &bytes)
            put(UInt64(text.count), at: start + 16, in: &bytes)
        }
        return bytes
    }

    // MARK: - Checksums

    private static func fixChecksums(of journal: inout [UInt8]) {
        for place in [512, 1_024] where journal.count >= place + 72 {
            var checksum = Checksum(salt: word(at: place + 64, in: journal))
            for offset in 0..<7 { checksum.add(word(at: place + offset * 8, in: journal)) }
            put(checksum.value, at: place + 56, in: &journal)
        }
        // The salt of the newer header copy is most likely that of the records.
        let serials = [512, 1_024].map { journal.count >= $0 + 72 ? word(at: $0, in: journal) : 0 }
        let newest = serials[0] >= serials[1] ? 512 : 1_024
        let salt = journal.count >= newest + 72 ? word(at: newest + 64, in: journal) : 0
        var start = 4_096
        while start + 24 <= journal.count {
            let length = max(24, Int(word(at: start, in: journal) & 0xFFFF_FFF8))
            guard length <= journal.count - start else { return }
            let record = journal[start..<start + length]
            let checksum = record.withUnsafeBytes { JournalRecord.checksum(of: $0, salt: salt) }
            put(checksum, at: start + 8, in: &journal)
            start += length
        }
    }

    private static func word(at offset: Int, in bytes: [UInt8]) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64($1 * 8) }
    }

    private static func put(_ word: UInt64, at offset: Int, in bytes: inout [UInt8]) {
        for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: word >> (UInt64(index) * 8)) }
    }
}
