// SPDX-License-Identifier: Apache-2.0

/// Looks at a file whenever it may have changed.
///
/// It watches the directory of the path, the directory of the link target, and the file itself. If they cannot be
/// watched, or do not exist, the store looks at the file periodically.
final class FileWatch: Sendable {
    private struct State {
        var watches: [DirectoryWatcher.Watch] = []
        /// Whether no event reports a change.
        var isUnwatched = false
        /// Whether a thread handles events.
        var isBusy = false
        /// The event to handle: `nil` for none, otherwise whether more than the journal's records may have changed.
        var event: Bool?
    }

    private let file: SettingsFile
    private let look: @Sendable (_ isFileChanged: Bool) -> Void
    private let state = Locked(State())
    private let arming = Locked(())
    private let forks = Forks.count

    /// - Parameters:
    ///   - file: The file.
    ///   - look: Looks at the journal, and also at the file if its argument is `true`.
    init(_ file: SettingsFile, look: @escaping @Sendable (_ isFileChanged: Bool) -> Void) {
        (self.file, self.look) = (file, look)
    }

    /// Whether a process that this one was forked from owns this watch.
    ///
    /// It receives no events here.
    var isInherited: Bool { forks != Forks.count }

    /// Whether no event reports a change to this process.
    var isUnwatched: Bool { isInherited || state.withLock { $0.isUnwatched } }

    /// Watches the file if that was not possible before.
    ///
    /// The caller then looks at the file.
    func retry() {
        if isUnwatched, !isInherited { arm() }
    }

    /// Starts to watch.
    ///
    /// - Parameter makingDirectories: Whether to create a missing directory, so that it can be watched.
    func start(makingDirectories: Bool) {
        do {
            guard makingDirectories else { return arm() }
            try file.system.makeDirectories(file.target().directory)
        } catch {
            // The store then looks periodically, as if the directory had been removed later.
        }
        arm()
    }

    /// Watches the directories that the path leads through now.
    ///
    /// One thread at a time, so that the newest watches remain.
    private func arm() {
        let ended = arming.withLock { _ in
            let watches = watches()
            return state.withLock { state in
                defer { (state.watches, state.isUnwatched) = (watches ?? [], watches == nil) }
                return state.watches
            }
        }
        // Watches end outside the locks, because that takes the watcher's lock. New watches of the same directory are not
        // affected.
        _ = consume ended
    }

    /// New watches; `nil` if the system does not allow them.
    private func watches() -> [DirectoryWatcher.Watch]? {
        do {
            let target = try file.target()
            var watches = try Set([file.path, target].map(\.directory))
                .map { try watch($0, for: names(in: $0, target)) }
            // If the file is a mount point, it is changed through another directory, whose events are not reported
            // here.
            if try file.system.status(at: target)?.isRegular == true {
                watches.append(try watch(target, for: DirectoryWatcher.Names()))
            }
            return watches
        } catch {
            // No change is lost. It is only noticed a little later.
            return nil
        }
    }

    /// The relevant names in a directory of the path: the file, a link or directory that leads to it, and the journal.
    ///
    /// Another program may write to other files in the same directory all the time, which must cost nothing.
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

    /// Lets one thread at a time handle events.
    ///
    /// The calling thread is that of all suites, and reading the file may take long.
    private func notice(isChanged: Bool) {
        let isFirst = state.withLock { state in
            state.event = isChanged || state.event == true
            defer { state.isBusy = true }
            return !state.isBusy
        }
        guard isFirst else { return }
        WorkScheduler.shared.soon { [weak self] in self?.handleEvents() }
    }

    private func handleEvents() {
        while let isChanged = takeEvent() {
            if isChanged { arm() }
            look(isChanged)
        }
    }

    private func takeEvent() -> Bool? {
        state.withLock { state in
            defer { state.event = nil }
            state.isBusy = state.event != nil
            return state.event
        }
    }
}
