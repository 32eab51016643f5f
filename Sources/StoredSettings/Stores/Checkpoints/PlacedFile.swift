// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "A checkpoint needs no new read of the file".

/// The settings file that the last checkpoint has put in place, as the journal's header describes it.
///
/// A checkpoint changes no value: the file that it writes contains the values of the previous file and the journal. So
/// a process need not read the new file if its contents are those of the previous one, with every record applied.
///
/// The words are written under the journal's lock, before the rename, and are read without a lock. A process that reads
/// them during the write finds that the checksum is wrong.
struct PlacedFile: Equatable {
    /// The fingerprint of the file.
    var fingerprint: UInt64
    /// The fingerprint of the previous file, including the time of its last change; 0 when there was none.
    var replaced: UInt64
    /// Changes whenever a checkpoint includes an edit.
    ///
    /// Files of one lineage differ only by records of the journal.
    var lineage: UInt64

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

    /// Returns a number that also changes when only the times of the file change.
    static func fingerprintWithChange(of status: FileStatus?) -> UInt64 {
        guard let status else { return 0 }
        var checksum = Checksum(salt: fingerprint(of: status))
        checksum.add(lastChange(of: status))
        return max(checksum.value, 1)
    }

    /// Creates the description of a file that a checkpoint is about to put in place.
    ///
    /// - Parameters:
    ///   - status: The status of its draft.
    ///   - old: The file that the draft is based on.
    ///   - page: The header, which describes the previous file.
    init(_ status: FileStatus, replacing old: FileStatus?, after page: SharedPage) {
        fingerprint = Self.fingerprint(of: status)
        replaced = Self.fingerprintWithChange(of: old)
        if let last = PlacedFile(in: page), last.isUnchanged(old, in: page) {
            lineage = last.lineage
        } else {
            lineage = .random(in: 1 ... .max)
        }
    }

    /// Reads the description from a journal's header; `nil` when there is none, or while another process changes the
    /// words.
    init?(in page: SharedPage) {
        let words = (0..<3).map { page[Self.firstWord + $0] }
        (fingerprint, replaced, lineage) = (words[0], words[1], words[2])
        guard fingerprint != 0, page[Self.firstWord + 3] == checksum else { return nil }
    }

    /// Whether a file is the one that was put in place, and neither its contents nor its times have changed since.
    ///
    /// The time of the rename is unknown while a file is being put in place. No file counts as unchanged then.
    func isUnchanged(_ status: FileStatus?, in page: SharedPage) -> Bool {
        fingerprint == Self.fingerprint(of: status) && page[Self.changeWord] == Self.lastChange(of: status)
    }

    /// When the file that a header names was changed last; 0 while it is being put in place.
    static func change(in page: SharedPage) -> UInt64 { page[changeWord] }

    /// The same as a time; `nil` when the header names no file that is in place.
    static func timeOfLastChange(in page: SharedPage) -> UInt64? {
        let change = change(in: page)
        // Smaller numbers stand for a file that is missing.
        return change > 2 ? change : nil
    }

    /// Whether a file is unchanged, with the time of the last change that was read before.
    func isUnchanged(_ status: FileStatus?, since change: UInt64) -> Bool {
        fingerprint == Self.fingerprint(of: status) && change == Self.lastChange(of: status)
    }

    /// Notes the last change of the file, which is its rename.
    static func noteChange(of status: FileStatus?, in page: SharedPage) {
        page[changeWord] = status.map { lastChange(of: $0) } ?? 0
    }

    private static let changeWord = JournalHeader.placedChangeWord

    /// The time of the last change of a file as a number.
    ///
    /// It is not 0.
    private static func lastChange(of status: FileStatus?) -> UInt64 {
        guard let changed = status?.changed else { return 1 }
        return max(UInt64(bitPattern: Int64(changed.seconds)) &* 1_000_000_000 &+ UInt64(changed.nanoseconds), 2)
    }

    /// The same file after it was overwritten in place.
    func with(fingerprint: UInt64) -> PlacedFile {
        var placed = self
        placed.fingerprint = fingerprint
        return placed
    }

    /// Writes the words into the header of a journal.
    ///
    /// The caller holds the journal's lock.
    func store(in page: SharedPage) {
        for (offset, word) in [fingerprint, replaced, lineage, checksum].enumerated() {
            page[Self.firstWord + offset] = word
        }
    }

    private static let firstWord = JournalHeader.placedFileWord

    private var checksum: UInt64 {
        var checksum = Checksum(salt: 0)
        for word in [fingerprint, replaced, lineage] { checksum.add(word) }
        return checksum.value
    }
}
