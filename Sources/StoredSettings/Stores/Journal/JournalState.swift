// SPDX-License-Identifier: Apache-2.0

/// The state of a store's journal, as far as it is known.
struct JournalState {
    /// The path of the journal, which may not exist yet.
    var path: FilePath = ""
    /// The journal that was found last; `nil` while there is none.
    var journal: Journal? { didSet { if journal !== oldValue { space = nil } } }
    /// Where this process copies records to; `nil` before the first one.
    var space: RecordSpace?
    /// The position up to which the journal has been read.
    var position = JournalPosition(epoch: 0, end: 0)
    /// The salt of that epoch.
    var salt: UInt64 = 0
    /// The published word when the journal was read.
    var seen: UInt64 = 0
    /// The keys whose values in the journal are newer than those in the file, with the end of the last record of each
    /// key.
    var journaled: [String: UInt32] = [:]
    /// Whether records were found that are not as they were written.
    var isDamaged = false
    /// Values that were committed to a journal that is no longer at the path, and have to be taken over.
    var stranded: Stranded?
    /// The error of the last attempt to read the records.
    var unreadable: SettingsError?
    /// The error that prevents the use of the file at the journal's path.
    var problem: SettingsError?
    /// Whether the journal's name is known to be on the disk.
    var isNamed = false
    /// The end of the space that is known to contain no earlier values, in an epoch.
    var cleared: JournalPosition?
    /// The length above which a replacement of the journal is tried again after a failure.
    var replacingEnd: UInt32 = 0

    /// When the path was last found to lead to the journal, in nanoseconds of ``SystemCalls/coarseTime()``.
    private var placeTime: UInt64 = 0

    /// How long the journal counts as being at its path, in nanoseconds.
    ///
    /// Another program may remove it. Examining the path for every set would take longer than the rest of the set.
    private static let placeInterval: UInt64 = 10_000_000

    /// Whether the next commit has to examine the path.
    var isPlaceDue: Bool { SystemCalls.coarseTime() &- placeTime >= Self.placeInterval }

    /// Notes that the path leads to the journal.
    mutating func notePlace() { placeTime = SystemCalls.coarseTime() }

    /// Makes the next commit examine the path.
    mutating func forgetPlace() { placeTime = 0 }

    /// The previous journal, and the position up to which this process has read it.
    private(set) var lost: Lost?

    /// 0 before a journal was found.
    private var id: UInt64 { journal?.id ?? 0 }

    /// Whether a record is damaged, unreadable or missing.
    var isFailing: Bool { isDamaged || stranded != nil || unreadable != nil || problem != nil || lost != nil }

    struct Lost {
        var id: UInt64
        var position: JournalPosition
        var salt: UInt64

        /// Whether all its records have been taken over into a journal.
        func isTakenOver(into journal: Journal) -> Bool {
            journal.page[.lostID] == id
                && !position.isAfter(JournalPosition(word: journal.page[.lostPosition]))
        }
    }

    struct Stranded {
        /// The journal with these values, if it is still open.
        var journal: Journal?
        var lost: Lost
        var values: [String: StoredValue?]
        /// The last checkpoint through that journal.
        ///
        /// The values that it has written are older than these.
        var checkpoint: LastCheckpoint?
    }

    /// Whether a journal lacks records that this process has read, because it was replaced by an older copy.
    ///
    /// Within a journal, each epoch is after the previous one, and the end of the records only rises within an epoch.
    func isAhead(of epoch: JournalEpoch, at other: JournalPosition) -> Bool {
        let start = JournalPosition(epoch: epoch.epoch, end: 0)
        guard epoch.epoch == position.epoch else { return position.isAfter(start) }
        // In no epoch: this process has only read a damaged header.
        return position.epoch != 0 && (epoch.salt != salt || other.end < position.end)
    }

    /// Whether a reader that has read the previous epoch can continue in a new one.
    func continues(into epoch: JournalEpoch) -> Bool {
        !isDamaged && JournalPosition.epoch(after: position.epoch) == epoch.epoch && epoch.previousEnd != 0
            && position.end == epoch.previousEnd
    }

    /// Enters the epoch after this one, whose first record contains the previous records that are not in the file.
    mutating func enterNext(_ epoch: JournalEpoch) {
        // The changes that are not in the file were written again, as one record.
        journaled = journaled.filter { $0.value > epoch.previousCheckpointed }.mapValues { _ in epoch.firstEnd }
        (position, salt) = (epoch.beginning, epoch.salt)
    }

    /// Enters an epoch that this process has begun with all changes that are not in the file.
    mutating func enter(_ epoch: JournalEpoch) {
        (position, salt, seen) = (epoch.beginning, epoch.salt, epoch.beginning.word)
        journaled = journaled.mapValues { _ in epoch.firstEnd }
    }

    /// Adopts a journal that this process has created to replace the previous one, with all changes that are not in the
    /// file.
    mutating func move(to new: Journal, _ epoch: JournalEpoch) {
        (journal, isNamed, isDamaged, stranded) = (new, false, false, nil)
        (lost, replacingEnd) = (nil, 0)
        cleared = JournalPosition(epoch: epoch.epoch, end: epoch.start)
        enter(epoch)
    }

    /// The keys of values that this process knows to be committed, and that are missing in a journal, with the end of the
    /// last record of each key.
    ///
    /// - Parameters:
    ///   - replay: The valid records of the journal.
    ///   - found: The keys in these records, with the end of the last record of each key.
    /// - Returns: The keys; none if the journal is undamaged, so that another process may have removed the values.
    func keysMissing(in replay: Journal.Replay, _ found: [String: UInt32]) -> [String: UInt32] {
        guard !replay.isWhole || isDamaged else { return [:] }
        let hasEpoch = journal.flatMap { JournalHeader.epoch(in: $0.page) } != nil
        guard position.epoch == replay.position.epoch || !hasEpoch else { return [:] }
        return journaled.filter { key, end in replay.isWhole ? found[key] ?? 0 < end : found[key] == nil }
    }

