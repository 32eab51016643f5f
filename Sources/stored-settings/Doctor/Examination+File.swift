// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// What is known about the settings file.
struct ExaminedFile {
    var status: FileStatus
    /// The values; `nil` if they cannot be read.
    var contents: [String: StoredValue]?
    /// The index of the finding about a file that cannot be read.
    var finding: Int?
}

// MARK: - The settings file

extension Examination {
    /// Examines the settings file; returns `nil` if there is none.
    mutating func examineFile(_ directory: SettingsDirectory, _ parent: FileStatus) -> ExaminedFile? {
        let path = directory.handle.path.appending(directory.name)
        do {
            guard let status = try directory.status() else { return nil }
            guard status.isRegular else {
                isFileReplaced = true
                let isLinked = place.file.name != directory.name || place.file.directory != directory.handle.path
                add(
                    Finding(
                        .file,
                        isError: true,
                        place.file,
                        isLinked
                            ? "it leads to \(path), which is a directory, a device or a pipe, not a regular file"
                            : "it is a directory, a device or a pipe, not a regular file",
                        consequence: "the settings cannot be read",
                        // Nothing in /dev may be moved away.
                        remedy: isLinked
                            ? "correct the link"
                            : status.isDirectory
                                ? "move it away; then the values of the last good copy are used, if there is one"
                                : "use the path of a regular file"
                    )
                )
                return ExaminedFile(status: status)
            }
            note(
                "contents",
                "\(status.size) bytes, mode \(status.permissions.octal), user \(status.owner), group \(status.group)"
            )
            examineLinks(status, path)
            examineMount(path)
            examineAccessList(directory, path)
            var examined = ExaminedFile(status: status)
            compare(status, of: path, with: nil, in: parent)
            examined.contents = read(directory, path, &examined)
            isFileReadable = examined.contents != nil
            examineAccess(status, examined.contents ?? [:], path, parent)
            return examined
        } catch {
            add(Finding(.file, error, at: path))
            return nil
        }
    }

    private mutating func examineLinks(_ status: FileStatus, _ path: FilePath) {
        guard status.linkCount > 1 else { return }
        add(
            Finding(
                .links,
                path,
                "the file has \(status.linkCount) names (hard links)",
                consequence: "a checkpoint replaces it under this name, and the other names lead to old values",
                remedy: "use a symbolic link for the other names"
            )
        )
    }

    /// Finds a file that is mounted for reading only; that of its directory is a finding already.
    mutating func examineMount(
        _ path: FilePath,
        _ consequence: String = "checkpoints fail, and values are stored only in the journal"
    ) {
        do {
            try system.checkWritable(path)
        } catch {
            guard error.number == Errno.readOnlyFileSystem, !findings.contains(where: { $0.topic == .disk }) else {
                return
            }
            add(
                Finding(
                    .disk,
                    path,
                    "the file itself is mounted for reading only",
                    consequence: consequence,
                    remedy: "mount the file for writing, or mount its directory instead",
                    code: .readOnly
                )
            )
        }
    }

    private mutating func read(
        _ directory: SettingsDirectory,
        _ path: FilePath,
        _ examined: inout ExaminedFile
    ) -> [String: StoredValue]? {
        for isLast in [false, true] {
            do {
                let flags = OpenFlags.readOnly | OpenFlags.noFollow | OpenFlags.nonBlocking
                let file = try system.open(directory.name, in: directory.handle, flags)
                let bytes = try system.contents(of: file, limit: SettingsFile.longestFile)
                let contents = try SettingsFileText(bytes).contents
                note("values", contents.count == 1 ? "1 key" : "\(contents.count) keys")
                return contents
            } catch let error as JSONSyntaxError {
                // An editor may be writing the file.
                if !isLast, SystemCalls.wallClock() - examined.status.modified.secondsSince1970 < 1 {
                    SystemCalls.sleep(seconds: 0.3)
                    continue
                }
                let file = SettingsFile(path: place.file, system: system)
                examined.finding = findings.count
                add(Finding(.file, isError: true, file.readError(error, hasValues: false)))
                return nil
            } catch {
                let file = SettingsFile(path: place.file, system: system)
                let isPermission = (error as? SystemError)?.number == Errno.permissionDenied
                add(
                    isPermission
                        ? Finding(.file, error, at: path)
                        : Finding(.file, isError: true, file.readError(error, hasValues: false))
                )
                if !isPermission { examined.finding = findings.count - 1 }
                return nil
            }
        }
        return nil
    }

