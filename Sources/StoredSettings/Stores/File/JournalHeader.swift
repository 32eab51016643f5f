// SPDX-License-Identifier: Apache-2.0

/// How far a journal has come: its epoch, and where in the file its records end.
///
/// In the header it is one word, so that publishing a record is storing one number, and a reader who finds the number
/// it knows has missed nothing.
struct JournalPosition: Hashable {
    var epoch: UInt32
    var end: UInt32

    init(epoch: UInt32, end: UInt32) {
        (self.epoch, self.end) = (epoch, end)
    }

    init(word: UInt64) {
        // Records end at multiples of 8; the lowest bit says that the journal is being replaced.
        self.init(epoch: UInt32(truncatingIfNeeded: word >> 32), end: UInt32(truncatingIfNeeded: word) & ~7)
    }

    var word: UInt64 { UInt64(epoch) << 32 | UInt64(end) }
}

/// What is true of an epoch of a journal: a time in which records are only appended.
struct JournalEpoch: Equatable {
    /// Rises with every change of these facts.
    var serial: UInt64
    var epoch: UInt32
    /// Where its records begin.
    var start: UInt32
    /// The records before this are in the settings file.
    var checkpointed: UInt32
    /// Where the records ended when the epoch began: those were taken over from the one before.
    var firstEnd: UInt32
    /// Where the epoch before this one ended, for those who have read so far; 0 when they have to begin anew.
    var previousEnd: UInt32
    /// How much of the epoch before was in the settings file.
    var previousCheckpointed: UInt32
    /// A random number, part of the checksum of these facts and of each record.
    ///
    /// After a loss of power, an epoch number can be used again in a file that still has records of its first use. They
    /// are never valid: the same record under another salt always has another checksum.
    var salt: UInt64

    /// Where the epoch is when it begins.
    var beginning: JournalPosition { JournalPosition(epoch: epoch, end: firstEnd) }

    /// The first epoch of a new journal, whose number is random: readers of one that was there before must notice.
    ///
    /// - Parameter end: Where the records end that it begins with.
    /// - Returns: The facts of the epoch.
    static func first(endingAt end: UInt32 = UInt32(JournalHeader.size)) -> JournalEpoch {
        let start = UInt32(JournalHeader.size)
        return JournalEpoch(
            serial: 1,
            epoch: .random(in: 1...UInt32.max / 2),
            start: start,
            checkpointed: start,
            firstEnd: end,
            previousEnd: 0,
            previousCheckpointed: 0,
            salt: .random(in: 1 ... .max)
        )
    }
}

/// The words of a journal's header.
///
/// Documentation/FileFormat.md has the bytes.
enum JournalHeader {
    static let size = SharedPage.size
    /// "SSJOURNL", as the bytes stand in the file.
    static let magic: UInt64 = 0x4C4E_5255_4F4A_5353
    static let magicBytes = Array("SSJOURNL".utf8)
    static let version: UInt64 = 2
    /// Version 1 is the same without salts: each of them is 0.
    static let unsaltedVersion: UInt64 = 1

    /// Whether what stands in the magic's place is none of it, or its beginning where no records follow: whoever began the
    /// journal has died before the end.
    static func isUnfinished(_ word: UInt64, length: Int) -> Bool {
        word == 0 || (length <= size && (1..<8).contains { word == magic & ((1 << ($0 * 8)) - 1) })
    }

    static let magicWord = 0
    static let versionWord = 1
    static let idWord = 2
    static let positionWord = 8
    static let retiredWord = 9
    /// Where the records have to stop until the disk has the header as it is; 0 when they need not.
    static let limitWord = 10
    /// The number of the journal that was here before and is lost, and how far it had come for whoever took it over.
    static let lostIDWord = 11
    static let lostPositionWord = 12
    /// Not 0 when the disk failed to take something that was written to the journal before.
    static let distrustedWord = 20
    /// Set in the position while the journal is being replaced.
    static let replacingBit: UInt64 = 1
    /// Not 0 once a checkpoint has written a settings file.
    static let checkpointedWord = 13
    /// The inode of the last good copy that was written last; 0 when none was.
    static let lastGoodWord = 14
    /// The raw value of ``LastGoodCopy/Condition``.
    static let lastGoodConditionWord = 15
    /// The four words of ``PlacedFile``.
    static let placedFileWord = 192
    /// When the placed file was changed last, in nanoseconds since 1970; 0 while it is being put in place.
    static let placedChangeWord = 200
    /// The four words of the ``LockHolder`` that writes a checkpoint.
    static let checkpointHolderWord = 196
    /// The four words of the ``LockHolder`` that waits for the disk under the journal's lock.
    static let journalHolderWord = 204
    /// The words about the settings file and its siblings, which a journal takes over from the one that it replaces.
    static let keptWords =
        [checkpointedWord, lastGoodWord, lastGoodConditionWord, placedChangeWord] + (0..<4).map { placedFileWord + $0 }
    /// Two places for the facts of the epoch, each within a sector of the disk; the older one is written over.
    private static let epochWords = [64, 128]
    private static let epochLength = 9

