// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "The doctor changes nothing".

import StoredSettings

/// The state of the files of a suite, and everything that is wrong with them.
///
/// An examination only reads. It opens no file for writing, takes no lock, and creates nothing, so that it can examine the
/// files of another user and those of a running program. Neither facts nor findings contain a stored value.
struct Examination {
    let place: SuitePlace
    let system = SystemCalls()
    /// What is known, in the order of the output.
    private(set) var facts: [(name: String, text: String)] = []
    private(set) var findings: [Finding] = []
    /// Whether the values of the settings file are known.
    var isFileReadable = false
    /// Whether something other than a file is in its place.
    var isFileReplaced = false
    /// Whether there is a usable last good copy.
    var hasCopy = false

    /// Examines the files of a suite.
    init(of place: SuitePlace) {
        self.place = place
        note("settings file", "\(place.file)")
        let target: FilePath
        do {
            target = try SettingsPath.target(of: place.file, system)
        } catch {
            add(Finding(.links, error, at: place.file))
            return
        }
        if target != place.file { note("link", "leads to \(target), and all other files are beside that") }
        let directory: SettingsDirectory
        do {
            directory = try SettingsDirectory(of: target, system)
        } catch  where error.number == Errno.noSuchFileOrDirectory {
            add(
                Finding(
                    .links,
                    isError: true,
                    place.file,
                    "there is no directory \(target.directory)",
                    consequence: "there are no values, and none can be stored",
                    remedy: target == place.file ? "create the directory" : "correct the link, or create the directory"
                )
            )
            return
        } catch {
            let file = SettingsFile(path: place.file, system: system)
            add(
                error.isUntrustedLink
                    ? Finding(.links, isError: true, file.readError(error, hasValues: false))
                    : Finding(.directory, error, at: target.directory)
            )
            return
        }
        do {
            try examine(directory)
        } catch {
            add(Finding(.directory, error, at: directory.handle.path))
        }
        examineSystem(directory)
    }

    private mutating func examine(_ directory: SettingsDirectory) throws {
        let status = try system.status(of: directory.handle)
        examineAttributes(directory)
        examineDirectory(directory, status)
        let settings = examineFile(directory, status)
        try examineWriters(directory, status, settings?.status)
        let journal = examineJournal(directory, settings?.status)
        try examineLocks(directory, journal, settings?.status)
        examineCopy(directory, settings, journal)
    }

    mutating func add(_ finding: Finding) {
        findings.append(finding)
    }

    mutating func replaceFinding(at index: Int, _ finding: Finding) {
        findings[index] = finding
    }

    /// Adds a fact, unless one with its name is known.
    mutating func note(_ name: String, _ text: String) {
        guard !facts.contains(where: { $0.name == name }) else { return }
        facts.append((name, text))
    }

    /// Opens a file beside the settings file for reading; `nil` if there is none, or a finding says why it cannot be used.
    ///
    /// - Parameters:
    ///   - suffix: The suffix of its name.
    ///   - topic: The topic of a finding.
    ///   - directory: The directory.
    /// - Returns: The file.
    mutating func sibling(_ suffix: String, _ topic: Finding.Topic, in directory: SettingsDirectory) -> FileHandle? {
        let name = directory.name.adding(suffix)
        do {
            return try directory.openSibling(name, OpenFlags.readOnly)
        } catch let error as SettingsError {
            if isOfService(name, in: directory) {
                let fact = topic == .lock ? "locks" : topic.rawValue
                note(fact, "not examined: root does not use that of a service; run doctor as the user of the settings")
                return nil
            }
            add(Finding(topic == .copy || topic == .lock ? .links : topic, isError: true, error))
        } catch {
            add(Finding(topic, error, at: directory.handle.path.appending(name)))
        }
        return nil
    }

