// SPDX-License-Identifier: Apache-2.0

/// Notifies a handler when some paths may lead to other files, or to changed ones.
///
/// It watches every directory that the paths lead through, for the name that comes next, and the files at their ends. So it
/// notices a file that is written in place, replaced, removed or created, a directory that appears later, and a link that is
/// replaced anywhere in a path. All watches of one directory share one watch of the system.
struct PathWatch: Sendable {
    /// A directory and names in it, or a file.
    private struct Subject: Hashable {
        var path: FilePath
        var names = DirectoryWatcher.Names()
    }

    private let system: SystemCalls
    private let handler: DirectoryWatcher.Handler
    private var watches: [Subject: DirectoryWatcher.Watch] = [:]

    /// Starts to watch.
    ///
    /// A change after the return of this initializer is reported, or is visible to the caller.
    ///
    /// - Parameters:
    ///   - places: The absolute paths of the files, and of the directories all of whose names matter.
    ///   - system: The system calls to use.
    ///   - handler: Called on the thread that all suites share.
    /// - Throws: ``SystemError`` if the system has no such events, its limit of watches is reached, or a directory cannot be
    ///   watched.
    init(
        _ places: LayerLoader.Places,
        _ system: SystemCalls,
        handler: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.system = system
        self.handler = { _ in handler() }
        for path in places.directories {
            guard let directory = try follow(path), try system.status(at: directory)?.isDirectory == true else {
                continue
            }
            try watch(Subject(path: directory, names: DirectoryWatcher.Names(isEveryName: true)))
        }
        for path in places.files {
            guard let file = try follow(path), try system.status(at: file)?.isRegular == true else { continue }
            // It can be changed through another directory: a mount point, or a file with several names.
            try watch(Subject(path: file))
        }
    }

    /// Watches everything that a path leads through.
    ///
    /// Each directory is watched before the next name is looked up in it, so that no change is missed.
    ///
    /// - Returns: The path without links; `nil` if nothing is there.
    private mutating func follow(_ path: FilePath) throws(SystemError) -> FilePath? {
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
            let names = DirectoryWatcher.Names(files: [name.bytes])
            refusal = try watch(Subject(path: directory, names: names), isAncestor: !rest.isEmpty)
            let status: FileStatus?
            do {
                status = try system.status(at: next, followingLinks: false)
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
            guard links <= SettingsPath.mostLinks else { return nil }
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
        let all = Subject(path: subject.path, names: DirectoryWatcher.Names(isEveryName: true))
        guard watches[subject] == nil, watches[all] == nil else { return nil }
        do {
            watches[subject] = try DirectoryWatcher.shared
                .watch(subject.path, for: subject.names, withoutWrites: isAncestor, system, handler: handler)
        } catch  where error.number == Errno.noSuchFileOrDirectory {
            // It was removed a moment ago, which a watch of its parent reports.
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
        [Errno.permissionDenied, Errno.notPermitted, Errno.notDirectory, Errno.noSuchFileOrDirectory].contains(number)
    }
}
