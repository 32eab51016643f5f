// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "Writers take turns with a word of shared memory".

import Synchronization

/// The lock with which the writers of a journal take turns: a word of its header.
///
/// Acquiring a free lock is one atomic operation. A process that finds the lock held sleeps until the holder wakes it.
///
/// The word contains the *token* of the holder: the number of a byte of the file that the holder keeps locked while it has
/// the journal open. The system releases the lock of the byte when the process ends, in whatever way. So a process that
/// waits can tell a dead holder from a slow one, even in another PID namespace, and takes the lock over.
///
/// The lock is not fair by itself: a process that sets values without a pause would acquire it again and again. A process
/// that has waited for ``starvationTime`` claims the next turn, unless one that has waited longer has claimed it. The holder
/// hands the lock over to that process alone, and the others let it go first.
///
/// A lock of the kernel (see ``FileLock``) protects a journal that is being created.
package final class JournalLock: Sendable {
    private let page: SharedPage
    private let file: FileHandle
    private let system: SystemCalls
    /// The token with which this object locks the journal; 0 before it does so for the first time.
    private let token = Atomic<UInt64>(0)
    /// The number of threads that hold the lock with this token, or are acquiring it.
    private let holds = Atomic(0)
    /// This process, as the header names it.
    private let identity = Locked<LockHolder?>(nil)

    /// The bits of the token.
    private static let tokenMask: UInt64 = 1 << 30 - 1
    /// Set while processes sleep.
    static let awaitedBit: UInt64 = 1 << 31
    /// Set in a claim when the lock was released for the process that has claimed it.
    private static let grantedBit: UInt64 = 1 << 31
    /// The upper half counts how often the lock was acquired.
    private static let oneAcquisition: UInt64 = 1 << 32
    private static let stateMask: UInt64 = oneAcquisition - 1
    /// The offset of the byte of token 0, far behind the end of any journal.
    private static let firstByte = 1 << 40

    /// How often to look at a held lock before the thread sleeps: the holder usually releases it within a microsecond.
    private static let spinCount = 100
    /// How long a process waits before it claims the next turn.
    static let starvationTime = Duration.milliseconds(4)
    /// How long the others leave a free lock to the process that has claimed it, in steps and seconds per step.
    private static let (yieldSteps, yieldStep) = (20, 0.000_05)
    /// How long the lock must not have changed hands before a waiting process checks whether the holder exists.
    private static let holderCheckTime = Duration.milliseconds(5)
    /// The same until it also looks for the process, which takes several system calls.
    private static let processCheckTime = Duration.milliseconds(50)

    init(_ page: SharedPage, _ file: FileHandle, _ system: SystemCalls) {
        (self.page, self.file, self.system) = (page, file, system)
    }

    /// Whether a process holds the lock; the process may have died.
    package var isHeld: Bool { page[.lock] & Self.tokenMask != 0 }

    /// Whether this object has locked the journal before, which it then does without a system call.
    var hasToken: Bool { token.load(ordering: .relaxed) != 0 }

    /// Increases whenever a process acquires the lock.
    package var acquisitions: UInt64 { page[.lock] / Self.oneAcquisition }

    /// Whether the process that holds the lock has ended; `nil` if no process holds it.
    package var isHolderDead: Bool? {
        get throws {
            let word = page[.lock]
            return word & Self.tokenMask == 0 ? nil : try hasHolderDied(word)
        }
    }

    /// Whether another program has locked the file, so that no further process can take part.
    ///
    /// The byte of token 0 belongs to no process.
    package var isBlocked: Bool {
        get throws { try system.isLocked(byteAt: Self.firstByte, of: file) }
    }

    /// The process that holds the lock, if it has recorded itself.
    package var holder: LockHolder? {
        let token = page[.lock] & Self.tokenMask
        guard token != 0, page[.writerToken] == token else { return nil }
        let holder = LockHolder(of: .writer, in: page)
        // The token is stored last, so the words belong together if it has not changed.
        return page[.writerToken] == token ? holder : nil
    }
}

// MARK: - Acquiring

extension JournalLock {
    /// Acquires the lock if it is free, or about to be, and no other process has waited for long.
    ///
    /// - Returns: Whether it is acquired.
    /// - Throws: ``SystemError`` if the file cannot be locked.
    @inline(__always)
    func acquireIfFree() throws(SystemError) -> Bool {
        // No system call is made. A test can make this one fail like any other.
        _ = try system.call(.lock, file.path) { 0 }
        var token = token.load(ordering: .relaxed)
        if token == 0 {
            guard let new = try claimToken() else { return false }
            token = new
        }
        for _ in 0..<Self.spinCount {
            let word = page[.lock]
            guard word & Self.stateMask == 0 else { continue }
            let claim = page[.claim]
            guard claim == 0 || claim & Self.tokenMask == token else { return false }
            if take(word, token: token, isAwaited: false) { return true }
        }
        return false
    }

