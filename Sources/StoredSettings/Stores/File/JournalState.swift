// SPDX-License-Identifier: Apache-2.0

/// What a store knows of its journal.
struct JournalState {
    /// Where it is, or is to be, as far as is known.
    var path: FilePath = ""
    /// The journal that was found last; `nil` while there is none.
    var journal: Journal?
    /// Which one that was, or was last.
    private(set) var id: UInt64 = 0
    /// How far the journal has been read.
    var position = JournalPosition(epoch: 0, end: 0)
    /// The salt of that epoch.
    var salt: UInt64 = 0
    /// The published word when it was read.
    var seen: UInt64 = 0
    /// Where the record ends, in this epoch, that has set a key last; for those keys that the file has other values of.
    var journaled: [String: UInt32] = [:]
    /// Whether records were found that are not as they were written.
    var isDamaged = false
    /// What was committed to a journal that is not the one at the path any more, and has to be taken over.
    var stranded: Stranded?
    /// Why the records could not be read when that was tried last.
    var unreadable: SettingsError?
    /// Why the file in the journal's place is none that can be used.
    var problem: SettingsError?
    /// Whether the disk is known to have the journal's name.
    var isNamed = false
    /// What this process knows to hold nothing of earlier values.
    var cleared: Cleared?
    /// How long the journal has to be before it is replaced by a shorter one again, after that has failed.
    var replacingEnd: UInt32 = 0

    struct Cleared {
        var epoch: UInt32
        /// The space of the records before this is cleared.
        var front: UInt32
        /// Behind this, and behind the last record, there is nothing.
        var end: UInt32
    }

    /// The journal before this one, and how far this process has read it.
    private(set) var lost: Lost?

    struct Lost {
        var id: UInt64
        var position: JournalPosition
        var salt: UInt64

        /// Whether all of it was taken over into a journal already.
        func isTakenOver(into journal: Journal) -> Bool {
            journal.page[JournalHeader.lostIDWord] == id
                && journal.page[JournalHeader.lostPositionWord] >= position.word
        }
    }

    struct Stranded {
        /// Where it was committed to, if that is still open.
        var journal: Journal?
        var lost: Lost
        var values: [String: StoredValue?]
        /// What tells which values of the file are older than these.
        var checkpoint: LastCheckpoint?
    }

    /// Whether a journal lacks records that this process has read, since an older copy of it was put in its place.
    ///
    /// Within a journal, epochs only rise, and within an epoch its end does.
    func isAhead(of epoch: JournalEpoch, at other: JournalPosition) -> Bool {
        guard epoch.epoch == position.epoch else { return Int32(bitPattern: epoch.epoch &- position.epoch) < 0 }
        return epoch.salt != salt || other.end < position.end
    }

    /// Whether readers who have read up to a position can go on in a new epoch.
    func continues(into epoch: JournalEpoch) -> Bool {
        !isDamaged && position.epoch == epoch.epoch &- 1 && epoch.previousEnd != 0 && position.end == epoch.previousEnd
    }

    /// Goes on in a new epoch, whose first records were in the one before.
    mutating func goOn(into epoch: JournalEpoch) {
        // What was not in the file was written anew, as one record.
        journaled = journaled.filter { $0.value > epoch.previousCheckpointed }.mapValues { _ in epoch.firstEnd }
        (position, salt) = (epoch.beginning, epoch.salt)
    }

    /// Takes an epoch that this process has begun with all that is not in the file.
    mutating func enter(_ epoch: JournalEpoch) {
        (position, salt, seen) = (epoch.beginning, epoch.salt, epoch.beginning.word)
        journaled = journaled.mapValues { _ in epoch.firstEnd }
    }

    /// Takes the journal that this process has put in the place of the one before, with all that is not in the file.
    mutating func move(to new: Journal, _ epoch: JournalEpoch) {
        (journal, id, isNamed, isDamaged, stranded) = (new, new.id, false, false, nil)
        (lost, replacingEnd) = (nil, 0)
        cleared = Cleared(epoch: epoch.epoch, front: epoch.start, end: epoch.firstEnd)
        enter(epoch)
    }

    /// Forgets what is in the file by now.
    mutating func dropCheckpointed(upTo end: UInt32) {
        journaled = journaled.filter { $0.value > end }
    }

    /// Takes another journal for the one that is known.
    ///
    /// - Parameters:
    ///   - new: The journal that is at the path now.
    ///   - value: Gives the value under a key.
    /// - Returns: Whether it is another one, and not only opened again.
    mutating func adopt(_ new: Journal, value: (String) -> StoredValue?) -> Bool {
        defer { (journal, id, isNamed) = (new, new.id, false) }
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

    /// Forgets what another process has taken over already from the journal before.
    private mutating func forgetTakenOver(by new: Journal) {
        guard new.page[JournalHeader.lostIDWord] == id else { return }
        let taken = JournalPosition(word: new.page[JournalHeader.lostPositionWord])
        if taken.epoch == position.epoch {
            dropCheckpointed(upTo: taken.end)
        } else if taken.epoch > position.epoch {
            journaled = [:]
        }
    }

    /// Says in the journal how far the one before was read, so that nobody takes over what was taken over.
    mutating func noteLost(in journal: Journal) {
        guard let lost else { return }
        let known = journal.page[JournalHeader.lostIDWord]
        if known == 0 || known == lost.id, journal.page[JournalHeader.lostPositionWord] < lost.position.word {
            journal.page[JournalHeader.lostPositionWord] = lost.position.word
            journal.page[JournalHeader.lostIDWord] = lost.id
        }
        self.lost = nil
    }

    /// Notes what is not in an epoch that was begun by a process which did not know of it.
    mutating func strand(by epoch: JournalEpoch, value: (String) -> StoredValue?) {
        guard epoch.previousEnd == 0, epoch.epoch == position.epoch &+ 1 else { return }
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

    /// Forgets what is in the file by what the journal says, as long as that can be read.
    mutating func forgetCheckpointed() {
        guard let journal, journal.isAlive, let epoch = journal.current?.epoch else { return }
        if epoch.epoch == position.epoch {
            dropCheckpointed(upTo: epoch.checkpointed)
        } else if continues(into: epoch) {
            goOn(into: epoch)
        } else if !isDamaged {
            // All of it was checkpointed while nobody looked.
            journaled = [:]
        }
    }
}
