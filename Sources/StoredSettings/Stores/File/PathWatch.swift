// SPDX-License-Identifier: Apache-2.0

/// Notifies its owner when paths may lead to other files, or to changed ones.
///
/// It watches every directory that the paths lead through, for the name that comes next, and the files at their ends. So it
/// notices a file that is written in place, replaced, removed or created, a directory that appears later or is renamed, and a
/// link that is replaced anywhere in a path. All watches of one directory share one watch of the system.
///
/// Where the system allows no watch, its owner looks periodically. No change is lost then. It is only noticed a little later.
final class PathWatch: Sendable {
    /// What is watched.
    struct Places: Equatable {
        /// The absolute paths of files.
        var files: Set<FilePath> = []
        /// The absolute paths of directories all of whose names matter.
        var directories: Set<FilePath> = []
        /// Whether the files have journals.
        var hasJournals = false
    }

    private struct State {
        /// `nil` while no event reports a change.
        var watches: [DirectoryWatcher.Watch]?
        /// Whether a thread handles events.
        var isBusy = false
        /// The event to handle: `nil` for none, otherwise whether more than the journal's records may have changed.
        var event: Bool?
    }

    /// The delay until the files of a suite are watched, in seconds.
    ///
    /// A short command must not spend time on a watch.
    static let delay = 1.0

    private let system: SystemCalls
    private let places: @Sendable () throws -> Places
    private let handler: DirectoryWatcher.Handler
    private let state = Locked(State())
    private let arming = Locked(())
    private let forks = Forks.count

    /// Creates a watch, which begins with ``arm()``.
    ///
    /// - Parameters:
    ///   - system: The system calls to use.
    ///   - places: Returns what to watch now.
    ///   - handler: Called by one thread at a time, which may take long. If more than journals may have changed, it calls
    ///     ``arm()`` before it looks at the files.
    init(
        _ system: SystemCalls,
        places: @escaping @Sendable () throws -> Places,
        handler: @escaping DirectoryWatcher.Handler
    ) {
        (self.system, self.places, self.handler) = (system, places, handler)
    }

    /// Whether a process that this one was forked from owns this watch.
    ///
    /// It receives no events here.
    var isInherited: Bool { forks != Forks.count }

    /// Whether no event reports a change to this process.
    var isUnwatched: Bool { isInherited || state.withLock { $0.watches == nil } }

    /// Watches what the paths lead through now.
    ///
    /// A change after this call is reported. The caller looks for earlier ones.
    ///
    /// One thread at a time, so that the newest watches remain.
    func arm() {
        guard !isInherited else { return }
        let ended = arming.withLock { _ in
            let watches = watches()
            return state.withLock { state in
                defer { state.watches = watches }
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
            var walk = Walk(system) { [weak self] in self?.notice(isChanged: $0) }
            try walk.watch(places())
            return Array(walk.watches.values)
        } catch {
            return nil
        }
    }

    /// Lets one thread at a time handle events.
    ///
    /// The calling thread is that of all suites, and reading the files may take long.
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
        while let isChanged = takeEvent() { handler(isChanged) }
    }

    private func takeEvent() -> Bool? {
        state.withLock { state in
            defer { state.event = nil }
            state.isBusy = state.event != nil
            return state.event
        }
    }
}

/// Follows paths, and watches everything that they lead through.
private struct Walk {
    /// A directory and names in it, or a file.
    struct Subject: Hashable {
        var path: FilePath
        var names = DirectoryWatcher.Names()
    }

    private let system: SystemCalls
    private let handler: DirectoryWatcher.Handler
    private(set) var watches: [Subject: DirectoryWatcher.Watch] = [:]

    init(_ system: SystemCalls, handler: @escaping DirectoryWatcher.Handler) {
        (self.system, self.handler) = (system, handler)
    }

    /// - Throws: ``SystemError`` if the system has no such events, its limit of watches is reached, or a directory cannot be
    ///   watched.
    mutating func watch(_ places: PathWatch.Places) throws(SystemError) {
        for path in places.directories {
            guard let directory = try follow(path), try system.status(at: directory)?.isDirectory == true else {
                continue
            }
            try watch(Subject(path: directory, names: DirectoryWatcher.Names(isEveryName: true)))
        }
        for path in places.files {
            guard let file = try follow(path, hasJournal: places.hasJournals),
                try system.status(at: file)?.isRegular == true
            else { continue }
            // It can be changed through another directory: a mount point, or a file with several names.
            try watch(Subject(path: file))
        }
    }

    /// Watches everything that a path leads through.
    ///
    /// Each directory is watched before the next name is looked up in it, so that no change is missed.
    ///
    /// - Returns: The path without links; `nil` if nothing is there.
    private mutating func follow(_ path: FilePath, hasJournal: Bool = false) throws(SystemError) -> FilePath? {
        var directory: FilePath = "/"
        var rest = path.components.filter { $0 != "." }
        var links = 0
        // The error of the directory itself, which cannot be listed.
        var refusal: SystemError?
        while !rest.isEmpty {
            let name = rest.removeFirst()
            if name == ".." {
                directory = directory.directory
                continue
            }
            let next = directory.appending(name)
            let parentRefusal = refusal
            let isAncestor = !rest.isEmpty
            let journal = hasJournal && !isAncestor ? name.adding(SettingsFile.journalSuffix).bytes : nil
            let names = DirectoryWatcher.Names(files: [name.bytes], journal: journal)
            refusal = try watch(Subject(path: directory, names: names), isAncestor: isAncestor)
            let status: FileStatus?
            do {
                status = try system.linkStatus(at: next)
            } catch {
                // A directory that may not be entered, which is reported when the file is read.
                // That it may be entered is an event of its parent.
                guard error.isAboutPath, parentRefusal == nil else { throw error }
                return nil
            }
            // No event would report that a link is replaced, or that something appears.
            if let refusal, status?.isLink ?? true { throw refusal }
            guard let status else { return nil }
            guard status.isLink else {
                directory = next
                continue
            }
            links += 1
            guard links <= FilePath.mostLinks else { return nil }
            let target = try system.target(ofLink: next)
            if target.isAbsolute { directory = "/" }
            rest = target.components.filter { $0 != "." } + rest
        }
        return directory
    }

    /// Watches a directory or a file.
    ///
    /// - Parameters:
    ///   - subject: The directory with the names, or the file.
    ///   - isAncestor: Whether the path leads through the name to others.
    /// - Returns: The error of an ancestor that can be passed through and not be listed; `nil` if it is watched.
    /// - Throws: ``SystemError`` if another directory cannot be watched.
    @discardableResult
    private mutating func watch(_ subject: Subject, isAncestor: Bool = false) throws(SystemError) -> SystemError? {
        guard watches[subject] == nil else { return nil }
        do {
            watches[subject] = try DirectoryWatcher.shared
                .watch(subject.path, for: subject.names, withoutWrites: isAncestor, system, handler: handler)
        } catch  where error.isAboutPath && (isAncestor || subject.names == DirectoryWatcher.Names()) {
            // A file, also one in the place of a directory, is watched by its parent.
            return error.number == Errno.notDirectory ? nil : error
        }
        return nil
    }
}

extension SystemError {
    /// Whether the path is the cause, and not a limit of the system.
    fileprivate var isAboutPath: Bool {
        [Errno.permissionDenied, Errno.notPermitted, Errno.notDirectory, Errno.noSuchFileOrDirectory]
            .contains(number)
    }
}
