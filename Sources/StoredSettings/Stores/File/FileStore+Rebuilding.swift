// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension FileStore {
    /// Builds the contents from those of the file and the journal's records that are not in it.
    ///
    /// - Returns: Whether the contents are current.
    func rebuild(_ request: ReloadRequest, _ wrongLooks: inout Int, _ effects: inout Effects) -> Bool {
        let base = readBase(request)
        let old = request.contents ?? [:]
        var contents = base.contents ?? old
        guard let journal = request.journal else {
            return state.withLock { state in
                guard usableJournal(state) == nil, state.version == request.version else { return false }
                for key in state.journal.journaled.keys {
                    if let found = base.contents { state.fileValues.updateValue(found[key], forKey: key) }
                    contents[key] = old[key]
                }
                publish(contents, .external, &state, &effects)
                settle(base, &state, &effects)
                return true
            }
        }
        guard let replay = replay(journal, request, &wrongLooks, &effects) else { return false }
        let fileContents = contents
        for record in replay.records {
            for (key, value) in record.values { contents[key] = value }
        }
        let changes = [StoreChange](from: old, to: contents)
        let written = written(base, journal)
        return state.withLock { state in
            guard !state.isClosed else { return true }
            guard state.journal.journal === journal, state.version == request.version else { return false }
            install(replay, over: fileContents, base.reading, written, (contents, changes), &state, &effects)
            settle(base, &state, &effects)
            return true
        }
    }

    /// Reads the records that are not in the file.
    ///
    /// - Returns: `nil` when the file has to be read again first, because it was replaced or a new epoch has begun.
    private func replay(
        _ journal: Journal,
        _ request: ReloadRequest,
        _ wrongLooks: inout Int,
        _ effects: inout Effects
    ) -> Journal.Replay? {
        do {
            if let facts = request.facts, let replay = try journal.replay(from: facts) {
                state.withLock { $0.journal.unreadable = nil }
                return replay
            }
            // Records that are invalid while nothing changes are damaged. A checkpoint, or a process that is writing,
            // changes one of these.
            guard journal.isAlive, journal.current?.epoch == request.facts,
                journal.published.word == request.published
            else {
                wrongLooks = 0
                return nil
            }
            wrongLooks += 1
            guard wrongLooks >= Self.mostWrongLooks else { return nil }
            reportDamage(journal, &effects)
            return try journal.salvage()
        } catch {
            // The values in memory remain in use. The next read tries again.
            return state.withLock { state in
                reportUnreadable(error, &state, &effects)
                let known = state.journal.journaled.map { key, end in
                    JournalRecord(values: [key: state.contents[key]], end: Int(end))
                }
                return Journal.Replay(
                    records: known,
                    position: state.journal.position,
                    salt: state.journal.salt,
                    // This word is never published, so the next read asks for the records again.
                    word: 0,
                    isWhole: true
                )
            }
        }
    }

    /// Makes the contents of a file and a journal visible.
    private func install(
        _ replay: Journal.Replay,
        over base: [String: StoredValue],
        _ reading: SettingsFile.Reading?,
        _ written: WrittenValues,
        _ found: (contents: [String: StoredValue], changes: [StoreChange]),
        _ state: inout State,
        _ effects: inout Effects
    ) {
        var (contents, changes) = found
        let old = state.journal
        var journaled: [String: UInt32] = [:]
        for record in replay.records {
            for key in record.values.keys { journaled[key] = UInt32(record.end) }
        }
        var others: [String: StoredValue?] = [:]
        let hasFacts = state.journal.journal.flatMap { JournalHeader.epoch(in: $0.page) } != nil
        if !replay.isWhole || old.isDamaged, old.position.epoch == replay.position.epoch || !hasFacts {
            // What this process knows to be committed is not lost with its record. A journal that is whole again may be an
            // older copy with new records.
            for (key, end) in old.journaled where replay.isWhole ? journaled[key] ?? 0 < end : journaled[key] == nil {
                others.updateValue(state.contents[key], forKey: key)
                journaled[key] = end
            }
        }
        let isUnwritten = replay.isWhole && !others.isEmpty
        for (key, value) in old.stranded?.values ?? [:] {
            // What other processes have set since is newer, in the journal or in the file.
            guard journaled[key] == nil, isUnchanged(key, in: base, reading, written, state) else {
                state.journal.stranded?.values.removeValue(forKey: key)
                continue
            }
            others.updateValue(value, forKey: key)
            journaled[key] = replay.position.end
        }
        if !others.isEmpty {
            changes.removeAll { others[$0.key] != nil }
            for (key, value) in others {
                contents[key] = value
                changes.append(StoreChange(key: key, old: state.contents[key], new: value))
            }
            changes.sort { $0.key < $1.key }
        }
        (state.journal.position, state.journal.salt) = (replay.position, replay.salt)
        state.journal.seen = replay.word
        state.journal.journaled = journaled
        state.journal.isDamaged = !replay.isWhole || isUnwritten
        state.fileValues = [:]
        for key in journaled.keys { state.fileValues.updateValue(base[key], forKey: key) }
        if !journaled.isEmpty { effects.isCheckpointDue = true }
        if isUnwritten { effects.needsRepair = true }
        publish(changes, .external, &state, &effects, contents)
    }

    /// Whether the file has the same value under a key as when it was read last.
    private func isUnchanged(
        _ key: String,
        in base: [String: StoredValue],
        _ reading: SettingsFile.Reading?,
        _ written: WrittenValues,
        _ state: State
    ) -> Bool {
        switch written {
        case .all: return true
        case .these(let values) where base[key] == values[key]: return true
        case .these, .unknown: break
        }
        if let value = state.fileValues[key] { return base[key] == value }
        return reading?.status == state.reading?.status
    }

    /// Values of the file that are older than those that were committed to a lost journal and are not in the file.
    private enum WrittenValues {
        case all
        case these([String: StoredValue])
        case unknown
    }

    private func written(_ base: ReloadBase, _ journal: Journal) -> WrittenValues {
        // Where nothing could be read, nothing is known to have changed.
        guard base.contents != nil else { return .all }
        guard let checkpoint = state.withLock({ $0.journal.stranded?.checkpoint }) else { return .unknown }
        if checkpoint.hasPlaced(base.reading?.status) { return .all }
        return checkpoint.lastGoodCopy(in: file, journal).map { .these($0) } ?? .unknown
    }
}