    private mutating func examineAccessList(_ directory: SettingsDirectory, _ path: FilePath) {
        let list = system.accessList(at: directory.name, in: directory.handle)
        guard let list, list.deniesAccess || list.permissions(ofOthersThan: []) != 0 else { return }
        add(
            Finding(
                .permissions,
                path,
                "the file has an access control list",
                consequence: list.deniesAccess
                    ? "a checkpoint replaces the file without it, and what it denies to one user, the group and all others lose, too"
                    : "a checkpoint replaces the file without it, and the users and groups that it names lose access",
                // No command: without the list, those to whom it denies access would be members of the group, or others.
                remedy: "store the settings in a directory that a group of their users shares, and use no lists"
            )
        )
    }

    private mutating func examineAccess(
        _ status: FileStatus,
        _ contents: [String: StoredValue],
        _ path: FilePath,
        _ parent: FileStatus
    ) {
        if status.permissions & FileMode.otherWrite != 0 {
            add(
                Finding(
                    .permissions,
                    isError: true,
                    path,
                    "every user can change the file (\(status.permissions.octal))",
                    consequence: "every user decides which values programs use",
                    remedy: "run chmod o-w \(path)",
                    code: .untrustedFile
                )
            )
        }
        // A user that cannot enter the directory cannot open the file.
        guard status.permissions & 0o004 != 0, parent.permissions & 0o001 != 0 else { return }
        let secrets = contents.separated { _ in true }.keys.filter(Self.isSecretName).sorted()
        guard !secrets.isEmpty else { return }
        let names = secrets.map { "'\($0)'" }.joined(separator: ", ")
        add(
            Finding(
                .permissions,
                path,
                "every user can read the file (\(status.permissions.octal)), and by their names these are secrets: \(names)",
                consequence: "every user can read them",
                remedy: "run chmod \((status.permissions & ~FileMode.others).octal) \(path), and replace the secrets",
                code: .untrustedFile
            )
        )
    }

    private static func isSecretName(_ key: String) -> Bool {
        let name = key.lowercased().filter { $0.isLetter || $0.isNumber }
        return ["token", "secret", "password", "passwd", "passphrase", "credential", "apikey", "privatekey"]
            .contains { name.contains($0) }
    }
}

// MARK: - The last good copy

extension Examination {
    mutating func examineCopy(_ directory: SettingsDirectory, _ settings: ExaminedFile?, _ journal: Journal?) {
        let path = directory.handle.path.appending(directory.name.adding(SettingsFile.lastGoodSuffix))
        // Before the copy is looked up: the first checkpoint of a suite writes the file, the copy, and then this.
        let wasWritten = journal.map { $0.page[.checkpointed] != 0 } ?? false
        let copy = sibling(SettingsFile.lastGoodSuffix, .copy, in: directory)
        var text: SettingsFileText?
        if let copy {
            text = read(copy, path, settings, directory)
        } else if let settings, settings.finding == nil, wasWritten,
            !findings.contains(where: { $0.error.location?.file == path.description })
        {
            add(
                Finding(
                    .copy,
                    path,
                    "there is no last good copy",
                    consequence: "if the settings file breaks, its values are lost",
                    remedy: "change a value: the next checkpoint writes the copy"
                )
            )
        }
        if let journal, copy != nil, LastGoodCopy.isOutdated(in: journal.page),
            !findings.contains(where: { $0.topic == .attributes })
        {
            add(
                Finding(
                    .copy,
                    path,
                    "it has values that were replaced or removed since",
                    consequence:
                        "removed secrets may be in it, and old values would be used if the settings file broke",
                    remedy: "let the user of the program write to the directory, and change a value",
                    repair: .checkpoint
                )
            )
        }
        let state =
            switch (text?.contents, settings?.contents) {
            case (nil, _): copy == nil ? "none" : "not usable"
            case (let copy?, let current?) where copy == current.mapValues(\.storedAsJSON): "the same values"
            case (_?, nil): "usable"
            case (_?, _?):
                isNewer(copy, than: settings)
                    ? "usable, newer than the settings file" : "usable, older than the settings file"
            }
        note("last good copy", state)
        hasCopy = text != nil
        if let text { noteUnusableValues(in: text, settings?.contents) }
        finish(settings, directory, hasCopy: text != nil, wasWritten: wasWritten)
    }

