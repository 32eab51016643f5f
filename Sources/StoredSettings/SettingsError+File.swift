// SPDX-License-Identifier: Apache-2.0

extension SettingsError {
    /// - Parameters:
    ///   - path: The lock's file.
    ///   - patience: How long was waited.
    ///   - process: The number of the process that holds it, if that is known.
    /// - Returns: The error.
    static func lockTimedOut(_ path: String, after patience: Duration, process: UInt64? = nil) -> SettingsError {
        let holder = process.map { "process \($0)" } ?? "another process"
        return SettingsError(
            .lockTimedOut,
            fact: "\(holder) has held the lock for \(patience.components.seconds) seconds without progress",
            consequence: "nothing is changed",
            remedy: process.map { "let process \($0) go on, or end it" }
                ?? "find the process that has \(path) open, and let it go on or end it",
            location: Location(file: path)
        )
    }

    static func notAJournal(_ path: String) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "the journal is not one of this library, or its beginning is damaged",
            consequence: "it is left as it is, the settings file alone serves, and no change can be saved",
            remedy: "move the journal away when no program uses it; changes of the last second may be only there",
            location: Location(file: path)
        )
    }

    static func newerJournal(_ path: String, _ version: UInt64) -> SettingsError {
        SettingsError(
            .newerFormat,
            fact: "the journal has version \(version), and this program knows version \(JournalHeader.version)",
            consequence: "it is left as it is, the settings file alone serves, and no change can be saved",
            remedy: "use a newer version of this program, or finish all that use the newer one and remove the journal",
            location: Location(file: path)
        )
    }

    static func damagedJournal(_ path: String) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "the journal has records that are not as they were written",
            consequence: "what stands before them serves, and the changes of at most the last second are lost",
            remedy: "see whether the disk is in order, and what else writes to that file; the next change mends it",
            location: Location(file: path)
        )
    }

    static func alwaysEdited(_ path: String) -> SettingsError {
        SettingsError(
            .writeFailed,
            fact: "the file is changed by somebody again and again while it is to be written",
            consequence: "what was set is safe in the journal, and the file is written later",
            remedy: "see what else writes to that file",
            location: Location(file: path)
        )
    }

    static func cutJournal(_ path: String) -> SettingsError {
        SettingsError(
            .malformedJournal,
            fact: "somebody has cut off the journal",
            consequence: "what this process knew of it is written again; changes that only others knew may be lost",
            remedy: "see what else writes to that file",
            location: Location(file: path)
        )
    }
}