/// The last checkpoint through a journal that is lost.
///
/// Values that were committed to that journal, and that no checkpoint had written, are newer than those that this checkpoint
/// has written. Without it, these could be taken for an edit: a process that has not read the file since knows older ones.
struct LastCheckpoint {
    private var placed: PlacedFile?
    private var change: UInt64
    /// The inode of the last good copy; `nil` when the journal's header is lost.
    private var lastGoodInode: UInt64?
    /// Whether the last good copy is another checkpoint's once the new journal has seen one.
    private var isOtherJournal: Bool

    /// - Parameters:
    ///   - journal: The journal that is lost, or whose records are.
    ///   - new: The journal in its place, if it is another one.
    init?(through journal: Journal, before new: Journal? = nil) {
        isOtherJournal = new != nil
        if journal.isAlive {
            (placed, change) = (PlacedFile(in: journal.page), PlacedFile.change(in: journal.page))
            lastGoodInode = journal.page[JournalHeader.lastGoodWord]
        } else {
            // Its header was truncated. A journal in another file may have come after others.
            guard let new, new.isSameFile(as: journal) else { return nil }
            (placed, change, lastGoodInode) = (nil, 0, nil)
        }
    }

    /// Whether a file is the one that the checkpoint has put in place.
    func hasPlaced(_ status: FileStatus?) -> Bool {
        placed?.isUnchanged(status, since: change) ?? false
    }

    /// What the checkpoint has written, if a copy of it is left.
    func lastGoodCopy(in file: SettingsFile, _ journal: Journal) -> [String: StoredValue]? {
        guard !isOtherJournal || journal.page[JournalHeader.checkpointedWord] == 0 else { return nil }
        do {
            if let lastGoodInode {
                let path = try SettingsPath.target(of: file.path, file.system).adding(SettingsFile.lastGoodSuffix)
                let status = try file.system.status(at: path, followingLinks: false)
                guard status?.inode == lastGoodInode else { return nil }
            }
            return try file.readLastGood()
        } catch {
            // Without a copy, a value that differs counts as edited.
            return nil
        }
    }
}
