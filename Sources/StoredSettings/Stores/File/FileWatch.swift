// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Sees to it that a file is looked at whenever it may have changed.
///
/// What is watched are directories, that of the path and that of the file it leads to, and the file itself. Where they
/// cannot be watched, or are gone, it has the file looked at every so often, and tries again to watch them.
final class FileWatch: Sendable {
    private struct State {
        var watches: [DirectoryWatcher.Watch] = []
        /// Whether the file is looked at every so often.
        var isPolling = false
        var isPollScheduled = false
        /// Whether a thread handles events.
        var isBusy = false
        /// Whether there are events to be handled, and then whether more than the journal's records may have changed.
        var event: Bool?
    }

    /// How long to wait, in seconds, when the journal was written to and had nothing new: a record is written a moment
    /// before it is published.
    private static let moment = 0.002

    private let file: SettingsFile
    private let look: @Sendable (_ isFileChanged: Bool) -> Bool
    private let state = Locked(State())
    private let isLookScheduled = Atomic(false)
    private let forks = Forks.count

    /// - Parameters:
    ///   - file: The file.
    ///   - look: Looks at the journal alone, or at the file too, and tells whether there was anything new.
    init(_ file: SettingsFile, look: @escaping @Sendable (_ isFileChanged: Bool) -> Bool) {
        self.file = file
        self.look = look
    }

    /// Whether this is the watch of the process that this one was forked from, which notices nothing here.
    var isInherited: Bool { forks != Forks.count }

    /// Begins to watch.
    ///
    /// - Parameter makingDirectories: Whether to make the directory if it is not there, so that it can be watched.
    func start(makingDirectories: Bool) {
        do {
            guard makingDirectories else { return arm() }
            try file.system.makeDirectories(SettingsPath.target(of: file.path, file.system).directory)
        } catch {
            // Then the directory is looked for every so often, as when it is removed later.
        }
        arm()
    }

    /// Watches the directories that the path leads through now.
    private func arm() {
        do {
            let target = try SettingsPath.target(of: file.path, file.system)
            var watches = try Set([file.path, target].map(\.directory))
                .map { try watch($0, for: names(in: $0, target)) }
            // One that is mounted alone is changed in another directory, whose events are not those of this one.
            if try file.system.status(at: target)?.isRegular == true {
                watches.append(try watch(target, for: DirectoryWatcher.Names()))
            }
            let ended = state.withLock { state in
                state.isPolling = false
                defer { state.watches = watches }
                return state.watches
            }
            // Watches end outside the lock, since that takes the watcher's. Those of the same directory go on.
            _ = consume ended
        } catch {
            // Nothing is lost: changes are noticed a little later.
            poll()
        }
    }

    /// The names in a directory that the path leads through: that of the file, or of a link or directory on the way to
    /// it, and that of the journal.
    ///
    /// Another file in the same directory may be written to all the time, and must cost nothing.
    private func names(in directory: FilePath, _ target: FilePath) -> DirectoryWatcher.Names {
        let names = [file.path, target].compactMap { $0.component(in: directory)?.bytes }
        let isTargets = target.directory == directory
        let journal = isTargets ? target.name.adding(SettingsFile.journalSuffix).bytes : nil
        return DirectoryWatcher.Names(files: Set(names), journal: journal)
    }

    private func watch(_ path: FilePath, for names: DirectoryWatcher.Names) throws -> DirectoryWatcher.Watch {
        try DirectoryWatcher.shared.watch(path, for: names, file.system) { [weak self] in
            self?.notice(isChanged: $0)
        }
    }

    /// Has one thread at a time handle what has happened: reading may take long, and other suites need threads, too.
    private func notice(isChanged: Bool) {
        let isFirst = state.withLock { state in
            state.event = isChanged || state.event == true
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if isFirst { WorkScheduler.shared.soon { [weak self] in self?.handleEvents() } }
    }

    private func handleEvents() {
        while let isChanged = takeEvent() { handleEvent(isChanged: isChanged) }
    }

    private func takeEvent() -> Bool? {
        state.withLock { state in
            defer { state.event = nil }
            state.isBusy = state.event != nil
            return state.event
        }
    }

    private func handleEvent(isChanged: Bool) {
        if isChanged { arm() }
        guard !look(isChanged), !isChanged, !isLookScheduled.exchange(true, ordering: .relaxed) else { return }
        WorkScheduler.shared.after(Self.moment) { [weak self] in
            self?.isLookScheduled.store(false, ordering: .relaxed)
            _ = self?.look(false)
        }
    }

    private func poll() {
        let ended = state.withLock { state in
            defer { (state.watches, state.isPolling) = ([], true) }
            return state.watches
        }
        _ = consume ended
        pollLater()
    }

    private func pollLater() {
        let isFirst = state.withLock { state in
            defer { state.isPollScheduled = true }
            return !state.isPollScheduled
        }
        guard isFirst else { return }
        WorkScheduler.shared.after(FileStore.lookInterval) { [weak self] in
            guard let self else { return }
            state.withLock { $0.isPollScheduled = false }
            // A watch that fails again polls again.
            if state.withLock({ $0.isPolling }) { notice(isChanged: true) }
        }
    }
}