    /// Acquires the lock.
    ///
    /// - Parameter timeout: How long to wait while no other process makes progress.
    /// - Returns: Whether the last holder may have died.
    /// - Throws: ``SystemError``, or ``SettingsError`` if another process does not release the lock.
    func acquire(_ timeout: LockTimeouts) throws -> Bool {
        if try acquireIfFree() { return false }
        var turn = Turn()
        // The process that has announced that it holds the lock and waits for the disk.
        let slowHolder = { [page] in LockHolder(of: .journal, in: page) }
        try FileLock.wait(
            for: file.path,
            timeout,
            clock: FileLock.Clock(sleep: { [self] _ in sleep() }),
            holder: slowHolder,
            name: { [self] in holder },
            progress: { [self] in acquisitions },
            attempt: { try tryAcquire(&turn) }
        )
        return turn.isTakenOver
    }

    /// Releases the lock.
    func release() {
        // Last: while a thread holds the lock, no other thread of this process may take it over.
        defer { holds.subtract(1, ordering: .releasing) }
        let token = token.load(ordering: .relaxed)
        var word: UInt64
        repeat {
            word = page[.lock]
            // If the file was truncated, another process may have begun a new journal in it, and hold its lock.
            guard word & Self.tokenMask == token else { return }
        } while !page.exchange(word, for: word & ~Self.stateMask, in: .lock)
        system.didUnlock(file.path)
        guard word & Self.awaitedBit != 0 else { return }
        let claim = page[.claim]
        if claim != 0, page.exchange(claim, for: claim | Self.grantedBit, in: .claim) {
            // Few processes sleep there: those whose claims were replaced.
            SystemCalls.wake(waitersOnWordAt: page.address(of: .claim), all: true)
        } else {
            SystemCalls.wake(waitersOnWordAt: page.address(of: .lock), all: false)
        }
    }

    @inline(__always)
    private func take(_ word: UInt64, token: UInt64, isAwaited: Bool) -> Bool {
        let new = (word & ~Self.stateMask) &+ Self.oneAcquisition | token | (isAwaited ? Self.awaitedBit : 0)
        // First, so that no other thread takes over what this one has just acquired.
        holds.add(1, ordering: .sequentiallyConsistent)
        guard page.exchange(word, for: new, in: .lock) else {
            holds.subtract(1, ordering: .releasing)
            return false
        }
        let claim = page[.claim]
        if claim & Self.tokenMask == token {
            _ = page.exchange(claim, for: 0, in: .claim)
        }
        if page[.writerToken] != token { recordHolder(token) }
        return true
    }

    /// Records which process holds the lock, for messages and for processes that wait.
    private func recordHolder(_ token: UInt64) {
        page[.writerToken] = 0
        identity.withLock { identity in
            guard let identity else { return }
            identity.store(as: .writer, in: page)
            page[.writerToken] = token
        }
    }

    /// Chooses a token that no other process has.
    ///
    /// - Returns: The token; `nil` if its byte is locked. If that happens again, another program has locked the whole file.
    private func claimToken() throws(SystemError) -> UInt64? {
        let new = UInt64.random(in: 1...Self.tokenMask)
        guard try system.tryLock(byteAt: Self.firstByte + Int(new), of: file) else { return nil }
        identity.withLock { identity in
            if identity == nil { identity = .current }
        }
        // Another thread may have been faster. Its token is used, and the lock of this byte means nothing.
        let (isFirst, known) = token.compareExchange(expected: 0, desired: new, ordering: .relaxed)
        return isFirst ? new : known
    }
}

// MARK: - Waiting

extension JournalLock {
    /// What a process knows while it waits.
    private struct Turn {
        let start = ContinuousClock.now
        /// The same in milliseconds, as all processes count them.
        let startTime = UInt32(truncatingIfNeeded: SystemCalls.coarseTime() / 1_000_000)
        /// The word that the process has seen last, and since when it has not changed.
        var word: UInt64 = 0
        var since = ContinuousClock.now
        /// Whether the lock is that of a holder that has died.
        var isTakenOver = false
    }

