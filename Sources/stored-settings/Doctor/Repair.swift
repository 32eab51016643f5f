// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "The doctor changes nothing".

import StoredSettings
import StoredSettingsCommand

/// The repairs of `doctor`, which never remove a value.
///
/// Each returns what it has done.
struct Repair {
    /// What the name of a broken settings file ends with, before a number.
    static let brokenSuffix = ".broken-"

    private let place: SuitePlace
    private let system = SystemCalls()
    private var file: SettingsFile { SettingsFile(path: place.file, system: system) }

    init(_ place: SuitePlace) {
        self.place = place
    }

    private func directory() throws -> SettingsDirectory {
        try SettingsDirectory(of: SettingsPath.target(of: place.file, system), system)
    }

    /// Writes the journal into the settings file, which recovers what killed processes have left.
    func checkpoint() throws -> String {
        // An empty change acquires the lock of the journal, and recovers it.
        try place.suite.transaction { _ in }
        try place.suite.checkpoint()
        return "recovered the journal, and wrote its changes into \(place.file)"
    }

    /// Removes temporary files while no process writes a checkpoint.
    func removeDrafts() throws -> [String] {
        guard let lock = try CheckpointLock.tryToAcquire(for: file) else {
            throw CommandFailure(
                CommandExit.temporary,
                "another process is writing the settings file. The temporary files are left. Try again."
            )
        }
        defer { lock.release() }
        let directory = try directory()
        var done: [String] = []
        for name in try Drafts.abandoned(in: directory) {
            try system.unlink(name, in: directory.handle)
            done.append("removed \(directory.handle.path.appending(name))")
        }
        return done
    }

    /// Replaces a settings file that cannot be read by the last good copy, with all later changes.
    ///
    /// The broken file is renamed. From then on, the file is missing for all processes, and the next checkpoint writes it from
    /// the last good copy and the journal. For a value of the copy that a program could not use, the last good one is written.
    func restore() throws -> [String] {
        let directory = try directory()
        let copy = try readCopy(in: directory)
        let broken = try directory.status()
        let kept = try keepBroken(in: directory)
        var replaced: [String] = []
        do {
            replaced = try replaceUnusableValues(of: copy?.text)
            try place.suite.checkpoint()
            guard try directory.status() != nil else {
                throw CommandFailure(CommandExit.input, "the last good copy was not used")
            }
            try giveAccess(of: broken, within: copy?.status, to: directory)
        } catch {
            guard let kept else { throw error }
            let failure = CommandFailure(error)
            do {
                try system.renameExclusively(kept, to: directory.name, in: directory.handle)
            } catch {
                // Another process may have written the file meanwhile. The first error is the cause.
                let place = "The broken file is \(directory.handle.path.appending(kept))."
                throw CommandFailure(failure.code, messages: failure.messages + [place])
            }
            throw error
        }
        var done = kept.map { ["renamed the broken file to \(directory.handle.path.appending($0))"] } ?? []
        done.append("wrote \(place.file) from the last good copy and the journal")
        if !replaced.isEmpty {
            let names = replaced.map { "'\($0)'" }.joined(separator: ", ")
            done.append("wrote the last good values of \(names), because no program could use the later ones")
        }
        return done
    }

    /// Gives the new settings file the owner and the mode of the broken one, if the copy has that owner and no fewer permissions, and
    /// otherwise those of the copy: what has broken the file may have created it for other users.
    private func giveAccess(of broken: FileStatus?, within copy: FileStatus?, to directory: SettingsDirectory) throws {
        // Another user must not have put a file of root in its place.
        guard let broken, broken.isRegular, let file = try directory.openSibling(directory.name, OpenFlags.readOnly)
        else { return }
        var model = broken
        if let copy { model = copy.owner == broken.owner ? broken.narrowed(to: copy) : copy }
        try system.copyPermissions(of: model, to: file)
    }