    /// The words of a new journal.
    ///
    /// - Parameters:
    ///   - facts: Those of its epoch.
    ///   - old: The journal that it replaces.
    ///   - position: How far the records of that one were taken over.
    /// - Returns: The words.
    private static func words(
        _ facts: JournalEpoch,
        replacing old: Journal? = nil,
        at position: JournalPosition? = nil
    ) -> [UInt64] {
        var words = [UInt64](repeating: 0, count: size / 8)
        words[magicWord] = magic
        words[versionWord] = version
        words[idWord] = .random(in: 1 ... .max)
        words[positionWord] = facts.beginning.word
        if let old, let position {
            words[lostIDWord] = old.id
            words[lostPositionWord] = position.word
            for word in keptWords { words[word] = old.page[word] }
        }
        for (offset, word) in self.words(of: facts).enumerated() {
            words[epochWords[0] + offset] = word
        }
        return words
    }

    /// The bytes of a new journal's header.
    static func bytes(
        _ facts: JournalEpoch,
        replacing old: Journal? = nil,
        at position: JournalPosition? = nil
    ) -> [UInt8] {
        words(facts, replacing: old, at: position)
            .flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    }

    /// Whether bytes may be what a crash or a loss of power has left of a new journal's header: zeros, but for words that
    /// are not zero in a header.
    static func mayBeUnfinished(_ header: [UInt8]) -> Bool {
        let model = words(.first())
        return stride(from: 0, to: header.count, by: 8)
            .allSatisfy { offset in
                let bytes = header[offset..<min(offset + 8, header.count)]
                let word = bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
                return switch offset / 8 {
                case magicWord: isUnfinished(word, length: header.count)
                case versionWord: word <= version
                case let index: word == 0 || model[index] != 0
                }
            }
    }

    /// The newest facts that stand in a header; `nil` when none are whole.
    static func epoch(in page: SharedPage) -> JournalEpoch? {
        epochs(in: page).first
    }

    /// All facts that are whole, the newest first.
    static func epochs(in page: SharedPage) -> [JournalEpoch] {
        epochWords.compactMap { epoch(in: page, at: $0) }.sorted { isOlder($1, $0) }
    }

    /// Writes facts over the older ones.
    static func store(_ epoch: JournalEpoch, in page: SharedPage) {
        let place = epochWords.min { left, right in
            guard let left = self.epoch(in: page, at: left) else { return true }
            return self.epoch(in: page, at: right).map { isOlder(left, $0) } ?? false
        }
        guard let place else { return }
        for (offset, word) in words(of: epoch).enumerated() {
            page[place + offset] = word
        }
        page.didPublish()
    }

    /// Serial numbers go on from the highest to 0, so that there is always a next one.
    private static func isOlder(_ left: JournalEpoch, _ right: JournalEpoch) -> Bool {
        Int64(bitPattern: left.serial &- right.serial) < 0
    }

    private static func epoch(in page: SharedPage, at place: Int) -> JournalEpoch? {
        // Another process may be writing them: then the checksum is that of other words.
        let words = (0..<epochLength).map { page[place + $0] }
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
            epoch.start >= UInt32(size) && epoch.start % 8 == 0 && epoch.checkpointed >= epoch.start && epoch.checkpointed % 8 == 0
            && epoch.firstEnd >= epoch.start
        return isPossible && words == self.words(of: epoch) ? epoch : nil
    }

    private static func words(of epoch: JournalEpoch) -> [UInt64] {
        let numbers = [
            epoch.epoch, epoch.start, epoch.checkpointed, epoch.firstEnd, epoch.previousEnd, epoch.previousCheckpointed,
        ]
        var words = [epoch.serial] + numbers.map(UInt64.init)
        var checksum = Checksum(salt: epoch.salt)
        for word in words { checksum.add(word) }
        words += [checksum.value, epoch.salt]
        return words
    }
}