    /// Tries to acquire the lock for a process that has slept.
    private func tryAcquire(_ turn: inout Turn) throws -> Bool {
        if try acquireIfFree() { return true }
        let token = token.load(ordering: .relaxed)
        guard token != 0 else { return false }
        let now = ContinuousClock.now
        if now - turn.start >= Self.starvationTime { claimNextTurn(token, since: turn.startTime) }
        yieldToClaim(token)
        let word = page[.lock]
        // Others may sleep as well, and only a holder that knows of them wakes them.
        if word & Self.stateMask == 0 { return take(word, token: token, isAwaited: true) }
        if word & ~Self.awaitedBit != turn.word {
            (turn.word, turn.since) = (word & ~Self.awaitedBit, now)
        } else if now - turn.since >= Self.holderCheckTime, try hasHolderDied(word, for: now - turn.since) {
            // It may have released the lock since.
            guard take(word, token: token, isAwaited: true) else { return false }
            // It may have died anywhere.
            turn.isTakenOver = true
            return true
        }
        return false
    }

    /// Claims the next turn, unless a process that has waited longer has claimed it.
    private func claimNextTurn(_ token: UInt64, since time: UInt32) {
        let known = page[.claim]
        let isEarlier = Int32(bitPattern: time &- UInt32(truncatingIfNeeded: known >> 32)) < 0
        guard known == 0 || known & Self.tokenMask != token && isEarlier else { return }
        _ = page.exchange(known, for: UInt64(time) << 32 | token, in: .claim)
    }

    /// Leaves a free lock to the process that has claimed it, unless that takes no notice.
    private func yieldToClaim(_ token: UInt64) {
        let claim = page[.claim] & ~Self.grantedBit
        guard claim != 0, claim & Self.tokenMask != token else { return }
        for _ in 0..<Self.yieldSteps {
            guard page[.claim] & ~Self.grantedBit == claim, !isHeld else { return }
            SystemCalls.sleep(seconds: Self.yieldStep)
        }
        // It was stopped or has died.
        for known in [claim, claim | Self.grantedBit] {
            _ = page.exchange(known, for: 0, in: .claim)
        }
    }

    /// Sleeps until the holder releases the lock, or hands it over, or the holder has to be checked.
    private func sleep() {
        // No process wakes one that could not lock its byte.
        guard hasToken else { return SystemCalls.sleep(seconds: 0.001) }
        let word = page[.lock]
        guard word & Self.stateMask != 0 else { return }
        let awaited = word | Self.awaitedBit
        guard word == awaited || page.exchange(word, for: awaited, in: .lock) else {
            return
        }
        let claim = page[.claim]
        let hasClaimed = claim & Self.tokenMask == token.load(ordering: .relaxed)
        guard !hasClaimed || claim & Self.grantedBit == 0 else { return }
        SystemCalls.wait(
            onWordAt: page.address(of: hasClaimed ? .claim : .lock),
            while: UInt32(truncatingIfNeeded: hasClaimed ? claim : awaited),
            seconds: Self.holderCheckTime / .seconds(1)
        )
    }

    /// Whether the process that the lock names has ended, or does not hold it.
    ///
    /// - Parameters:
    ///   - word: The word of the lock.
    ///   - time: Since when it has not changed.
    /// - Returns: Whether the lock can be taken over.
    /// - Throws: ``SystemError`` if the file cannot be examined.
    private func hasHolderDied(_ word: UInt64, for time: Duration = processCheckTime) throws -> Bool {
        // A forked child may still have the file open. It does not hold the lock of its parent.
        if time >= Self.processCheckTime, let holder, holder.hasEnded,
            page[.lock] & Self.tokenMask == word & Self.tokenMask
        {
            return true
        }
        // If no thread holds the lock with the token of this object, another program has written a copy of the journal into the
        // file.
        if word & Self.tokenMask == token.load(ordering: .relaxed) {
            return holds.load(ordering: .sequentiallyConsistent) == 0
        }
        return try !system.isLocked(byteAt: Self.firstByte + Int(word & Self.tokenMask), of: file)
    }
}

// MARK: - Locking and recovering

/// A commit that could not lock the journal in time.
struct LockFailure {
    let time: ContinuousClock.Instant
    let error: SettingsError
}

/// Locks the journal, so that no other process can change it, and recovers it.
///
/// The caller holds ``FileStore/writer``.
struct JournalLocker {
    let store: FileStore
    private let timeout: LockTimeouts
    /// Whether to replace a journal that the disk failed to write in part.
    let mustBeTrusted: Bool

    private var file: SettingsFile { store.file }

    /// How often a journal may be gone when it is locked, before the commit fails.
    private static let mostJournals = 100
    /// How often to read the file for one commit before the commit fails.
    private static let mostReloads = 4

    init(_ store: FileStore, timeout: LockTimeouts, mustBeTrusted: Bool) {
        (self.store, self.timeout, self.mustBeTrusted) = (store, timeout, mustBeTrusted)
    }

