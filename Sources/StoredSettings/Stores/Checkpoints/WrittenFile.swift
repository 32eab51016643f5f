// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "A checkpoint needs no new read of the file".

/// The settings file that the last checkpoint has put in place, as the journal's header describes it.
///
/// A checkpoint changes no value: the file that it writes contains the values of the previous file and the journal. So
/// a process need not read the new file if its contents are those of the previous one, with every record applied.
///
/// The words are written under the journal's lock, before the rename, and are read without a lock. A process that reads
/// them during the write finds that the checksum is wrong.
struct WrittenFile: Equatable {
    /// The fingerprint of the file.
    var fingerprint: UInt64
    /// Changes whenever a checkpoint includes an edit.
    ///
    /// Files of one version differ only by records of the journal.
    var editVersion: UInt64

    /// Returns a number that distinguishes a file from its replacement, and from the same file after an edit.
    ///
    /// It does not depend on properties that a rename changes, or that differ between two views of one file system.
    static func fingerprint(of status: FileStatus?) -> UInt64 {
        guard let status else { return 0 }
        var checksum = Checksum(salt: 0)
        let (seconds, nanoseconds) = (status.modified.seconds, status.modified.nanoseconds)
        for word in [status.inode, UInt64(status.size), UInt64(bitPattern: Int64(seconds)), UInt64(nanoseconds)] {
            checksum.add(word)
        }
        return max(checksum.value, 1)
    }

    /// Creates the description of a draft that a checkpoint is about to put in place of the file that it is based on.
    init(_ status: FileStatus, replacing old: FileStatus?, after page: SharedPage) {
        fingerprint = Self.fingerprint(of: status)
        if let last = WrittenFile(in: page), last.isUnchanged(old, in: page) {
            editVersion = last.editVersion
        } else {
            editVersion = .random(in: 1 ... .max)
        }
    }

    /// Reads the description from a journal's header; `nil` when there is none, or while another process changes the
    /// words.
    init?(in page: SharedPage) {
        (fingerprint, editVersion) = (page[.writtenFile], page[.writtenFile, 1])
        guard fingerprint != 0, page[.writtenFile, 2] == checksum else { return nil }
    }

    /// Whether a file is the one that was put in place, and neither its contents nor its times have changed since.
    ///
    /// The time of the rename is unknown while a file is being put in place. No file counts as unchanged then.
    func isUnchanged(_ status: FileStatus?, in page: SharedPage) -> Bool {
        isUnchanged(status, since: Self.change(in: page))
    }

    /// When the file that a header names was changed last, in nanoseconds since 1970; at most 2 for a file that is missing, or is
    /// being put in place.
    static func change(in page: SharedPage) -> UInt64 { page[.writtenChange] }

    /// Whether a file is unchanged, with the time of the last change that was read before.
    func isUnchanged(_ status: FileStatus?, since change: UInt64) -> Bool {
        fingerprint == Self.fingerprint(of: status) && change == Self.lastChange(of: status)
    }

    /// Notes the last change of the file, which is its rename.
    static func noteChange(of status: FileStatus?, in page: SharedPage) {
        page[.writtenChange] = status.map { lastChange(of: $0) } ?? 0
    }

    /// The time of the last change of a file as a number.
    ///
    /// It is not 0.
    private static func lastChange(of status: FileStatus?) -> UInt64 {
        guard let changed = status?.changed else { return 1 }
        return max(UInt64(bitPattern: Int64(changed.seconds)) &* 1_000_000_000 &+ UInt64(changed.nanoseconds), 2)
    }

    /// Writes the words into the header of a journal.
    ///
    /// The caller holds the journal's lock.
    func store(in page: SharedPage) {
        for (offset, word) in [fingerprint, editVersion, checksum].enumerated() {
            page[.writtenFile, offset] = word
        }
    }

    private var checksum: UInt64 {
        var checksum = Checksum(salt: 0)
        for word in [fingerprint, editVersion] { checksum.add(word) }
        return checksum.value
    }
}

// MARK: - Before a journal was lost

/// The last checkpoint through a journal that is lost.
///
/// Values that were committed to that journal, and that no checkpoint had written, are newer than those that this checkpoint
/// has written. Without it, these could be taken for an edit: a process that has not read the file since knows older ones.
struct LastCheckpoint {
    private var written: WrittenFile?
    private var change: UInt64
    /// The inode of the last good copy; `nil` when the journal's header is lost.
    private var lastGoodInode: UInt64?
    /// Whether the journal is another one, whose checkpoints replace the last good copy.
    private var isOtherJournal: Bool
    /// Whether the journal still exists, in another place.
    private var isMoved: Bool

    /// - Parameters:
    ///   - journal: The journal that is lost, or whose records are.
    ///   - new: The journal in its place, if it is another one.
    init?(through journal: Journal, before new: Journal? = nil) {
        isOtherJournal = new != nil
        isMoved = new.map { $0.file.path != journal.file.path || journal.isInDirectory } ?? false
        if journal.isAlive {
            (written, change) = (WrittenFile(in: journal.page), WrittenFile.change(in: journal.page))
            lastGoodInode = journal.page[.lastGood]
        } else {
            // Its header was truncated. A journal in another file may have come after others.
            guard let new, new.isSameFile(as: journal) else { return nil }
            (written, change, lastGoodInode) = (nil, 0, nil)
        }
    }

    /// Whether a file is the one that the checkpoint has put in place.
    func hasWritten(_ status: FileStatus?) -> Bool {
        written?.isUnchanged(status, since: change) ?? false
    }

    /// Whether the settings path leads to another file or directory since, and no checkpoint has written there.
    ///
    /// The values of the other file are then merged as those of an edit are: the values that no checkpoint had written are
    /// newer.
    func isBeforeMove(to journal: Journal) -> Bool {
        isMoved && journal.page[.checkpointed] == 0
    }

    /// The contents that the checkpoint has written, if their copy is still there.
    func lastGoodCopy(in file: SettingsFile, _ journal: Journal) -> [String: StoredValue]? {
        guard !isOtherJournal || journal.page[.checkpointed] == 0 else { return nil }
        do {
            if let lastGoodInode {
                let path = try file.target().adding(SettingsFile.lastGoodSuffix)
                let status = try file.system.linkStatus(at: path)
                guard status?.inode == lastGoodInode else { return nil }
            }
            return file.readLastGood()?.contents
        } catch {
            // Without a copy, a value that differs counts as edited.
            return nil
        }
    }
}
