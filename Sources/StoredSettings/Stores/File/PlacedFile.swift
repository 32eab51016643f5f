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
    /// The fingerprint of the file that it was made of and when that was changed last; 0 when there was none.
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

    /// Returns a number that also differs when only the times of the file were changed.
    static func fingerprintWithChange(of status: FileStatus?) -> UInt64 {
        guard let status else { return 0 }
        var checksum = Checksum(salt: fingerprint(of: status))
        checksum.add(lastChange(of: status))
        return max(checksum.value, 1)
    }

    /// The file that a checkpoint is about to put in place.
    ///
    /// - Parameters:
    ///   - status: The status of its draft.
    ///   - old: The file that it was made of.
    ///   - page: The header, which names the file before.
    init(_ status: FileStatus, replacing old: FileStatus?, after page: SharedPage) {
        fingerprint = Self.fingerprint(of: status)
        replaced = Self.fingerprintWithChange(of: old)
        if let last = PlacedFile(in: page), last.isUnchanged(old, in: page) {
            lineage = last.lineage
        } else {
            lineage = .random(in: 1 ... .max)
        }
    }

    /// The file that a journal's header names; `nil` when it names none, or while another process changes the words.
    init?(in page: SharedPage) {
        let words = (0..<3).map { page[Self.firstWord + $0] }
        (fingerprint, replaced, lineage) = (words[0], words[1], words[2])
        guard fingerprint != 0, page[Self.firstWord + 3] == checksum else { return nil }
    }

    /// Whether a file is the one that was put in place, and neither its contents nor its times have changed since.
    ///
    /// While a file is being put in place, the time of its rename is not known yet. No file counts as unchanged then.
    func isUnchanged(_ status: FileStatus?, in page: SharedPage) -> Bool {
        fingerprint == Self.fingerprint(of: status) && page[Self.changeWord] == Self.lastChange(of: status)
    }

    /// When the file that a header names was changed last; 0 while it is being put in place.
    static func change(in page: SharedPage) -> UInt64 { page[changeWord] }

    /// The same with the time of the last change that was read before.
    func isUnchanged(_ status: FileStatus?, since change: UInt64) -> Bool {
        fingerprint == Self.fingerprint(of: status) && change == Self.lastChange(of: status)
    }

    /// Notes the last change of the file, which is its rename.
    static func noteChange(of status: FileStatus?, in page: SharedPage) {
        page[changeWord] = status.map { lastChange(of: $0) } ?? 0
    }

    private static let changeWord = JournalHeader.placedChangeWord

    /// A number for when anything of a file was changed last; it is not 0.
    private static func lastChange(of status: FileStatus?) -> UInt64 {
        guard let changed = status?.changed else { return 1 }
        return max(UInt64(bitPattern: Int64(changed.seconds)) &* 1_000_000_000 &+ UInt64(changed.nanoseconds), 2)
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