    /// Locks the journal, replays all its records, and recovers it.
    ///
    /// No other process can change it until it is unlocked.
    ///
    /// - Parameters:
    ///   - failure: The last failure to lock the journal.
    ///   - effects: Receives what to do afterwards.
    /// - Returns: The journal, locked.
    /// - Throws: ``SettingsError`` if it cannot be locked or used.
    func lock(_ failure: inout LockFailure?, _ effects: inout Effects) throws -> Journal {
        do {
            return try lock(&effects)
        } catch {
            let error = store.file.writeError(error)
            // Other threads need not wait as long again.
            if error.code == .lockTimedOut { failure = LockFailure(time: .now, error: error) }
            throw error
        }
    }

    private func lock(_ effects: inout Effects) throws -> Journal {
        var mustOpen = false
        for _ in 0..<Self.mostJournals {
            let journal = try writableJournal(mustOpen: mustOpen, &effects)
            // This comes before the lock: other processes should not wait while this one reads a file.
            store.reloadIfDue(&effects)
            guard journal.isAlive, journal.file.isOpen else {
                // Locking it would change the other file that was written into its place, or another file of the program.
                mustOpen = true
                continue
            }
            try journal.acquireLock(timeout)
            // A process that recorded itself as the holder was killed before it released the lock.
            if LockHolder(of: .journal, in: journal.page) != nil {
                LockHolder.remove(as: .journal, from: journal.page)
            }
            do {
                // The path may lead to another file by now, which later writers lock instead.
                let place = try journal.place(at: store.peek { $0.journal.path }, isLocked: true)
                mustOpen = place == .elsewhere
                // Another file would meet the same shortage.
                if mustOpen { try journal.checkSpace() }
                if let current = try recover(journal, place, &effects) {
                    if current !== journal { journal.unlock() }
                    return current
                }
            } catch {
                journal.unlock()
                throw error
            }
            journal.unlock()
        }
        throw SystemError(call: .open, path: file.path, number: Errno.resourceTemporarilyUnavailable)
    }

    /// Replays all records of a locked journal, and recovers or replaces it.
    ///
    /// - Returns: The journal at the path, locked: another one if it was replaced. `nil` when this one is not at the
    ///   path.
    private func recover(_ journal: Journal, _ place: Journal.Place, _ effects: inout Effects) throws -> Journal? {
        for attempt in 0..<Self.mostReloads {
            let mustReload = try store.withState(&effects) { state -> Bool? in
                guard !state.isClosed else { throw SettingsError.suiteFinished }
                state.refresh(lookingAtFile: place == .elsewhere)
                guard place != .elsewhere, state.journal.journal === journal else { return nil }
                guard state.reload != .everything else { return true }
                try state.recover(journal, isCut: place == .cut && attempt == 0)
                state.journal.notePlace()
                // Another process may have taken over the records that only this process knew of.
                return state.reload == .everything
            }
            guard let mustReload else { return nil }
            guard mustReload else { return try replaceIfDue(journal, &effects) }
            // The result of this reload cannot become outdated: a process that changes the journal needs its lock.
            FileReloader.run(.everything, store, &effects)
        }
        throw SystemError(call: .read, path: file.path, number: Errno.resourceTemporarilyUnavailable)
    }

    /// Returns the journal, and creates it if there is none.
    ///
    /// - Parameters:
    ///   - mustOpen: Whether the known journal is no longer at its path.
    ///   - effects: Receives what to do afterwards.
    /// - Returns: The journal.
    /// - Throws: ``SystemError`` or ``SettingsError`` if it cannot be opened or created.
    private func writableJournal(mustOpen: Bool, _ effects: inout Effects) throws -> Journal {
        let known = try store.withState(&effects) { state in
            guard !state.isClosed else { throw SettingsError.suiteFinished }
            if state.journal.journal == nil { state.refresh(lookingAtFile: true) }
            return state.journal.journal
        }
        // A lock that this process shares with its parent after a fork excludes no process, and must not be released
        // here.
        let isUsable = known?.isWritable == true && known?.isInherited == false && !mustOpen
        if let known, isUsable, store.schedule.hasCommitted.isSet { return known }
        // What follows accesses the disk, and may read the file.
        try WaitLimit.check()
        let path = try file.journalPath()
        store.withState(&effects) { $0.journal.path = path }
        try file.checkTarget(journal: path)
        try file.system.makeDirectories(path.directory)
        // A commit that no checkpoint could write to the file has to fail.
        try file.checkWritable()
        if let known, isUsable { return known }
        let (journal, isCut) = try Journal.openOrCreate(at: path, file.system)
        if isCut { effects.report(.cutJournal(path)) }
        try store.withState(&effects) { state in
            guard !state.isClosed else { throw SettingsError.suiteFinished }
            if state.adopt(journal) { state.requireReload() }
        }
        return journal
    }
}