    /// Whether root examines the file of a service, which the service uses, and root does not.
    private func isOfService(_ name: FilePath, in directory: SettingsDirectory) -> Bool {
        do {
            guard SystemCalls.currentUser() == 0, let status = try system.linkStatus(at: name, in: directory.handle),
                status.isRegular, status.linkCount == 1
            else { return false }
            return try directory.status().map { $0.owner == status.owner } ?? true
        } catch {
            return false
        }
    }

    /// Adds a finding if a file gives users permissions that the settings file does not give them, or belongs to another user than
    /// the directory, which can then not use it.
    mutating func compare(_ file: FileHandle, with settings: FileStatus?, in directory: SettingsDirectory) throws {
        let (status, path) = (try system.status(of: file), file.path)
        if settings != nil, system.accessList(of: file) != nil {
            add(
                Finding(
                    .permissions,
                    path,
                    "it has an access control list",
                    consequence: "users can read or change values through it that cannot read the settings file",
                    remedy: Self.checkpointRemedy,
                    code: .untrustedFile,
                    repair: .checkpoint
                )
            )
        }
        try compare(status, of: path, with: settings, in: system.status(of: directory.handle))
    }

    /// The same for the mode and the owner alone.
    mutating func compare(
        _ status: FileStatus,
        of path: FilePath,
        with settings: FileStatus?,
        in directory: FileStatus
    ) {
        if let settings, status.permissions & ~settings.permissions & 0o066 != 0 {
            add(
                Finding(
                    .permissions,
                    path,
                    "other users have permissions for it (\(status.permissions.octal)) that they do not have for the "
                        + "settings file (\(settings.permissions.octal))",
                    consequence: "they can read or change values through it",
                    remedy: Self.checkpointRemedy,
                    code: .untrustedFile,
                    repair: .checkpoint
                )
            )
        }
        if let settings, status.group != settings.group, status.permissions & 0o060 & ~(settings.permissions << 3) != 0
        {
            add(
                Finding(
                    .permissions,
                    path,
                    "its group (\(status.group)) is another one than that of the settings file (\(settings.group))",
                    consequence: "the members of that group can read or change values through it",
                    remedy: Self.checkpointRemedy,
                    code: .untrustedFile,
                    repair: .checkpoint
                )
            )
        }
        // A directory of root, such as one in /etc, can contain the file of a service, and so can one that a group may write to.
        let isOfMember = directory.isWritableByGroup && status.owner != 0
        let isShared = status.isSharedWithGroup && status.group == directory.group
        if status.owner != directory.owner, directory.owner != 0, !isOfMember, !isShared {
            let isReadable = status.permissions & 0o004 != 0
            add(
                Finding(
                    .permissions,
                    isError: !isReadable,
                    path,
                    "it belongs to user \(status.owner), and its directory to user \(directory.owner)",
                    consequence: isReadable
                        ? "programs of user \(directory.owner) may not be able to change it"
                        : "programs of user \(directory.owner) that are not members of its group cannot read or change it",
                    remedy:
                        "if another user has restored or copied it, make user \(directory.owner) its owner again; otherwise, run the "
                        + "programs as one user, or store the settings in a directory that a group of both users shares",
                    code: .untrustedFile
                )
            )
        }
    }
}

// MARK: - The directory

extension Examination {
    /// The remedy for a file that a checkpoint gives the access that the settings file has.
    static let checkpointRemedy =
        "change a value, or run doctor --repair: a checkpoint gives it the access of the settings file"

    /// A remedy that takes no access from a program.
    static let safePlace = """
        store the settings in a directory that only their user, or a group that shares them, can write to, or trust these users
        """

