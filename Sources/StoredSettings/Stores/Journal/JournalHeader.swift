// SPDX-License-Identifier: Apache-2.0

/// The position of a journal: its epoch, and the offset at which its records end.
///
/// The header contains it as one word. Publishing a record means storing one number, and a reader that finds a known
/// number has missed nothing.
package struct JournalPosition: Hashable {
    package var epoch: UInt32
    package var end: UInt32

    init(epoch: UInt32, end: UInt32) {
        (self.epoch, self.end) = (epoch, end)
    }

    init(word: UInt64) {
        // Records end at multiples of 8. The lowest bit says that the journal is being replaced.
        self.init(epoch: UInt32(truncatingIfNeeded: word >> 32), end: UInt32(truncatingIfNeeded: word) & ~7)
    }

    var word: UInt64 { UInt64(epoch) << 32 | UInt64(end) }

    /// The number of the epoch after another one, which is never 0.
    static func epoch(after epoch: UInt32) -> UInt32 { max(epoch &+ 1, 1) }

    /// Whether this position is after another one in the same journal.
    ///
    /// Numbers of epochs wrap around, so the nearer way from one to the other counts. 0 is before all epochs.
    func isAfter(_ other: JournalPosition) -> Bool {
        guard epoch != other.epoch else { return end > other.end }
        guard epoch != 0, other.epoch != 0 else { return epoch != 0 }
        return Int32(bitPattern: epoch &- other.epoch) > 0
    }
}

/// An epoch of a journal: a period in which records are only appended.
package struct JournalEpoch: Equatable {
    /// Increases with every change of these values.
    var serial: UInt64
    package var epoch: UInt32
    /// The offset of the first record.
    var start: UInt32
    /// The end of the records that are in the settings file.
    package var checkpointed: UInt32
    /// The end of the records at the start of the epoch.
    ///
    /// They were taken over from the previous one.
    var firstEnd: UInt32
    /// The end of the previous epoch, for readers that have read up to it; 0 when readers have to start again.
    var previousEnd: UInt32
    /// The end of the previous epoch's records that are in the settings file.
    var previousCheckpointed: UInt32
    /// A random number that is part of the checksum of this epoch and of each record.
    ///
    /// After a power loss, an epoch number can be used again in a file that still contains records of its first use.
    /// Those records are never valid: under another salt, the same record always has another checksum.
    package var salt: UInt64

    /// The position at the start of the epoch.
    var beginning: JournalPosition { JournalPosition(epoch: epoch, end: firstEnd) }

    /// Returns the first epoch of a new journal.
    ///
    /// Its number is random, so that readers of a previous journal notice it.
    static func first() -> JournalEpoch {
        let start = UInt32(JournalHeader.size)
        return JournalEpoch(
            serial: 1,
            epoch: .random(in: 1...UInt32.max / 2),
            start: start,
            checkpointed: start,
            firstEnd: start,
            previousEnd: 0,
            previousCheckpointed: 0,
            salt: .random(in: 1 ... .max)
        )
    }
}

