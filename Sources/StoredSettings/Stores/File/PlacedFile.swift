// SPDX-License-Identifier: Apache-2.0

/// The settings file that the last checkpoint has put in place, as the journal's header names it.
///
/// A checkpoint changes no value: the file it writes holds what the file before it and the journal held. So a process whose
/// contents are those of the file that was replaced, with every record of the journal since, need not read the new one.
///
/// The words are written under the journal's lock, before the file takes its place, and are read without a lock. A process
/// that reads them while they are written finds that the checksum is wrong.
struct PlacedFile: Equatable {
    /// The fingerprint of the file.
    var fingerprint: UInt64
    /// The fingerprint of the file that it was made of, with the journal's records; 0 when there was none.
    var replaced: UInt64
    /// Changes whenever a checkpoint takes over an edit: files of one lineage differ by records of the journal alone.
    var lineage: UInt64

    /// Returns a number that tells a file from the one that replaces it, and from the same file after an edit.
    ///
    /// It does not depend on what a rename changes, nor on what differs between two views of one file system.
    static func fingerprint(of status: FileStatus?) -> UInt64 {
        guard let status else { return 0 }
        var checksum = Checksum(salt: 0)
        let (seconds, nanoseconds) = (status.modified.seconds, status.modified.nanoseconds)
        for word in [status.inode, UInt64(status.size), UInt64(bitPattern: Int64(seconds)), UInt64(nanoseconds)] {
            checksum.add(word)
        }
        return max(checksum.value, 1)
    }

    /// The file that a checkpoint is about to put in place.
    init(_ status: FileStatus, replacing old: FileStatus?, after last: PlacedFile?) {
        fingerprint = Self.fingerprint(of: status)
        replaced = Self.fingerprint(of: old)
        if let last, last.fingerprint == replaced {
            lineage = last.lineage
        } else {
            lineage = .random(in: 1 ... .max)
        }
    }

    /// The file that a journal's header names; `nil` when it names none, or is just being changed.
    init?(in page: SharedPage) {
        let words = (0..<3).map { page[Self.firstWord + $0] }
        (fingerprint, replaced, lineage) = (words[0], words[1], words[2])
        guard fingerprint != 0, page[Self.firstWord + 3] == checksum else { return nil }
    }

    /// The same file after it was written over in place.
    func with(fingerprint: UInt64) -> PlacedFile {
        var placed = self
        placed.fingerprint = fingerprint
        return placed
    }

    /// Writes the words into the header of a journal, whose lock the caller holds.
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