    private mutating func examineDirectory(_ directory: SettingsDirectory, _ status: FileStatus) {
        let path = directory.handle.path
        note("directory", "\(path), mode \(status.permissions.octal), user \(status.owner), group \(status.group)")
        do {
            try system.checkWritable(path)
        } catch  where error.number == Errno.readOnlyFileSystem {
            add(
                Finding(
                    .disk,
                    path,
                    "the file system is mounted for reading only",
                    consequence: "no value can be stored",
                    remedy: "mount it for writing, or store the settings elsewhere (STORED_SETTINGS_HOME)",
                    code: .readOnly
                )
            )
        } catch  where error.number == Errno.notPermitted && findings.contains(where: { $0.topic == .attributes }) {
            // The attribute is the reason.
        } catch {
            add(Finding(.permissions, error, at: path))
        }
        guard status.permissions & FileMode.otherWrite != 0 else {
            if status.permissions & FileMode.sticky != 0, status.permissions & FileMode.groupWrite != 0 {
                add(
                    Finding(
                        .permissions,
                        path,
                        "the directory is shared with a group, and has the sticky bit (\(status.permissions.octal)), so that "
                            + "a member cannot replace a file of another one",
                        consequence:
                            "checkpoints of members that do not own the settings file fail, and their values are stored only in "
                            + "the journal",
                        remedy:
                            "if the group is to share the settings, store them in a directory without the sticky bit",
                        code: .readOnly
                    )
                )
            }
            return examineDrafts(directory)
        }
        guard status.permissions & FileMode.sticky == 0 else {
            // It is shared on purpose, like /tmp: its mode matters to other programs.
            add(
                Finding(
                    .permissions,
                    isError: true,
                    path,
                    "all users can create files in the directory, as in /tmp (\(status.permissions.octal))",
                    consequence: "another user can create the journal or the locks first, and those are not used then",
                    remedy: Self.safePlace,
                    code: .untrustedFile
                )
            )
            return examineDrafts(directory)
        }
        add(
            Finding(
                .permissions,
                isError: true,
                path,
                "every user can write to the directory (\(status.permissions.octal))",
                consequence: "every user can replace the settings, and files of other users are not used there",
                remedy: Self.safePlace,
                code: .untrustedFile
            )
        )
        examineDrafts(directory)
    }

    private mutating func examineDrafts(_ directory: SettingsDirectory) {
        do {
            let prefix = directory.name.adding(Repair.brokenSuffix).bytes
            let kept = try system.names(in: directory.handle).filter { $0.bytes.starts(with: prefix) }
                .map(\.description)
            if !kept.isEmpty {
                note(
                    "kept broken files",
                    kept.sorted().joined(separator: ", ") + "; remove them when they are not needed"
                )
            }
            for name in try Drafts.abandoned(in: directory) {
                add(
                    Finding(
                        .drafts,
                        directory.handle.path.appending(name),
                        "a process that was killed has left this temporary file",
                        consequence: "it takes space, and contains values; it is never used",
                        remedy: "remove it",
                        repair: .removeDrafts
                    )
                )
            }
        } catch {
            add(Finding(.directory, error, at: directory.handle.path))
        }
    }
}

/// Temporary files of the library.
enum Drafts {
    /// The age at which a temporary file is no longer in use: a process uses one for milliseconds.
    private static let age = 60.0

    /// Returns the names of the temporary files that no process uses.
    static func abandoned(in directory: SettingsDirectory) throws(SystemError) -> [FilePath] {
        let bases = [directory.name, directory.name.adding(SettingsFile.journalSuffix)]
        let now = SystemCalls.wallClock()
        var found: [FilePath] = []
        for name in try directory.system.names(in: directory.handle)
        where bases.contains(where: { name.isDraft(of: $0) }) {
            let status = try directory.system.linkStatus(at: name, in: directory.handle)
            if let status, status.isRegular, now - status.modified.secondsSince1970 > age { found.append(name) }
        }
        return found
    }
}

extension FileStatus {
    /// Whether a user with a group, but not the owner, may read and write the file.
    func isOpenToMembers(of group: UInt32) -> Bool {
        let permissions = self.group == group ? permissions >> 3 : permissions
        return permissions & 0o006 == 0o006
    }
}

extension FileMode {
    static let ownerAccess: FileMode = 0o600

    /// The mode as `chmod` accepts it.
    var octal: String {
        let digits = String(self & 0o7777, radix: 8)
        return String(repeating: "0", count: Swift.max(4 - digits.count, 0)) + digits
    }
}
