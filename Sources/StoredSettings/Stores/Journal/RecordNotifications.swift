// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "Short records are copied into shared memory".

import Synchronization

// How a process notices the records of other processes without reading.
//
// The system reports a write to the journal to the processes that watch its directory, but not a record that is copied
// into shared memory. So a process that watches sets a word of the header, and the process that appends the next record
// writes to the file as well. A process that may not set the word looks at the journal periodically.

extension Journal {
    /// Asks the processes that append records to notify this one of the next record.
    ///
    /// A record that was published before is visible after this call.
    fileprivate func requestNotification() {
        guard isWritable else { return }
        page.add(watcherID, toWord: JournalHeader.watchedWord)
    }

    /// Notifies the processes that have asked for it that a record was appended.
    ///
    /// This process needs no notification of its own records.
    func notifyWatchers() {
        // The record was published before the word is read.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let watcher = page[JournalHeader.watchedWord]
        guard watcher != 0, watcher != watcherID else { return }
        page[JournalHeader.watchedWord] = 0
        do {
            try system.write([1, 0, 0, 0, 0, 0, 0, 0], to: file, at: JournalHeader.notificationWord * 8)
        } catch {
            // The record is appended. The next one is notified again.
            page.add(watcher, toWord: JournalHeader.watchedWord)
        }
    }
}

extension FileStore {
    func watch() {
        schedule.hasSubscribers.store(true, ordering: .relaxed)
        startWatching()
        // A subscriber may only wait from now on, and do no work for the library.
        WorkScheduler.shared.startThreadIfStarved()
    }

    /// Notices changes by events from now on.
    func startWatching() {
        let isNeeded = peek { !$0.isClosed && ($0.watch?.isInherited ?? true) }
        // A first subscriber needs notifications at once.
        guard isNeeded else {
            guard let watch = peek({ $0.watch }), watch.isUnwatched else { return requestNotification() }
            watch.arm()
            look()
            return
        }
        let watch = PathWatch(file.system) { [file] in
            // The path of a process that has changed its root leads to the files of others.
            _ = try file.target()
            return PathWatch.Places(files: [file.path], hasJournals: true)
        } handler: { [weak self] isFileChanged in
            guard let self else { return }
            if isFileChanged { peek { $0.watch }?.arm() }
            look(isFileChanged: isFileChanged)
        }
        let inherited = state.withLock { state in
            guard state.watch?.isInherited ?? true, !state.isClosed else { return nil as PathWatch? }
            defer { state.watch = watch }
            return state.watch
        }
        _ = consume inherited
        watch.arm()
        // No event reports the changes between the last look and the start of the watch.
        look()
    }

    /// Looks at the file to find changes that subscribers wait for.
    ///
    /// A record that was written before it is published is not missed: this process has asked for a notification by then.
    ///
    /// - Parameter isFileChanged: Whether anything other than the journal's records may have changed.
    func look(isFileChanged: Bool = true) {
        let journal = peek { $0.journal.journal }
        requestNotification()
        // While no journal is known, a write to the file at its path may have completed it.
        if isFileChanged || journal == nil { storeVersion.mustLook() }
        guard !storeVersion.areContentsCurrent else { return }
        withCurrentState { _ in }
        if peek({ $0.journal.journal !== journal }) {
            // The header of another journal lacks the request.
            requestNotification()
            withCurrentState { _ in }
        }
    }

    /// Asks to be notified of the next record of another process.
    ///
    /// Without subscribers, it is sufficient to notice records some time later.
    private func requestNotification() {
        guard let journal = peek({ $0.watch == nil ? nil : $0.journal.journal }) else { return }
        let isUrgent = schedule.hasSubscribers.load(ordering: .relaxed)
        if isUrgent { journal.requestNotification() }
        guard schedule.isRequestScheduled.set() else { return }
        // A process that may not write to the journal cannot ask.
        let isPolling = isUrgent && !journal.isWritable
        let delay = isPolling ? CheckpointSchedule.pollInterval : CheckpointSchedule.requestDelay
        WorkScheduler.shared.after(delay) { [weak self] in
            guard let self else { return }
            // First: a request for a journal that replaces the one below is then scheduled again.
            schedule.isRequestScheduled.clear()
            guard let journal = peek({ $0.journal.journal }) else { return }
            journal.requestNotification()
            // A process may have appended a record meanwhile, and have died before it notified this one.
            if schedule.hasSubscribers.load(ordering: .relaxed)
                || journal.published.word != storeVersion.seenWord
            {
                look(isFileChanged: false)
            }
        }
    }
}