    /// Names the keys whose stored values a program could not use when the copy was written.
    ///
    /// That is not a finding: another version of the program may accept these values.
    private mutating func noteUnusableValues(in copy: SettingsFileText, _ current: [String: StoredValue]?) {
        let keys = copy.unusableKeys.filter { key in
            current.map { $0.value(forKey: key) == copy.contents.value(forKey: key) } ?? true
        }
        guard !keys.isEmpty else { return }
        let names = keys.map { "'\($0)'" }.joined(separator: ", ")
        note("unusable values", "\(names): a program could not use them; the last good copy has the last good ones")
    }

    private func isNewer(_ copy: FileHandle?, than settings: ExaminedFile?) -> Bool {
        do {
            guard let copy, let settings else { return false }
            return try system.status(of: copy).modified.secondsSince1970 > settings.status.modified.secondsSince1970
        } catch {
            return false
        }
    }

    private mutating func read(
        _ copy: FileHandle,
        _ path: FilePath,
        _ settings: ExaminedFile?,
        _ directory: SettingsDirectory
    ) -> SettingsFileText? {
        do {
            try compare(copy, with: settings?.status, in: directory)
            let bytes = try system.contents(of: copy, limit: SettingsFile.longestFile)
            let text = try SettingsFileText(bytes, .strict)
            guard !text.isCopy else { return text }
            add(
                Finding(
                    .copy,
                    path,
                    "another program has written or changed it",
                    consequence: "its values are used while the settings file cannot be read",
                    remedy: "when the settings file can be read, move it away: the next checkpoint writes it again"
                )
            )
            return text
        } catch is JSONSyntaxError {
            add(
                Finding(
                    .copy,
                    path,
                    "it is no complete settings file",
                    consequence: "if the settings file breaks, its values are lost",
                    remedy: "move it away, and change a value: the next checkpoint writes it again"
                )
            )
        } catch {
            add(Finding(.copy, error, at: path))
        }
        return nil
    }

    /// Completes the findings about the settings file, now that the last good copy is known.
    private mutating func finish(
        _ settings: ExaminedFile?,
        _ directory: SettingsDirectory,
        hasCopy: Bool,
        wasWritten: Bool
    ) {
        let file = SettingsFile(path: place.file, system: system)
        guard let settings else {
            // A first checkpoint may have written it meanwhile.
            guard hasCopy || wasWritten, !findings.contains(where: { $0.topic == .file }), !isThere(directory) else {
                return
            }
            return add(
                Finding(
                    .file,
                    isError: true,
                    file.missingError(hasCopy: hasCopy, isUnknown: !hasCopy, isAlone: false),
                    repair: hasCopy ? .restore : nil
                )
            )
        }
        guard let index = settings.finding, let cause = findings[index].error.underlying else { return }
        var error = file.readError(cause, hasValues: hasCopy)
        let isRestorable = hasCopy && Repair.isBroken(cause)
        if isRestorable { error.remedy += "; or use --restore" }
        replaceFinding(at: index, Finding(.file, isError: true, error, repair: isRestorable ? .restore : nil))
    }

    private func isThere(_ directory: SettingsDirectory) -> Bool {
        do {
            return try directory.status() != nil
        } catch {
            return false
        }
    }
}
