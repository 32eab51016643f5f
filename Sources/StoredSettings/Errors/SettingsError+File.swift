// SPDX-License-Identifier: Apache-2.0

extension SettingsError {
    /// The consequence of a failed set, which means nothing to a checkpoint.
    static let nothingIsChanged = "nothing is changed"

    /// The error of a set that has waited too long for the lock.
    ///
    /// The process holds the lock; it is `nil` if it is unknown.
    static func lockTimedOut(_ path: FilePath, after timeout: Duration, process: UInt64? = nil) -> SettingsError {
        let holder = process.map { "process \($0)" } ?? "another process"
        return SettingsError(
            .lockTimedOut,
            fact: "\(holder) has held the lock for \(inWords(timeout)) without progress",
            consequence: nothingIsChanged,
            remedy: process.map { "wait for process \($0), resume it if it is stopped, or end it" }
                ?? "find the process that has \(path.name) open, and wait for it, resume it or end it",
            location: Location(path)
        )
    }

    private static func inWords(_ time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        return seconds > 0 ? "\(seconds) seconds" : "\(attoseconds / 1_000_000_000_000_000) milliseconds"
    }

    /// The error of a set that others have overtaken for too long.
    static func lockBusy(_ path: FilePath, after wait: Duration) -> SettingsError {
        SettingsError(
            .lockTimedOut,
            fact: "other processes have kept this one from the lock for \(inWords(wait))",
            consequence: nothingIsChanged,
            remedy: "find the processes that have \(path) open, and end the one that does not release it",
            location: Location(path)
        )
    }

    static func notAJournal(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "the journal was not written by this library, or its header is damaged",
            consequence: "it is left as it is, only the settings file is used, and no change can be saved",
            remedy: "end the programs that use it and move it away; it may hold the latest changes",
            location: Location(path)
        )
    }

    static func otherFormat(_ path: FilePath, _ version: UInt64) -> SettingsError {
        SettingsError(
            .newerFormat,
            fact: "the journal has format \(version), and this program supports format \(JournalHeader.version)",
            consequence: "it is left as it is, only the settings file is used, and no change can be saved",
            remedy:
                "update the programs that use the suite, or end those with the other version and move the journal away; it may hold "
                + "the latest changes",
            location: Location(path)
        )
    }

    package static func damagedJournal(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "the journal has damaged records",
            consequence:
                "the records before them are used, and later changes are lost; the next set repairs the journal",
            remedy: "check the disk, and find out which other program writes to that file",
            location: Location(path)
        )
    }

    static func olderJournal(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "the journal is an older copy of the journal that this process has read",
            consequence:
                "the values of this process are written again; changes that only ended processes had read are lost",
            remedy: "restore a journal only while no program uses it",
            location: Location(path)
        )
    }

    /// The error of a record with more than some bytes.
    static func recordTooLong(_ longest: Int) -> SettingsError {
        SettingsError(
            .unstorable,
            fact: "the changes of one commit take more than \(longest >> 20) MiB",
            consequence: nothingIsChanged,
            remedy: "change less in one transaction, or store large data in a file and its path in the setting"
        )
    }

    static func contentsTooLong(_ path: FilePath) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact: "the settings take more than \(SettingsFile.longestFile >> 20) MiB, the limit of a settings file",
            consequence: "the settings file is not written; all changes are safe in the journal",
            remedy: "remove values, or store large data in files and their paths in the settings",
            location: Location(path)
        )
    }

    static func uneditableText(_ path: FilePath, because error: JSONSyntaxError? = nil) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact: "the text of the file cannot be edited, because of a defect of this library",
            consequence: "the settings file is not written; all changes are safe in the journal",
            remedy: "remove the comments and trailing commas from the file, and report its form as a defect",
            location: Location(path),
            underlying: error
        )
    }

    static func notAFile(_ path: FilePath, isDirectory: Bool) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact:
                "the path of the settings leads to a \(isDirectory ? "directory" : "device"), not to a regular file",
            consequence: nothingIsChanged,
            remedy: isDirectory
                ? SettingsFile.remedyForDirectory : "use a path that leads to a regular file or to nothing",
            location: Location(path)
        )
    }

    static func alwaysEdited(_ path: FilePath) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact: "another program changed the file each time a checkpoint was about to replace it",
            consequence: "all values are safe in the journal, and the file is written later",
            remedy: "find out which other program writes to that file",
            location: Location(path)
        )
    }

    static func cutJournal(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "another program truncated the journal",
            consequence: "the changes that this process had read are written again; others may be lost",
            remedy: "find out which other program writes to that file",
            location: Location(path)
        )
    }

    static func untrustedSibling(_ path: FilePath, _ reason: String) -> SettingsError {
        SettingsError(
            .untrustedFile,
            fact: "\(path.name) is not used: \(reason)",
            consequence: path.removing(SettingsFile.lastGoodSuffix) != nil
                ? "the settings file has no last good copy, and changes are saved"
                : path.removing(SettingsFile.lockSuffix) != nil
                    ? "the settings file is not written, and changes are saved in the journal"
                    : "the settings file alone is read, and no change can be saved",
            remedy: "remove it if no program has saved changes in it, and let no other user write to its directory",
            location: Location(path)
        )
    }

    static func untrustedLink(_ path: FilePath, owner: UInt32) -> SettingsError {
        SettingsError(
            .untrustedFile,
            fact:
                "the symbolic link belongs to another user (\(owner)), which does not own the file that it refers to",
            consequence: "it is not followed, and no setting is read from that file or saved in it",
            remedy: "create the link as the user of this program, or use the path of the file itself",
            location: Location(path)
        )
    }

    package static func foreignSibling(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedFile,
            fact: "\(path.name) was not written by this library",
            consequence: "it is left as it is, so there is no last good copy of the settings file",
            remedy: "move it away, or rename the settings file",
            location: Location(path)
        )
    }

    static func outdatedCopy(_ path: FilePath, because cause: SettingsError) -> SettingsError {
        SettingsError(
            cause.code,
            fact: "\(path.name) can be neither replaced nor removed: \(cause.fact)",
            consequence:
                "the settings file is written, but \(path.name) has values that were replaced or removed since",
            remedy: "remove \(path.name), or let this user remove it",
            location: Location(path),
            underlying: cause.underlying
        )
    }

    static func checkpointLockLost(_ path: FilePath) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact: "another program removed \(path.name) during a checkpoint",
            consequence: "all values are safe in the journal, and the settings file is written later",
            remedy: "exclude that file from the program that removes files there",
            location: Location(path)
        )
    }

    static func noThread(_ path: FilePath) -> SettingsError {
        SettingsError(
            .threadUnavailable,
            fact: "the system starts no thread for background work",
            consequence:
                "sets are in the journal; the file is written, and changes are delivered, once it starts one",
            remedy:
                "raise the limit of processes and threads (ulimit -u, or pids.max of the container), or of memory",
            location: Location(path)
        )
    }
}
