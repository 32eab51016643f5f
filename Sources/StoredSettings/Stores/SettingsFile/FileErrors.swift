// SPDX-License-Identifier: Apache-2.0

extension SettingsFile {
    /// The error for a settings file that cannot be read.
    ///
    /// - Parameters:
    ///   - error: The cause.
    ///   - hasValues: Whether there are last good values, in memory or in the last good copy.
    /// - Returns: The error.
    package func readError(_ error: any Error, hasValues: Bool) -> SettingsError {
        let consequence =
            hasValues
            ? "it is left unchanged, and its last good values are used, with all values set since"
            : "it is left unchanged, and the defaults are used for all values that are not in the journal"
        switch error {
        case let error as JSONSyntaxError:
            return SettingsError(
                .malformedFile,
                fact: "the file is not a valid settings file: \(error.problem)",
                consequence: consequence,
                remedy: "correct the file at this position; it is then read again automatically",
                location: SettingsError.Location(file: path.description, line: error.line, column: error.column),
                underlying: error
            )
        case let error as SystemError:
            if error.isUntrustedLink { return untrustedLinkError(error, consequence: consequence) }
            return SettingsError(
                .readFailed,
                fact: "the file cannot be read: \(error.readingReason)",
                consequence: consequence,
                remedy: readingRemedy(for: error.number) ?? "use the path of a readable regular file",
                location: SettingsError.Location(file: error.path.description),
                underlying: error
            )
        default:
            return SettingsError.wrapping(error, as: .readFailed)
        }
    }

    /// The error for a settings file that is missing although it existed.
    ///
    /// - Parameters:
    ///   - hasCopy: Whether there is a last good copy that can be read.
    ///   - isUnknown: Whether the values of the file are unknown.
    /// - Returns: The error.
    package func missingError(hasCopy: Bool, isUnknown: Bool) -> SettingsError {
        let name = path.name
        let (consequence, remedy) =
            if hasCopy {
                (
                    "the values of \(name).last-good are used, and the next checkpoint writes the file again",
                    "to start over, write {} to \(name), or also remove \(name).last-good and \(name).journal"
                )
            } else if !isUnknown {
                (
                    "the values that were read last are used, and the next checkpoint writes the file again",
                    "to start over, write {} to \(name)"
                )
            } else {
                (
                    "its values are unknown, and new values are stored in the journal",
                    "restore \(name), or write {} to it to continue with only the values in the journal"
                )
            }
        var error = SettingsError(
            .readFailed,
            fact: hasCopy ? "the file is missing" : "the file is missing, and there is no readable last good copy",
            consequence: consequence,
            remedy: remedy,
            location: SettingsError.Location(file: path.description)
        )
        error.isCorrectedByCheckpoint = hasCopy || !isUnknown
        return error
    }

    /// The error for a journal that cannot be read.
    func journalError(_ error: any Error) -> SettingsError {
        guard let error = error as? SystemError else { return SettingsError.wrapping(error, as: .readFailed) }
        let consequence = "values that are not in the settings file yet may be missing"
        if error.isUntrustedLink { return untrustedLinkError(error, consequence: consequence) }
        if error.isAboutSharing { return sharingError(error, consequence: consequence) }
        return SettingsError(
            .readFailed,
            fact: "the journal cannot be read: \(error.reason)",
            consequence: consequence,
            remedy: readingRemedy(for: error.number) ?? "check the disk and the file system",
            location: SettingsError.Location(file: error.path.description),
            underlying: error
        )
    }

    /// The error for values that cannot be written.
    ///
    /// - Parameters:
    ///   - error: The cause.
    ///   - consequence: The consequence if the cause is an error of the system.
    /// - Returns: The error.
    func writeError(_ error: any Error, consequence: String = "nothing is changed") -> SettingsError {
        guard let error = error as? SystemError else { return SettingsError.wrapping(error, as: .writeFailed) }
        if error.isUntrustedLink { return untrustedLinkError(error, consequence: consequence) }
        if error.isAboutSharing { return sharingError(error, consequence: consequence) }
        let isReadOnly = [Errno.readOnlyFileSystem, Errno.permissionDenied, Errno.notPermitted].contains(error.number)
        let place = error.path.directory == path.directory ? error.path.name : error.path
        return SettingsError(
            isReadOnly ? .readOnly : .writeFailed,
            fact: "the settings cannot be saved: \(place): \(error.reason)",
            consequence: consequence,
            remedy: writingRemedy(for: error.number),
            location: SettingsError.Location(file: path.description),
            underlying: error
        )
    }

