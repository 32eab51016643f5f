// SPDX-License-Identifier: Apache-2.0

import StoredSettings

// MARK: - The journal

extension Examination {
    /// The length from which on a journal is shortened by the next checkpoint, so that a longer one has had none.
    private static let longestJournal = 1 << 23

    /// Examines the journal; returns `nil` if there is none that can be used.
    mutating func examineJournal(_ directory: SettingsDirectory, _ settings: FileStatus?) -> Journal? {
        let path = directory.handle.path.appending(directory.name.adding(SettingsFile.journalSuffix))
        guard let file = sibling(SettingsFile.journalSuffix, .journal, in: directory) else {
            if !findings.contains(where: { $0.error.location?.file == path.description }) {
                note("journal", "none; the next change creates it")
            }
            return nil
        }
        do {
            let status = try system.status(of: file)
            try compare(file, with: settings, in: directory)
            if let settings { examineAccess(to: path, status, settings) }
            guard let journal = try Journal.opened(file, isWritable: false, system) else {
                // Throws if another program has written it.
                _ = try Journal.isCut(file, system)
                addUnfinished(path, status.size)
                return nil
            }
            examine(journal, status, path)
            return journal
        } catch let error as SettingsError {
            let repair = error.code == .malformedJournal ? Finding.Repair.setJournalAside : nil
            add(Finding(.journal, isError: true, error, repair: repair))
        } catch {
            add(Finding(.journal, error, at: path))
        }
        return nil
    }

    /// Finds users that can change the settings file and cannot use the journal.
    private mutating func examineAccess(to path: FilePath, _ status: FileStatus, _ settings: FileStatus) {
        let (users, remedy): (String, String)
        if settings.owner == status.owner, status.permissions & FileMode.ownerAccess != FileMode.ownerAccess {
            (users, remedy) = ("its owner", "run chmod u+rw \(path)")
        } else if settings.owner != status.owner, settings.owner != 0, !status.isOpenToMembers(of: settings.group) {
            (users, remedy) = (
                "user \(settings.owner)", "as root, change a value: a checkpoint gives it that owner"
            )
        } else if settings.isSharedWithGroup, !status.isSharedWithGroup || status.group != settings.group {
            let owner = "user \(status.owner), if it is a member of the group"
            (users, remedy) = (
                "group \(settings.group)", "as root or as \(owner), change a value: a checkpoint shares it"
            )
        } else {
            do {
                try system.checkWritable(path)
            } catch  where error.number == Errno.permissionDenied {
                add(Finding(.permissions, error, at: path))
            } catch {
                // What has an attribute is a finding of its own.
                examineMount(path, "no value can be stored")
            }
            return
        }
        add(
            Finding(
                .permissions,
                isError: true,
                path,
                "\(users) can change the settings file (\(settings.permissions.octal)), and may not read and write this one "
                    + "(\(status.permissions.octal), user \(status.owner), group \(status.group))",
                consequence: "no value can be stored by them",
                remedy: remedy,
                code: .readOnly
            )
        )
    }

    private mutating func addUnfinished(_ path: FilePath, _ size: Int) {
        note("journal", "\(size) bytes, unfinished")
        add(
            Finding(
                .journal,
                path,
                "it is empty or unfinished: the process that created it was killed, or another program truncated it",
                consequence: "values that were only there are lost; the next change creates it again",
                remedy: "change a value, or leave it as it is",
                repair: .checkpoint
            )
        )
    }