    /// Continues after records that were read together with the file.
    ///
    /// - Parameters:
    ///   - replay: The records.
    ///   - journaled: The keys whose values are newer than those in the file, with the end of the last record of each
    ///     key.
    ///   - isUnwritten: Whether values that the records lack have to be written again.
    mutating func install(_ replay: Journal.Replay, _ journaled: [String: UInt32], isUnwritten: Bool) {
        (position, salt, seen) = (replay.position, replay.salt, replay.word)
        self.journaled = journaled
        isDamaged = !replay.isWhole || isUnwritten
    }

    /// The known records that are not in the file, for when the journal cannot be read.
    ///
    /// - Parameter value: Returns the value of a key.
    /// - Returns: The records. Their word is never published, so the next read asks for the records again.
    func knownRecords(value: (String) -> StoredValue?) -> Journal.Replay {
        let records = journaled.map { JournalRecord(values: [$0: value($0)], end: Int($1)) }
        return Journal.Replay(records: records, position: position, salt: salt, word: 0, isWhole: true)
    }

    /// Whether a journal has grown to more than twice its bound, and to more than twice the length of its first record.
    ///
    /// Most of its values are probably outdated then.
    func isTooLong(_ journal: Journal, bound: Int) -> Bool {
        let end = position.end
        guard Int(end) > bound * 2, end >= replacingEnd, let epoch = journal.current?.epoch else {
            return false
        }
        return (end - epoch.start) / 2 > epoch.firstEnd - epoch.start
    }

    /// Notes that the journal could not be replaced.
    ///
    /// The next attempt is due when it has grown by half.
    ///
    /// - Returns: Whether this is the first failure.
    mutating func postponeReplacement() -> Bool {
        defer { replacingEnd = UInt32(clamping: UInt64(position.end) + UInt64(position.end / 2)) }
        return replacingEnd == 0
    }

    /// Forgets the records that are in the file.
    mutating func dropCheckpointed(upTo end: UInt32) {
        journaled = journaled.filter { $0.value > end }
    }

    /// Adopts a journal that was found at the path.
    ///
    /// - Parameters:
    ///   - new: The journal.
    ///   - value: Returns the value of a key.
    /// - Returns: Whether it is another journal, and not only the known one, opened again.
    mutating func adopt(_ new: Journal, value: (String) -> StoredValue?) -> Bool {
        defer { (journal, isNamed) = (new, false) }
        guard new.id != id else { return false }
        forgetCheckpointed()
        if let old = journal, old.isAlive, old.isRetired { journaled = [:] }
        if id != 0 { lost = Lost(id: id, position: position, salt: salt) }
        forgetTakenOver(by: new)
        strand(in: journal, journal.flatMap { LastCheckpoint(through: $0, before: new) }, value)
        (position, seen, journaled, isDamaged) = (JournalPosition(epoch: 0, end: 0), 0, [:], false)
        (salt, replacingEnd, cleared) = (0, 0, nil)
        return true
    }

    /// Forgets the records of the previous journal that another process has taken over.
    private mutating func forgetTakenOver(by new: Journal) {
        guard new.page[.lostID] == id else { return }
        let taken = JournalPosition(word: new.page[.lostPosition])
        if taken.epoch == position.epoch {
            dropCheckpointed(upTo: taken.end)
        } else if taken.isAfter(position) {
            journaled = [:]
        }
    }

    /// Records in the journal how far the previous one was read, so that no process takes over its records again.
    mutating func noteLost(in journal: Journal) {
        guard let lost else { return }
        let known = journal.page[.lostID]
        let taken = JournalPosition(word: journal.page[.lostPosition])
        if known == 0 || known == lost.id, lost.position.isAfter(taken) {
            journal.page[.lostPosition] = lost.position.word
            journal.page[.lostID] = lost.id
        }
        self.lost = nil
    }

    /// Notes values that are missing in an epoch because the process that began it did not know of them.
    mutating func strand(by epoch: JournalEpoch, value: (String) -> StoredValue?) {
        guard epoch.previousEnd == 0, epoch.epoch == JournalPosition.epoch(after: position.epoch) else {
            return
        }
        dropCheckpointed(upTo: epoch.previousCheckpointed)
        // A checkpoint in the new epoch may have written newer values.
        let checkpoint = epoch.checkpointed == epoch.start ? journal.flatMap { LastCheckpoint(through: $0) } : nil
        strand(in: nil, checkpoint, value)
    }

    private mutating func strand(
        in journal: Journal?,
        _ checkpoint: LastCheckpoint?,
        _ value: (String) -> StoredValue?
    ) {
        guard !journaled.isEmpty else { return }
        var values = stranded?.values ?? [:]
        for key in journaled.keys { values.updateValue(value(key), forKey: key) }
        let lost = Lost(id: id, position: position, salt: salt)
        stranded = Stranded(journal: journal, lost: lost, values: values, checkpoint: checkpoint)
    }

    /// Forgets the records that are in the file according to the journal, if its epoch can be read.
    mutating func forgetCheckpointed() {
        // The epoch is read first: another thread or process may be creating a new journal in the same file.
        guard let journal, let epoch = journal.current?.epoch, journal.isAlive else { return }
        if epoch.epoch == position.epoch {
            dropCheckpointed(upTo: epoch.checkpointed)
        } else if continues(into: epoch) {
            enterNext(epoch)
        } else if !isDamaged {
            // Checkpoints wrote all records to the file while this process was not looking.
            journaled = [:]
        }
    }
}
