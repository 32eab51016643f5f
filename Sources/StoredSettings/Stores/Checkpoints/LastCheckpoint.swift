// SPDX-License-Identifier: Apache-2.0

/// The last checkpoint through a journal that is lost.
///
/// Values that were committed to that journal, and that no checkpoint had written, are newer than those that this checkpoint
/// has written. Without it, these could be taken for an edit: a process that has not read the file since knows older ones.
struct LastCheckpoint {
    private var placed: PlacedFile?
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
            (placed, change) = (PlacedFile(in: journal.page), PlacedFile.change(in: journal.page))
            lastGoodInode = journal.page[JournalHeader.lastGoodWord]
        } else {
            // Its header was truncated. A journal in another file may have come after others.
            guard let new, new.isSameFile(as: journal) else { return nil }
            (placed, change, lastGoodInode) = (nil, 0, nil)
        }
    }

    /// Whether a file is the one that the checkpoint has put in place.
    func hasPlaced(_ status: FileStatus?) -> Bool {
        placed?.isUnchanged(status, since: change) ?? false
    }

    /// Whether the settings path leads to another file or directory since, and no checkpoint has written there.
    ///
    /// The values of the other file are then merged as those of an edit are: the values that no checkpoint had written are
    /// newer.
    ///
    /// - Parameter journal: The journal beside the other file.
    /// - Returns: Whether this is so.
    func isBeforeMove(to journal: Journal) -> Bool {
        isMoved && journal.page[JournalHeader.checkpointedWord] == 0
    }

    /// The contents that the checkpoint has written, if their copy is still there.
    func lastGoodCopy(in file: SettingsFile, _ journal: Journal) -> [String: StoredValue]? {
        guard !isOtherJournal || journal.page[JournalHeader.checkpointedWord] == 0 else { return nil }
        do {
            if let lastGoodInode {
                let path = try file.target().adding(SettingsFile.lastGoodSuffix)
                let status = try file.system.status(at: path, followingLinks: false)
                guard status?.inode == lastGoodInode else { return nil }
            }
            return try file.readLastGood()
        } catch {
            // Without a copy, a value that differs counts as edited.
            return nil
        }
    }
}