    private mutating func examine(_ journal: Journal, _ status: FileStatus, _ path: FilePath) {
        if journal.isRetired {
            add(
                Finding(
                    .journal,
                    path,
                    "another journal had replaced this one, which is back",
                    consequence: "the next change recovers it; changes in the other one may be lost",
                    remedy: "restore files only while no program uses them",
                    repair: .checkpoint
                )
            )
        }
        if journal.page[.unreliable] != 0 {
            add(
                Finding(
                    .journal,
                    path,
                    "the disk failed to write a part of it before",
                    consequence: "the latest changes may not survive a power loss",
                    remedy: "check the disk (dmesg, smartctl)"
                )
            )
        }
        if status.size > Self.longestJournal {
            add(
                Finding(
                    .journal,
                    path,
                    "it has \(status.size >> 20) MiB, so checkpoints do not succeed",
                    consequence: "it takes space, and programs start more slowly; no value is lost",
                    remedy: "fix the other findings, or look at the errors that the programs have reported",
                    repair: .checkpoint
                )
            )
        } else if status.size % 8 != 0 {
            add(
                Finding(
                    .journal,
                    path,
                    "its length is no multiple of 8 bytes, so another program has written to it",
                    consequence: "the next change recovers it; changes that no program had read may be lost",
                    remedy: "find out which other program writes to that file",
                    code: .malformedJournal
                )
            )
        }
        var records = ""
        do {
            records = try examineRecords(of: journal, path)
        } catch {
            add(Finding(.journal, error, at: path))
        }
        note("journal", "format \(journal.page[.version]), \(status.size) bytes\(records)")
    }

    /// Reads the records that are not in the settings file, and returns their number as text.
    private mutating func examineRecords(of journal: Journal, _ path: FilePath) throws -> String {
        for _ in 0..<3 {
            guard let (epoch, position) = journal.current else { continue }
            let reading = try journal.validRecords(
                from: epoch.checkpointed,
                to: position.end,
                epoch: epoch.epoch,
                salt: epoch.salt
            )
            let size = try system.status(of: journal.file).size
            let rest =
                reading.isWhole
                ? try system.contents(of: journal.file, in: Int(position.end)..<Int(position.end) + 8) : []
            // Another process may have begun a new epoch meanwhile.
            guard let now = journal.current, now.epoch.epoch == epoch.epoch else { continue }
            let isCut = Int(position.end) > size
            guard reading.isWhole, !isCut else {
                var error = SettingsError.damagedJournal(path)
                if isCut {
                    error.consequence = "another program truncated it, and changes are lost; the next set repairs it"
                }
                add(Finding(.journal, isError: true, error))
                let count = reading.records.count
                return ", \(count == 1 ? "1 record" : "\(count) records") before the damage not in the settings file"
            }
            // The length of a record that was written, and not published.
            if now.position == position, !journal.lock.isHeld, rest.count == 8,
                rest.prefix(4).contains(where: { $0 != 0 }),
                rest.suffix(4).enumerated().allSatisfy({ UInt8(truncatingIfNeeded: epoch.epoch >> ($0 * 8)) == $1 })
            {
                add(
                    Finding(
                        .journal,
                        path,
                        "it ends with an unfinished record: a process was killed in the middle of a change, or the disk was full",
                        consequence:
                            "that change had not returned, and is not stored; the next change overwrites the record",
                        remedy: "make the change again",
                        repair: .checkpoint
                    )
                )
            }
            let count = reading.records.count
            return switch count {
            case 0: ", all changes are in the settings file"
            case 1: ", 1 change that is not in the settings file yet"
            default: ", \(count) changes that are not in the settings file yet"
            }
        }
        guard !journal.isRetired else { return "" }
        guard journal.current == nil, !journal.lock.isHeld else { return ", changing all the time" }
        add(Finding(.journal, isError: true, .damagedJournal(path)))
        return ", the header is damaged"
    }
}

// MARK: - Locks

extension Examination {
    /// How long a lock is watched before it counts as held by a process that makes no progress, in steps and seconds.
    private static let (lookCount, lookInterval) = (50, 0.02)