    private func readCopy(in directory: SettingsDirectory) throws -> (text: SettingsFileText, status: FileStatus)? {
        let name = directory.name.adding(SettingsFile.lastGoodSuffix)
        guard let copy = try directory.openSibling(name, OpenFlags.readOnly) else { return nil }
        let bytes = try system.contents(of: copy, limit: SettingsFile.longestFile)
        return (try SettingsFileText(bytes, .strict), try system.status(of: copy))
    }

    /// Stores the last good values in place of unusable ones, and returns their keys.
    ///
    /// The change acquires the lock of the journal, and recovers it.
    private func replaceUnusableValues(of copy: SettingsFileText?) throws -> [String] {
        try place.suite.transaction { transaction in
            guard let copy else { return [] }
            // A value that was changed later remains.
            let keys = copy.unusableKeys.filter { transaction[storedValueFor: $0] == copy.contents.value(forKey: $0) }
            for key in keys { try transaction.setStoredValue(copy.lastGood[key] ?? nil, forKey: key) }
            return keys
        }
    }

    /// Renames the settings file, if there is one and it is still broken, and returns its new name.
    private func keepBroken(in directory: SettingsDirectory) throws -> FilePath? {
        guard try directory.status() != nil else { return nil }
        let flags = OpenFlags.readOnly | OpenFlags.noFollow | OpenFlags.nonBlocking
        let file = try system.open(directory.name, in: directory.handle, flags)
        do {
            _ = try SettingsFileText(system.contents(of: file, limit: SettingsFile.longestFile))
            throw CommandFailure(
                CommandExit.temporary,
                "the settings file has been corrected meanwhile. Nothing is changed."
            )
        } catch  where Self.isBroken(error) {
            // It is to be replaced.
        }
        do {
            return try setAside(directory.name, in: directory)
        } catch let error as SystemError where error.number == Errno.resourceBusy {
            throw CommandFailure(
                CommandExit.cannotCreate,
                "\(place.file) is mounted alone, so it cannot be replaced. Nothing is changed. Copy "
                    + "\(directory.name.adding(SettingsFile.lastGoodSuffix)) over it while no program uses it."
            )
        }
    }

    /// Whether the contents of a file that cannot be read are the reason, so that a copy may replace it.
    static func isBroken(_ error: any Error) -> Bool {
        error is JSONSyntaxError || (error as? SystemError)?.number == Errno.fileTooLarge
    }

    /// Renames a file that is in the place of the journal, unless it is a journal by now.
    func setJournalAside() throws -> String {
        let directory = try directory()
        let name = directory.name.adding(SettingsFile.journalSuffix)
        do {
            if let file = try directory.openSibling(name, OpenFlags.readOnly),
                try Journal.opened(file, isWritable: false, system) == nil
            {
                _ = try Journal.isCut(file, system)
            }
            throw CommandFailure(CommandExit.temporary, "the journal has been replaced meanwhile. Nothing is changed.")
        } catch let error as SettingsError where error.code == .malformedJournal {
            let kept = try setAside(name, in: directory)
            return "renamed the file that is not a journal to \(directory.handle.path.appending(kept))"
        }
    }

    /// Renames a broken file, and returns its new name.
    private func setAside(_ name: FilePath, in directory: SettingsDirectory) throws -> FilePath {
        for number in 1...1_000 {
            let newName = name.adding("\(Self.brokenSuffix)\(number)")
            if try rename(name, to: newName, in: directory) { return newName }
        }
        throw CommandFailure(
            CommandExit.cannotCreate,
            "there are 1000 broken files already. Nothing is changed. Remove them."
        )
    }

    /// Renames a file; returns `false` if another file has the new name.
    private func rename(_ name: FilePath, to newName: FilePath, in directory: SettingsDirectory) throws -> Bool {
        do {
            try system.renameExclusively(name, to: newName, in: directory.handle)
            return true
        } catch  where error.number == Errno.fileExists {
            return false
        }
    }
}