    /// The error for a link of a user that root does not follow.
    private func untrustedLinkError(_ error: SystemError, consequence: String) -> SettingsError {
        SettingsError(
            .untrustedFile,
            fact: "the symbolic link \(error.path) leads to a directory of another user, or in a circle",
            consequence: consequence,
            remedy: "run the program as the user of the settings, or use a path without this link",
            location: SettingsError.Location(file: path.description),
            underlying: error
        )
    }

    /// The error for a file system that refuses to map the journal.
    private func sharingError(_ error: SystemError, consequence: String) -> SettingsError {
        let directory = error.path.directory
        let name = system.fileSystemName(at: directory).map { " (\($0))" } ?? ""
        return SettingsError(
            .readOnly,
            fact: "the file system of \(directory)\(name) does not let processes share memory, which the journal needs",
            consequence: consequence,
            remedy: "store the settings on a local file system (STORED_SETTINGS_HOME, or the path of the suite)",
            location: SettingsError.Location(file: path.description),
            underlying: error
        )
    }

    static let changedRootFact =
        "the program has changed its root directory (chroot), and the settings are not in the new one"

    /// The error of a path that leads to another directory after `chroot`.
    var changedRootError: SettingsError {
        SettingsError(
            .writeFailed,
            fact: Self.changedRootFact,
            consequence: "the values that were read last are used, and changes are refused",
            remedy: "call chroot before the first setting, or mount the directory at the same path in the new root",
            location: SettingsError.Location(file: path.description)
        )
    }

    /// How to put a settings file in the place of a directory.
    static let remedyForDirectory = """
        remove the directory if it is empty. If a container mounts the file, create it before the container starts: \
        Docker creates a directory for a missing file
        """

    private func readingRemedy(for number: CInt) -> String? {
        switch number {
        case Errno.isDirectory: Self.remedyForDirectory
        case Errno.permissionDenied, Errno.notPermitted: "allow this user to read it"
        case Errno.tooManyOpenFiles, Errno.tooManyOpenFilesInSystem:
            "close files, or raise the limit of open files; it is then read again automatically"
        case Errno.noMemory: "free memory, or raise the memory limit; it is then read again automatically"
        case Errno.ioError: "check the disk; it is read again automatically"
        case Errno.notDirectory: "correct its path, a part of which is not a directory"
        case Errno.tooManySymbolicLinkLevels: "correct the symbolic links in its path"
        case Errno.fileNameTooLong: "give the suite or its file a shorter name"
        case Errno.fileTooLarge: "replace it with a file of at most \(Self.longestFile >> 20) MiB"
        default: nil
        }
    }

    private func writingRemedy(for number: CInt) -> String {
        let elsewhere = "store the settings elsewhere (STORED_SETTINGS_HOME, or the path of the suite)"
        return switch number {
        case Errno.noSpace: "free space on the disk, or raise the disk quota"
        case Errno.diskQuotaExceeded: "remove files of this user, or raise the disk quota"
        case Errno.fileTooLarge:
            "fix the errors that checkpoints have reported; otherwise, store less data or raise the limit of file sizes"
        case Errno.readOnlyFileSystem: "mount the file system for writing, or \(elsewhere)"
        case Errno.permissionDenied, Errno.notPermitted: "allow this user to write there, or \(elsewhere)"
        case Errno.tooManyOpenFiles, Errno.tooManyOpenFilesInSystem: "close files, or raise the limit of open files"
        case Errno.noMemory: "free memory, or raise the memory limit"
        case Errno.isDirectory: Self.remedyForDirectory
        case Errno.noSuchFileOrDirectory, Errno.notDirectory:
            "make sure that the directory can be created, or \(elsewhere)"
        case Errno.fileNameTooLong: "give the suite or its file a shorter name"
        case Errno.resourceTemporarilyUnavailable: "try again"
        case Errno.noLocks:
            "use a file system that supports flock, and commit nothing in a child that was forked in a transaction"
        default: "check the disk and the file system"
        }
    }
}

extension SystemError {
    /// Whether root has not followed a symbolic link of another user: see ``DirectoryWalk``.
    fileprivate var isUntrustedLink: Bool { call == .readLink && number == Errno.tooManySymbolicLinkLevels }

    /// Whether a file system cannot map a file into shared memory.
    var isAboutSharing: Bool {
        call == .map && [Errno.noDevice, Errno.invalidArgument, Errno.notSupported].contains(number)
    }

    /// The reason why a file cannot be read: opening a file of a wrong kind has numbers that say nothing of it.
    var readingReason: String {
        let isOfKind = call == .open && path.isValid && [Errno.invalidArgument, Errno.openedSocket].contains(number)
        return isOfKind ? "it is a pipe, a socket, a device or a removed file" : reason
    }
}