    mutating func examineLocks(_ directory: SettingsDirectory, _ journal: Journal?, _ settings: FileStatus?) throws {
        let checkpoint = sibling(SettingsFile.lockSuffix, .lock, in: directory)
        if let checkpoint {
            // It contains nothing.
            try compare(checkpoint, with: nil, in: directory)
        }
        var held: [String] = []
        do {
            if let journal, let text = try examineLock(of: journal) { held.append(text) }
            if let checkpoint, let text = try examineLock(checkpoint, journal) { held.append(text) }
        } catch {
            add(Finding(.lock, error, at: directory.handle.path))
        }
        let free = SystemCalls.showsFileLocks ? "free" : "free, as far as the system shows them"
        note("locks", held.isEmpty ? free : held.joined(separator: "; "))
    }

    /// Watches the lock of the journal for a second; returns `nil` if it changes hands.
    private mutating func examineLock(of journal: Journal) throws -> String? {
        if try journal.lock.isBlocked {
            add(
                Finding(
                    .lock,
                    isError: true,
                    journal.file.path,
                    "another program has locked the whole journal (fcntl)",
                    consequence: "programs that have not stored a value before cannot store one",
                    remedy: "find the program (lslocks), and end it",
                    code: .lockTimedOut
                )
            )
            return "that of the journal is held by another program"
        }
        let first = journal.lock.acquisitions
        guard journal.lock.isHeld else { return nil }
        for _ in 0..<Self.lookCount {
            guard journal.lock.isHeld, journal.lock.acquisitions == first else { return nil }
            if try journal.lock.isHolderDead == true { break }
            SystemCalls.sleep(seconds: Self.lookInterval)
        }
        let process = journal.lock.holder?.visibleProcess
        let name = process.map { "process \($0)" + ProcessTable.name(of: $0) } ?? "a process"
        if try journal.lock.isHolderDead == true {
            add(
                Finding(
                    .lock,
                    journal.file.path,
                    "\(name) ended while it held the lock of the journal",
                    consequence: "the change that it was making is not stored; the next change takes the lock over",
                    remedy: "change any value, or leave it as it is",
                    repair: .checkpoint
                )
            )
            return "that of the journal is held by a process that has ended"
        }
        guard journal.lock.isHeld, journal.lock.acquisitions == first else { return nil }
        add(
            held(
                journal.file.path,
                name,
                process,
                "the lock of the journal",
                "changes of other processes wait, and fail after 5 seconds"
            )
        )
        return "that of the journal is held by \(name)"
    }

    /// Watches a file that is locked as a whole; returns `nil` if it is not, or not for a second.
    private mutating func examineLock(_ file: FileHandle, _ journal: Journal?) throws -> String? {
        let status = try system.status(of: file)
        guard let first = SystemCalls.holder(ofLockOn: status) else { return nil }
        for _ in 0..<Self.lookCount {
            guard SystemCalls.holder(ofLockOn: status) == first else { return nil }
            SystemCalls.sleep(seconds: Self.lookInterval)
        }
        let process = first > 0 ? UInt64(first) : nil
        let name = process.map { "process \($0)" + ProcessTable.name(of: $0) } ?? "a process of another container"
        let consequence = "the settings file is not written meanwhile; all values are safe in the journal"
        add(held(file.path, name, process, "the lock for checkpoints", consequence))
        return "that for checkpoints is held by \(name)"
    }

    private func held(
        _ path: FilePath,
        _ name: String,
        _ process: UInt64?,
        _ lock: String,
        _ consequence: String
    ) -> Finding {
        let isStopped = process.flatMap { SystemCalls.statusOfProcess($0)?.isStopped } ?? false
        let remedy = process.map {
            isStopped ? "resume process \($0) (kill -CONT \($0)), or end it" : "wait, or end process \($0)"
        }
        return Finding(
            .lock,
            isError: true,
            path,
            "\(name) has held \(lock) for at least a second" + (isStopped ? ", and is stopped" : ""),
            consequence: consequence,
            remedy: remedy ?? "find the process that has the file open, and resume or end it",
            code: .lockTimedOut
        )
    }
}
