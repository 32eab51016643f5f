// SPDX-License-Identifier: Apache-2.0

extension SettingsError {
    /// - Parameters:
    ///   - path: The lock's file.
    ///   - patience: How long was waited.
    ///   - process: The number of the process that holds it, if that is known.
    /// - Returns: The error.
    static func lockTimedOut(_ path: FilePath, after patience: Duration, process: UInt64? = nil) -> SettingsError {
        let holder = process.map { "process \($0)" } ?? "another process"
        return SettingsError(
            .lockTimedOut,
            fact: "\(holder) has held the lock for \(patience.components.seconds) seconds without progress",
            consequence: "nothing is changed",
            remedy: process.map { "let process \($0) go on, or end it" }
                ?? "find the process that has \(path) open, and let it go on or end it",
            location: Location(file: path.description)
        )
    }

    /// - Parameters:
    ///   - path: The lock's file.
    ///   - wait: How long was waited.
    /// - Returns: The error.
    static func lockBusy(_ path: FilePath, after wait: Duration) -> SettingsError {
        SettingsError(
            .lockTimedOut,
            fact: "other processes have kept this one from the lock for \(wait.components.seconds) seconds",
            consequence: "nothing is changed",
            remedy: "find the processes that have \(path) open, and end the one that does not release it",
            location: Location(file: path.description)
        )
    }

    static func notAJournal(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "the journal is not one of this library, or its beginning is damaged",
            consequence: "it is left as it is, the settings file alone serves, and no change can be saved",
            remedy: "move the journal away when no program uses it; changes of the last second may be only there",
            location: Location(file: path.description)
        )
    }

    static func newerJournal(_ path: FilePath, _ version: UInt64) -> SettingsError {
        SettingsError(
            .newerFormat,
            fact: "the journal has version \(version), and this program knows version \(JournalHeader.version)",
            consequence: "it is left as it is, the settings file alone serves, and no change can be saved",
            remedy: "use a newer version of this program, or finish all that use the newer one and remove the journal",
            location: Location(file: path.description)
        )
    }

    static func damagedJournal(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "the journal has records that are not as they were written",
            consequence: "the records before them are used, and the changes in and after them are lost",
            remedy: "see whether the disk is in order, and what else writes to that file; the next change mends it",
            location: Location(file: path.description)
        )
    }

    static func olderJournal(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "the journal is an older copy of the journal that this process has read",
            consequence: "what this process knew is written again; changes that only ended processes knew are lost",
            remedy: "do not restore the journal while a program uses it; see what has written that file",
            location: Location(file: path.description)
        )
    }

    /// - Parameter longest: How long a record may be, in bytes.
    /// - Returns: The error.
    static func recordTooLong(_ longest: Int) -> SettingsError {
        SettingsError(
            .unstorable,
            fact: "the changes of one commit take more than \(longest >> 20) MiB",
            consequence: "nothing is changed",
            remedy: "change less in one transaction, or store large data in a file and its path in the setting"
        )
    }

    static func contentsTooLong(_ path: FilePath) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact: "the settings take more than \(SettingsFile.longestFile >> 20) MiB, the limit of a settings file",
            consequence: "the settings file is not written; what was set is safe in the journal",
            remedy: "remove values, or store large data in files and their paths in the settings",
            location: Location(file: path.description)
        )
    }

    static func notAFile(_ path: FilePath) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact: "the path of the settings leads to a directory or device, not to a regular file",
            consequence: "nothing is changed",
            remedy: "use a path that leads to a regular file or to nothing, such as \(path)/settings.json",
            location: Location(file: path.description)
        )
    }

    static func alwaysEdited(_ path: FilePath) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact: "the file is changed by somebody again and again while it is to be written",
            consequence: "what was set is safe in the journal, and the file is written later",
            remedy: "see what else writes to that file",
            location: Location(file: path.description)
        )
    }

    static func cutJournal(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "somebody has cut off the journal",
            consequence: "what this process knew of it is written again; changes that only others knew may be lost",
            remedy: "see what else writes to that file",
            location: Location(file: path.description)
        )
    }

    static func untrustedSibling(_ path: FilePath, _ reason: String) -> SettingsError {
        SettingsError(
            .untrustedFile,
            fact: "\(path.name) is not used: \(reason)",
            consequence: "the settings file alone is read, and no change can be saved",
            remedy: "remove it if no program of yours uses it, and let no other user write to \(path.directory)",
            location: Location(file: path.description)
        )
    }

    static func untrustedLink(_ path: FilePath, owner: UInt32) -> SettingsError {
        SettingsError(
            .untrustedFile,
            fact: "the symbolic link belongs to another user (\(owner)), who does not own the file it leads to",
            consequence: "it is not followed, and no setting is read from there or saved there",
            remedy: "make the link anew as the user who runs this program, or use the path of the file itself",
            location: Location(file: path.description)
        )
    }

    static func foreignSibling(_ path: FilePath) -> SettingsError {
        SettingsError(
            .malformedFile,
            fact: "\(path.name) was not written by this library",
            consequence:
                "it is left as it is, so no copy of the settings file is kept",
            remedy: "move it away, or give the settings file another name",
            location: Location(file: path.description)
        )
    }

    static func checkpointLockLost(_ path: FilePath) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact: "\(path.name) was removed while the settings file was being written",
            consequence: "the settings file is not written now; what was set is safe in the journal",
            remedy: "exclude that file from whatever removes files there; the settings file is written later",
            location: Location(file: path.description)
        )
    }

    static func noThread(_ path: FilePath) -> SettingsError {
        SettingsError(
            .threadUnavailable,
            fact: "the system starts no thread for the work in the background",
            consequence: "the threads that read and set do that work, so that some calls take longer",
            remedy: "raise the limit of processes and threads (ulimit -u, or pids.max of the container), or of memory",
            location: Location(file: path.description)
        )
    }
}
