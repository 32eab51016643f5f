// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension FileStore {
    /// Writes into the file what the journal has and the file has not.
    func fold() throws {
        look()
        if let problem = state.withLock({ $0.journal.problem }) { throw problem }
        // Where nothing was ever set there is nothing to fold, and nothing to be made for it.
        guard state.withLock({ $0.journal.journal != nil }) else { return }
        do {
            try fold(under: lockFolding(patience: FileLock.patience))
        } catch {
            throw writeError(error)
        }
    }

    /// Takes the lock that lets one process fold at a time.
    ///
    /// - Parameter patience: How long to wait while another process that has it gets nothing done.
    /// - Returns: The lock, which ends with the last reference to it.
    /// - Throws: ``SystemError``, or ``SettingsError`` when the other process does not let go of it.
    func lockFolding(patience: Duration) throws -> FileHandle {
        let lock = try openFoldingLock()
        try FileLock.acquire(lock, file.system, patience: patience) {
            state.withLock { $0.journal.journal?.current?.epoch.serial ?? 0 }
        }
        return lock
    }

    /// The same without waiting.
    ///
    /// - Returns: `nil` when another process has the lock.
    func tryToLockFolding() throws -> FileHandle? {
        let lock = try openFoldingLock()
        return try file.system.tryLock(lock) ? lock : nil
    }

    private func openFoldingLock() throws -> FileHandle {
        let path = try SettingsPath.target(of: file.path, file.system) + SettingsFile.lockSuffix
        // Reading is all that locking needs: a user who may not write the lock's file can still take turns. A FIFO in its
        // place must not keep everybody waiting for a writer.
        if let lock = try file.system.openIfPresent(path, O_RDONLY | O_NONBLOCK) { return lock }
        let lock = try file.system.open(path, O_RDONLY | O_CREAT | O_NONBLOCK, mode: SettingsFile.newFileMode)
        if let model = try file.status() { try file.system.copyPermissions(of: model, to: lock) }
        return lock
    }

    /// Folds until nothing has come in between.
    func fold(under lock: FileHandle) throws {
        // Not left to the end of the last reference: a process that was forked meanwhile has another one.
        defer { release(lock) }
        for _ in 0..<Self.mostPlans {
            waitUntilSettled()
            guard let plan = try makePlan() else { break }
            // The journal first: what is on the disk of it must not be behind the file.
            try plan.journal.synchronize()
            let draft = try file.draft(plan.contents, replacing: plan.status)
            if try carryOut(plan, draft) { break }
        }
    }

    /// How often to begin again because somebody has changed the file meanwhile, before it is left for later.
    private static let mostPlans = 20

    /// Waits while the file may be one that somebody is in the middle of writing.
    private func waitUntilSettled() {
        for _ in 0..<Int(Self.settlingTime / 0.01) * 2 {
            look()
            let isSettled = state.withLock { state in
                state.missingSince == nil && state.defect?.isPassing != true && state.reading?.isCertain != false
            }
            if isSettled { return }
            SystemCalls.sleep(seconds: 0.01)
        }
    }

    /// What is to be written, and what it was made of.
    private struct Plan {
        var journal: Journal
        var epoch: JournalEpoch
        var contents: [String: StoredValue]
        var status: FileStatus?
        /// The records before this are in the contents.
        var end: UInt32
    }

    /// - Returns: `nil` when the file has all that the journal has.
    private func makePlan() throws -> Plan? {
        try withJournalAlone { journal, state, news in
            refresh(&state, &news, lookingAtFile: true)
            guard state.journal.journal === journal, let epoch = journal.current?.epoch else {
                throw SystemError(call: .open, path: journal.file.path, number: EAGAIN)
            }
            if let defect = state.defect { throw defect.error }
            guard epoch.folded < state.journal.position.end else {
                try reuse(journal, epoch, &state)
                return nil
            }
            return Plan(
                journal: journal,
                epoch: epoch,
                contents: state.contents,
                status: state.reading?.status,
                end: state.journal.position.end
            )
        }
    }

    /// Puts the draft in its place, and then says so in the journal, once the disk has it.
    ///
    /// - Returns: `false` when the file was changed by somebody else since the plan was made.
    private func carryOut(_ plan: Plan, _ draft: SettingsFile.Draft) throws -> Bool {
        do {
            // Before the file takes its place, so that the copy is never older than a file that is broken later.
            try report("the file is written; should somebody break it, older values serve") {
                try file.keepLastGood(draft)
            }
            guard let reading = try place(draft, plan) else {
                file.discard(draft)
                return false
            }
            try allowOthers(reading, plan.journal)
            try file.synchronize(reading)
        } catch {
            file.discard(draft)
            throw error
        }
        try withJournalAlone { journal, state, _ in
            guard journal === plan.journal, var epoch = journal.current?.epoch, epoch.epoch == plan.epoch.epoch else {
                return
            }
            epoch.folded = max(epoch.folded, plan.end)
            journal.store(epoch)
            state.journal.dropFolded(upTo: epoch.folded)
        }
        // What is folded is not to be applied again after the disk has lost what follows.
        try plan.journal.synchronize()
        try withJournalAlone { journal, state, _ in
            guard journal === plan.journal, let epoch = journal.current?.epoch, epoch.epoch == plan.epoch.epoch else {
                return
            }
            try reuse(journal, epoch, &state)
        }
        return true
    }

    /// Lets those use the journal who may use the file.
    private func allowOthers(_ reading: SettingsFile.Reading, _ journal: Journal) throws(SystemError) {
        do {
            try file.system.copyPermissions(of: reading.status, to: journal.file)
        } catch {
            // Its owner does so with their next fold.
            guard error.number == EPERM else { throw error }
        }
    }

    /// - Returns: `nil` when the file is not the one that the draft was made of.
    private func place(_ draft: SettingsFile.Draft, _ plan: Plan) throws -> SettingsFile.Reading? {
        try withJournalAlone { journal, state, _ in
            guard journal === plan.journal, try file.status() == plan.status else { return nil }
            let reading = try file.place(draft)
            state.reading = reading
            state.missingSince = nil
            return reading
        }
    }

    /// Begins a new epoch at the front of the journal, whose records are in the file, on the disk too.
    private func reuse(_ journal: Journal, _ epoch: JournalEpoch, _ state: inout State) throws {
        let end = state.journal.position.end
        let front = UInt32(JournalHeader.size)
        var tail: [StoreChange] = []
        if end > epoch.folded {
            // New records have come. They are moved only when the file has become long, and there is room before them.
            guard Int(end) > schedule.journalBound, end - epoch.folded < epoch.folded / 2 else { return }
            tail = state.unfoldedChanges
        } else if end == front {
            return
        }
        let limit = tail.isEmpty ? 0 : epoch.folded
        let generation = try journal.begin(
            at: front,
            with: tail,
            folded: epoch.folded,
            previousEnd: end,
            limit: limit
        )
        if tail.isEmpty { journal.shorten() }
        state.journal.position = generation
        state.journal.seen = generation.word
        state.journal.unfolded = state.journal.unfolded.filter { $0.value > epoch.folded }
            .mapValues { _ in generation.end }
        freshness.update(journal.page, seen: generation.word, generation: state.generation)
    }

    /// Runs a body while this process alone may change the journal, and nobody here reads.
    private func withJournalAlone<Result>(
        _ body: (Journal, inout State, inout News) throws -> Result
    ) throws -> Result {
        var news = News()
        defer { deliver(news) }
        return try writer.withLock { failure in
            let journal = try beginAlone(&failure, &news)
            defer { unlock(journal) }
            return try state.withLock { try body(journal, &$0, &news) }
        }
    }

    private func report(_ consequence: String, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            var error = writeError(error)
            error.consequence = consequence
            deliver(News(errors: [error]))
        }
    }
}
