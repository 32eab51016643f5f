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
        let consequence = "it is left as it is, and the last good values serve, with what is set meanwhile"
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
                remedy: readRemedy(for: error.number),
                location: SettingsError.Location(file: error.path.description),
                underlying: error
            )
        default:
            return SettingsError.wrapping(error, as: .readFailed)
        }
    }

    private func readRemedy(for number: CInt) -> String {
        switch number {
        case EACCES: "let this user read it"
        case EMFILE, ENFILE: "close files, or raise the limit of open files"
        case EFBIG: "put a file of at most \(SettingsFile.longestFile >> 20) MiB there"
        default: "put a file there that can be read"
        }
    }

    func journalError(_ error: any Error) -> SettingsError {
        guard let error = error as? SystemError else { return SettingsError.wrapping(error, as: .readFailed) }
        return SettingsError(
            .readFailed,
            fact: "the journal cannot be read: \(error.reason)",
            consequence: "what other processes have set in the last second may be missing",
            remedy: error.number == EACCES ? "let this user read it" : "see whether the disk is in order",
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

    private func remedy(for number: CInt) -> String {
        switch number {
        case ENOSPC, EDQUOT: "make room on the disk"
        case EFBIG:
            "the journal is full: correct what keeps the file from being written, which is reported, or allow longer files"
        case EROFS: "mount the file system for writing, or keep the settings elsewhere (STORED_SETTINGS_HOME)"
        case EACCES, EPERM: "let this user write there, or keep the settings elsewhere (STORED_SETTINGS_HOME)"
        case EMFILE, ENFILE: "close files, or raise the limit of open files"
        case ENOENT, ENOTDIR:
            "see that the directory can be made, or keep the settings elsewhere (STORED_SETTINGS_HOME)"
        case ENAMETOOLONG: "give the suite a shorter name"
        default: "see whether the disk is in order"
        }
    }
}