/// The words of a journal's header.
///
/// Documentation/FileFormat.md describes the bytes.
package enum JournalHeader {
    package static let size = SharedPage.size
    /// "SSJOURNL", in the byte order of the file.
    static let magic: UInt64 = 0x4C4E_5255_4F4A_5353
    static let magicBytes = Array("SSJOURNL".utf8)
    /// Versions 1 and 2 were never released.
    package static let version: UInt64 = 3

    /// Whether a word is not a complete magic number: it is 0, or a beginning of the magic number without records after
    /// it.
    ///
    /// The process that created the journal died before it had finished.
    static func isUnfinished(_ word: UInt64, length: Int) -> Bool {
        word == 0 || (length <= size && (1..<8).contains { word == magic & ((1 << ($0 * 8)) - 1) })
    }

    /// The words by their place in the header.
    package enum Word: Int {
        case magic = 0
        case version = 1
        case id = 2
        case position = 8
        case retired = 9
        /// The offset that records must not exceed until the current header is on the disk; 0 for no limit.
        case limit = 10
        /// The ID of the previous journal, which is lost, and the position up to which its records were taken over.
        case lostID = 11
        case lostPosition = 12
        /// Not 0 after a checkpoint has written a settings file.
        case checkpointed = 13
        /// The inode of the last good copy that was written last; 0 when there is none.
        case lastGood = 14
        /// 2 while the last good copy is outdated.
        case lastGoodCondition = 15
        /// Not 0 when the disk has failed to write part of the journal.
        case unreliable = 20
        /// Not 0 when users that have lost access to the settings file may have the journal open.
        case readableByOthers = 21
        /// The word with which writers lock the journal: see ``JournalLock``.
        case lock = 24
        /// The token of the process that has waited longest for the lock, and since when: see ``JournalLock``.
        case claim = 25
        /// The length of the file up to which its space is allocated, so that records can be copied there; 0 for none.
        case allocated = 26
        /// Not 0 when another process wants to be notified of the next record: see ``Journal/requestNotification()``.
        case watched = 27
        /// The first of three words of the ``LockHolder`` that has locked the journal, and its token.
        case writer = 28
        case writerToken = 31
        /// A word without meaning.
        ///
        /// Writing it to the file notifies the processes that watch the directory.
        case notification = 32
        /// The first of the two epochs, each within one sector of the disk.
        ///
        /// The older one is overwritten.
        case firstEpoch = 64
        case secondEpoch = 128
        /// The first of the three words of ``WrittenFile``.
        case writtenFile = 192
        /// The first of four words of the ``LockHolder`` that writes a checkpoint.
        case checkpointHolder = 196
        /// The time of the written file's last change, in nanoseconds since 1970; 0 while it is being put in place.
        case writtenChange = 200
        /// The first of four words of the ``LockHolder`` that waits for the disk under the journal's lock.
        case journalHolder = 204
    }

    /// Set in the position while the journal is being replaced.
    static let replacingBit: UInt64 = 1
    /// The words about the settings file, its siblings and its checkpoints, which a new journal copies from the one that
    /// it replaces.
    static let keptWords =
        [Word.checkpointed, .lastGood, .lastGoodCondition, .writtenChange].map(\.rawValue)
        + [Word.writtenFile, .checkpointHolder].flatMap { first in (0..<4).map { first.rawValue + $0 } }
    static let epochWords = [Word.firstEpoch, .secondEpoch]
    static let epochLength = 9

    /// The words of a new journal's header.
    ///
    /// - Parameters:
    ///   - facts: Its epoch.
    ///   - old: The journal that it replaces.
    ///   - position: The position up to which the old journal's records were taken over.
    /// - Returns: The words.
    static func words(
        _ facts: JournalEpoch,
        replacing old: Journal? = nil,
        at position: JournalPosition? = nil
    ) -> [UInt64] {
        var words = [UInt64](repeating: 0, count: size / 8)
        words[Word.magic.rawValue] = magic
        words[Word.version.rawValue] = version
        words[Word.id.rawValue] = .random(in: 1 ... .max)
        words[Word.position.rawValue] = facts.beginning.word
        if let old, let position {
            words[Word.lostID.rawValue] = old.id
            words[Word.lostPosition.rawValue] = position.word
            for word in keptWords { words[word] = old.page[index: word] }
        }
        for (offset, word) in self.words(of: facts).enumerated() {
            words[Word.firstEpoch.rawValue + offset] = word
        }
        return words
    }

    /// The bytes of words in the byte order of the file.
    static func bytes(of words: [UInt64]) -> [UInt8] {
        words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    }

    /// Whether the bytes may be the remains of a new journal's header after a crash or a power loss: all words are 0,
    /// except those that are not 0 in a header.
    static func mayBeUnfinished(_ header: [UInt8]) -> Bool {
        let model = words(.first())
        return stride(from: 0, to: header.count, by: 8)
            .allSatisfy { offset in
                let bytes = header[offset..<min(offset + 8, header.count)]
                let word = bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
                return switch Word(rawValue: offset / 8) {
                case .magic: isUnfinished(word, length: header.count)
                case .version: word <= version
                // A notification may have been written to a file that was truncated.
                case .notification: true
                default: word == 0 || model[offset / 8] != 0
                }
            }
    }

    /// The newest valid epoch of a header; `nil` when there is none.
    static func epoch(in page: SharedPage) -> JournalEpoch? {
        epochs(in: page).first
    }

    /// All valid epochs of a header, the newest first.
    static func epochs(in page: SharedPage) -> [JournalEpoch] {
        epochWords.compactMap { epoch(in: page, at: $0) }.sorted { isOlder($1, $0) }
    }

    /// Overwrites the older epoch of a header.
    static func store(_ epoch: JournalEpoch, in page: SharedPage) {
        let place = epochWords.min { left, right in
            guard let left = self.epoch(in: page, at: left) else { return true }
            return self.epoch(in: page, at: right).map { isOlder(left, $0) } ?? false
        }
        guard let place else { return }
        for (offset, word) in words(of: epoch).enumerated() {
            page[place, offset] = word
        }
        page.didPublish()
    }

    /// Serial numbers wrap around, so there is always a next one.
    private static func isOlder(_ left: JournalEpoch, _ right: JournalEpoch) -> Bool {
        Int64(bitPattern: left.serial &- right.serial) < 0
    }

    private static func epoch(in page: SharedPage, at place: Word) -> JournalEpoch? {
        // Another process may be writing the words. Then the checksum does not match.
        let words = (0..<epochLength).map { page[place, $0] }
        let numbers = words[1..<7].map { UInt32(truncatingIfNeeded: $0) }
        let epoch = JournalEpoch(
            serial: words[0],
            epoch: numbers[0],
            start: numbers[1],
            checkpointed: numbers[2],
            firstEnd: numbers[3],
            previousEnd: numbers[4],
            previousCheckpointed: numbers[5],
            salt: words[8]
        )
        let isPossible =
            epoch.start >= UInt32(size) && epoch.start % 8 == 0 && epoch.checkpointed >= epoch.start
            && epoch.checkpointed % 8 == 0 && epoch.firstEnd >= epoch.start
        return isPossible && words == self.words(of: epoch) ? epoch : nil
    }

    private static func words(of epoch: JournalEpoch) -> [UInt64] {
        let numbers = [
            epoch.epoch, epoch.start, epoch.checkpointed, epoch.firstEnd, epoch.previousEnd,
            epoch.previousCheckpointed,
        ]
        var words = [epoch.serial] + numbers.map(UInt64.init)
        var checksum = Checksum(salt: epoch.salt)
        for word in words { checksum.add(word) }
        words += [checksum.value, epoch.salt]
        return words
    }
}
