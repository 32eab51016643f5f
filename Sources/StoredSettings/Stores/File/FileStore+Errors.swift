// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension FileStore {
    func readError(_ error: any Error) -> SettingsError {
        let consequence =
            "it is left as it is, and the last good values are used, with what is set meanwhile"
        switch error {
        case let error as JSONSyntaxError:
            return SettingsError(
                .malformedFile,
                fact: "the file cannot be read as settings: \(error.problem)",
                consequence: consequence,
                remedy: "correct the file at that place; it is read again by itself",
                location: SettingsError.Location(file: file.path.description, line: error.line, column: error.column),
                underlying: error
            )
        case let error as SystemError:
            return SettingsError(
                .readFailed,
                fact: "the file cannot be read: \(error.reason)",
                consequence: consequence,
                remedy: readingRemedy(for: error.number) ?? "put a file there that can be read",
                location: SettingsError.Location(file: error.path.description),
                underlying: error
            )
        default:
            return SettingsError.wrapping(error, as: .readFailed)
        }
    }

    /// A settings file that is not there, although there was one.
    ///
    /// - Parameter hasCopy: Whether its last good copy is there, and can be read.
    /// - Returns: The error.
    func missingFile(hasCopy: Bool) -> SettingsError {
        let name = file.path.name
        return SettingsError(
            .readFailed,
            fact: hasCopy ? "the file is missing" : "the file is missing, and so is a copy of it that can be read",
            consequence: hasCopy
                ? "the values of \(name).last-good are used, and the next checkpoint writes the file again"
                : "the values that were stored in it are unknown, and what is set is stored in the journal",
            remedy: hasCopy
                ? "to start over, remove \(name).last-good and \(name).journal as well, or write {} to \(name)"
                : "restore \(name), or write {} to it to go on with what was set since",
            location: SettingsError.Location(file: file.path.description)
        )
    }

    func journalError(_ error: any Error) -> SettingsError {
        guard let error = error as? SystemError else { return SettingsError.wrapping(error, as: .readFailed) }
        return SettingsError(
            .readFailed,
            fact: "the journal cannot be read: \(error.reason)",
            consequence: "what other processes have set in the last second may be missing",
            remedy: readingRemedy(for: error.number) ?? "see whether the disk is in order",
            location: SettingsError.Location(file: error.path.description),
            underlying: error
        )
    }

    func writeError(_ error: any Error) -> SettingsError {
        guard let error = error as? SystemError else { return SettingsError.wrapping(error, as: .writeFailed) }
        let isReadOnly = [EROFS, EACCES, EPERM].contains(error.number)
        return SettingsError(
            isReadOnly ? .readOnly : .writeFailed,
            fact: "the settings cannot be saved: \(error.path): \(error.reason)",
            consequence: "nothing is changed",
            remedy: remedy(for: error.number),
            location: SettingsError.Location(file: file.path.description),
            underlying: error
        )
    }

    private func readingRemedy(for number: CInt) -> String? {
        switch number {
        case EACCES, EPERM: "let this user read it"
        case EMFILE, ENFILE: "close files, or raise the limit of open files; it is read again by itself"
        case ENOMEM: "free memory, or raise the limit of memory; it is read again by itself"
        case EIO: "check the disk; it is read again by itself"
        case ELOOP: "correct the symbolic links that the path leads through"
        case EFBIG: "put a file of at most \(SettingsFile.longestFile >> 20) MiB there"
        default: nil
        }
    }

    private func remedy(for number: CInt) -> String {
        switch number {
        case ENOSPC, EDQUOT: "make room on the disk"
        case EFBIG:
            "the journal is full: correct what keeps the file from being written, which is reported, or allow longer files"
        case EROFS: "mount the file system for writing, or keep the settings elsewhere (STORED_SETTINGS_HOME)"
        case EACCES, EPERM: "let this user write there, or keep the settings elsewhere (STORED_SETTINGS_HOME)"
        case EMFILE, ENFILE: "close files, or raise the limit of open files"
        case ENOMEM: "free memory, or raise the limit of memory"
        case ENOENT, ENOTDIR:
            "see that the directory can be made, or keep the settings elsewhere (STORED_SETTINGS_HOME)"
        case ENAMETOOLONG: "give the suite a shorter name"
        default: "see whether the disk is in order"
        }
    }
}

extension FileStore {
    /// Why the settings file cannot be read now.
    struct ReadFailure {
        var status: FileStatus?
        var error: SettingsError
        /// Whether another program may be in the middle of writing the file.
        var isTransient: Bool
        /// Whether the file is not there, although there was one.
        var isMissing: Bool
        /// Whether other values may be stored than those in memory, so that no change can be based on these.
        var isUnknown: Bool

        init(_ error: any Error, of store: FileStore, status: FileStatus?, isTransient: Bool, isUnknown: Bool) {
            self.error = store.readError(error)
            (self.status, self.isTransient, self.isUnknown) = (status, isTransient, isUnknown)
            isMissing = false
        }

        init(missing store: FileStore, hasCopy: Bool, isUnknown: Bool) {
            error = store.missingFile(hasCopy: hasCopy)
            (status, isTransient, isMissing, self.isUnknown) = (nil, false, true, isUnknown)
        }

        /// Whether the same file may be found good at another look.
        var isRetryable: Bool { isTransient || isMissing || error.code != .malformedFile }

        func isSame(as other: ReadFailure) -> Bool {
            status == other.status && error.code == other.error.code && isTransient == other.isTransient
                && isMissing == other.isMissing
        }
    }
}

extension FileStore.State {
    /// Why no change can be based on the contents; `nil` when it can.
    var unknownContents: SettingsError? {
        guard let readFailure, readFailure.isUnknown else { return nil }
        var error = readFailure.error
        error.consequence = "nothing is changed, since the change depends on stored values that cannot be read"
        return error
    }
}
