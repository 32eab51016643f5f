// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Settings-file.md, "Root does not leave a user's directory".

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

// Directories, symbolic links and access checks.

extension SystemCalls {
    /// Opens a directory, so that its files stay reachable if its path changes.
    ///
    /// Root follows a symbolic link of another user only to a directory of that user.
    ///
    /// - Returns: The directory.
    /// - Throws: ``SystemError``, with `ENOENT` if it does not exist, and with `ELOOP` for a link that is not followed.
    package func openDirectory(_ path: FilePath) throws(SystemError) -> FileHandle {
        #if os(Linux)
        let opened = try openDirectory(path, in: nil)
        guard Self.currentUser() == 0 else { return opened }
        var walk = DirectoryWalk(self)
        let reached = try walk.directory(at: path, in: nil)
        // The path for messages is the one that was asked for.
        return try duplicate(openDirectory(".", in: reached), path: path)
        #else
        return try openDirectory(path, in: nil)
        #endif
    }

    private func openDirectory(_ path: FilePath, in directory: FileHandle?) throws(SystemError) -> FileHandle {
        do {
            return try open(path, in: directory, O_RDONLY | O_DIRECTORY)
        } catch  where error.number == EACCES {
            // The process may enter the directory but not read it.
            return try open(path, in: directory, Self.pathOnly | O_DIRECTORY)
        }
    }

    /// Opens a place without a permission to read.
    #if canImport(Darwin)
    static let pathOnly = O_SEARCH
    #else
    /// `O_PATH`, which not every C library declares.
    static let pathOnly: CInt = 0o10_000_000
    #endif

    /// Returns the names in a directory.
    package func names(in directory: FileHandle) throws(SystemError) -> [FilePath] {
        // A new descriptor, because reading changes its position, and closing the stream closes it.
        let descriptor = try call(.open, ".", in: directory) { base, path in
            Self.newDescriptor { openat(base, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        }
        guard let stream = fdopendir(descriptor) else {
            let number = errno
            _ = close(descriptor)
            throw SystemError(call: .open, path: directory.path, number: number)
        }
        defer { closedir(stream) }
        var names: [FilePath] = []
        while let entry = readdir(stream) {
            // The entry, which contains the name, is valid until the next call. The name is copied here.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { break }
            let start = UnsafeRawPointer(entry).advanced(by: offset)
            names.append(FilePath(cString: start.assumingMemoryBound(to: CChar.self)))
        }
        return names.filter { $0 != "." && $0 != ".." }
    }

    /// Waits until the names in a directory would survive a loss of power, and returns whether that is possible.
    @discardableResult
    package func synchronizeDirectory(_ path: FilePath, in directory: FileHandle? = nil) throws(SystemError) -> Bool {
        do {
            try synchronize(open(path, in: directory, O_RDONLY | O_DIRECTORY))
            return true
        } catch  where [EINVAL, EACCES].contains(error.number) {
            // Some file systems can synchronize only files, and a directory that this process may enter need not be readable.
            return false
        }
    }

    /// Throws unless this process has permission to write to a file or directory.
    package func checkWritable(_ path: FilePath, in directory: FileHandle? = nil) throws(SystemError) {
        _ = try call(.access, path, in: directory) { faccessat($0, $1, W_OK, AT_EACCESS) }
    }

    /// Returns the path without symbolic links, `.` and `..`; `nil` when no file exists there.
    package func resolved(_ path: FilePath) throws(SystemError) -> FilePath? {
        var result: FilePath?
        do {
            _ = try call(.resolve, path) {
                guard let resolved = path.withCString({ realpath($0, nil) }) else { return -1 }
                // `realpath` returns allocated memory, which is copied and freed here.
                defer { free(resolved) }
                result = FilePath(cString: resolved)
                return 0
            }
        } catch  where error.number == ENOENT {
            return nil
        }
        return result
    }

    /// Returns the target of a symbolic link.
    package func target(ofLink path: FilePath) throws(SystemError) -> FilePath {
        try target(of: path) { characters, count in
            path.withCString { readlink($0, characters, count) }
        }
    }

    #if os(Linux)
    /// Returns the target of a symbolic link that is open itself.
    func target(ofOpenLink link: FileHandle) throws(SystemError) -> FilePath {
        try target(of: link.path) { readlinkat(link.descriptor, "", $0, $1) }
    }
    #endif

    private func target(
        of path: FilePath,
        _ read: (UnsafeMutablePointer<CChar>, Int) -> Int
    ) throws(SystemError) -> FilePath {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try call(.readLink, path) {
            buffer.withUnsafeMutableBytes { buffer in
                // The call writes at most `buffer.count` bytes.
                guard let start = buffer.baseAddress else { return 0 }
                return CInt(clamping: read(start.assumingMemoryBound(to: CChar.self), buffer.count))
            }
        }
        return FilePath(bytes: buffer.prefix(Int(count)))
    }
}

// The file system of a file.

#if os(Linux)
extension SystemCalls {
    /// Returns whether a file may be on an overlay file system, where it can be in a lower layer.
    ///
    /// The first process that opens such a file for writing copies it to the upper layer. After that, reading an open
    /// file returns the copy, but memory that was mapped before still shows the original.
    ///
    /// It is also `true` when the system does not say.
    func isOnOverlay(_ file: FileHandle) -> Bool {
        do {
            return try fileSystem(of: file).type == Self.overlayType
        } catch {
            return true
        }
    }

    /// A file system.
    package struct FileSystem {
        /// The number of its type, as in statfs(2).
        package let type: Int
        /// The space that this user may use, in bytes.
        package let freeSpace: Int
        /// The number of files that can be created; `nil` if the file system does not limit it.
        package let freeFiles: Int?
    }

    /// Returns the file system that contains a file.
    package func fileSystem(of file: FileHandle) throws(SystemError) -> FileSystem {
        // `struct statfs` has at most 120 bytes. It begins with machine words: the type, the size of a block, the numbers of
        // all, free and available blocks, and those of all and free files.
        var status = [Int](repeating: 0, count: 64)
        _ = try call(.status, file.path) { fileSystemStatus(file.descriptor, &status) }
        let (space, isTooLarge) = status[4].multipliedReportingOverflow(by: status[1])
        return FileSystem(
            type: status[0],
            // A file system in memory may report no sizes.
            freeSpace: isTooLarge || status[2] == 0 ? .max : space,
            freeFiles: status[5] == 0 ? nil : status[6]
        )
    }

    /// Returns whether not even root can change a file, or only append to it: see chattr(1).
    package func attributes(of file: FileHandle) throws(SystemError) -> (isImmutable: Bool, isAppendOnly: Bool) {
        var flags = 0
        // `FS_IOC_GETFLAGS`, which is the same number on all supported processors, fills at most the machine word.
        _ = try call(.status, file.path) { ioctl(file.descriptor, 0x8008_6601, &flags) }
        return (flags & 0x10 != 0, flags & 0x20 != 0)
    }

    /// The name of the file system of a directory, if it is one of those that may refuse to map files into shared memory.
    func fileSystemName(at directory: FilePath) -> String? {
        do {
            guard let handle = try openIfPresent(directory, Self.pathOnly | O_DIRECTORY) else { return nil }
            return Self.remoteTypes[try fileSystem(of: handle).type]
        } catch {
            return nil
        }
    }

    /// `OVERLAYFS_SUPER_MAGIC`: see statfs(2).
    private static let overlayType = 0x794C_7630
    /// `FUSE_SUPER_MAGIC`, also of virtiofs, and `V9FS_MAGIC`, also of drives in WSL.
    private static let remoteTypes = [0x6573_5546: "FUSE", 0x0102_1997: "9P"]
}

// Swift does not import the header of statfs(2).
@_silgen_name("fstatfs")
private func fileSystemStatus(_ descriptor: CInt, _ status: UnsafeMutablePointer<Int>) -> CInt
#else
extension SystemCalls {
    func isOnOverlay(_ file: FileHandle) -> Bool { false }

    func fileSystemName(at directory: FilePath) -> String? { nil }
}
#endif

// MARK: - Creating directories
// See Documentation/Decisions/Settings-file.md, "Root does not leave a user's directory".

// New directories.

extension SystemCalls {
    /// Creates a directory and its missing parents with mode 0700, so that they survive a loss of power.
    package func makeDirectories(_ path: FilePath) throws(SystemError) {
        do {
            try makeDirectory(path)
        } catch  where error.number == ENOENT {
            let parent = path.directory
            guard parent != "/", parent != path, parent != "." else { throw error }
            try makeDirectories(parent)
            try makeDirectory(path)
        }
    }

    private func makeDirectory(_ path: FilePath) throws(SystemError) {
        let path = path.withoutTrailingSlashes
        // Root follows the path once: a user can replace parts of it at any time. The root directory has no name.
        var parent: FileHandle?
        if Self.currentUser() == 0, path.namesFile { parent = try openDirectory(path.directory) }
        if let parent, try isGivenAway(in: parent) { return try makeDirectory(path.name, ofOwnerOf: parent) }
        let place = parent == nil ? path : path.name
        do {
            try makeDirectory(place, in: parent)
        } catch  where error.number == EEXIST {
            return
        }
        do {
            try synchronizeDirectory(parent == nil ? path.directory : ".", in: parent)
        } catch {
            // Remove the directory, so that the next attempt creates it again. An existing one would not be
            // synchronized.
            removeDirectory(place, in: parent)
            throw error
        }
    }

    /// Whether the directories that root creates in another one belong to the owner of that: that user's programs have to be
    /// able to use them.
    private func isGivenAway(in parent: FileHandle) throws(SystemError) -> Bool {
        let status = try status(of: parent)
        return status.owner != 0 && status.permissions & FileMode.otherWrite == 0
    }

    /// How often other processes may remove the draft of a directory.
    private static let mostDrafts = 16

    /// Creates a directory that belongs to the owner of its parent before it has its name.
    private func makeDirectory(
        _ name: FilePath,
        ofOwnerOf parent: FileHandle,
        attempts: Int = Self.mostDrafts
    ) throws(SystemError) {
        guard try linkStatus(at: name, in: parent) == nil else { return }
        // A process that was killed may have left one. If another process is still using it, that one begins again.
        for draft in try names(in: parent) where draft.isDraft(of: "directory") {
            removeDirectory(draft, in: parent)
        }
        var place = FilePath("directory").randomDraft()
        try makeDirectory(place, in: parent)
        do {
            try give(place, toOwnerOf: parent)
            do {
                try renameExclusively(place, to: name, in: parent)
                place = name
            } catch  where [EINVAL, ENOSYS, ENOTSUP, EPERM].contains(error.number) {
                // The file system, the C library or a sandbox does not support this.
                removeDirectory(place, in: parent)
                try makeDirectory(name, in: parent)
                place = name
                try give(place, toOwnerOf: parent)
            }
            try synchronizeDirectory(".", in: parent)
        } catch {
            // Also after the rename, so that the next attempt creates it again. An existing one would not be synchronized.
            removeDirectory(place, in: parent)
            // Another process has created it.
            guard error.number != EEXIST else { return }
            // Another process has removed the draft.
            guard error.number == ENOENT, attempts > 1 else { throw error }
            try makeDirectory(name, ofOwnerOf: parent, attempts: attempts - 1)
        }
    }

    /// Creates a directory with mode 0700, whatever the mask of the process is.
    package func makeDirectory(_ name: FilePath, in parent: FileHandle?) throws(SystemError) {
        _ = try call(.makeDirectory, name, in: parent) { mkdirat($0, $1, 0o700) }
        do {
            guard let new = try linkStatus(at: name, in: parent), new.isDirectory,
                new.permissions & FileMode.owner != FileMode.owner
            else { return }
            let mode = new.permissions | FileMode.owner
            _ = try call(.changeMode, name, in: parent) { fchmodat($0, $1, mode, AT_SYMLINK_NOFOLLOW) }
        } catch {
            removeDirectory(name, in: parent)
            throw error
        }
    }

    /// Removes a directory if it is empty.
    private func removeDirectory(_ name: FilePath, in parent: FileHandle?) {
        _ = name.withCString { unlinkat(parent?.descriptor ?? AT_FDCWD, $0, AT_REMOVEDIR) }
    }

    /// Gives a directory that root has created to the owner of its parent.
    ///
    /// The user may have put another directory in its place. Only an empty one of root is given away.
    private func give(_ name: FilePath, toOwnerOf parent: FileHandle) throws(SystemError) {
        let status = try status(of: parent)
        let directory = try open(name, in: parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard try self.status(of: directory).owner == 0, try names(in: directory).isEmpty else { return }
        _ = try mayGive(directory, to: status.owner, status.group, isNeeded: true)
    }
}

#if os(Linux)
/// Finds a directory component by component, so that root notices each symbolic link in its path.
///
/// A user must not be able to redirect the files that root creates and changes to the directory of another user. So a link
/// has to belong to root, or to the owner of the directory that it leads to. Each component is opened before it is looked at:
/// a user that replaces it meanwhile changes nothing.
struct DirectoryWalk {
    private let system: SystemCalls
    private var links = 0

    init(_ system: SystemCalls) {
        self.system = system
    }

    /// Opens a directory.
    ///
    /// - Returns: The directory, whose contents cannot be read through this handle.
    /// - Throws: ``SystemError``, with `ELOOP` for a link that is not followed.
    mutating func directory(at path: FilePath, in base: FileHandle?) throws(SystemError) -> FileHandle {
        var place = try open(path.isAbsolute ? "/" : ".", in: path.isAbsolute ? nil : base)
        for component in path.components {
            let next = try open(component, in: place)
            let status = try system.status(of: next)
            place = status.isLink ? try follow(next, status, in: place) : next
        }
        return place
    }

    private mutating func follow(
        _ link: FileHandle,
        _ status: FileStatus,
        in directory: FileHandle
    ) throws(SystemError) -> FileHandle {
        links += 1
        guard links <= FilePath.mostLinks else { throw untrusted(link) }
        let target = try self.directory(at: system.target(ofOpenLink: link), in: directory)
        // A user can have given a link of root another name, in a directory of that user.
        let isTrusted =
            if status.owner == 0 { status.linkCount == 1 } else {
                try system.status(of: target).owner == status.owner
            }
        guard isTrusted else { throw untrusted(link) }
        return target
    }

    private func untrusted(_ link: FileHandle) -> SystemError {
        SystemError(call: .readLink, path: link.path, number: ELOOP)
    }

    private func open(_ path: FilePath, in directory: FileHandle?) throws(SystemError) -> FileHandle {
        try system.open(path, in: directory, SystemCalls.pathOnly | O_NOFOLLOW)
    }
}
#endif

// MARK: - Watching

#if os(Linux)
extension SystemCalls {
    /// Opens a queue for events in directories.
    func makeWatchQueue() throws(SystemError) -> FileHandle {
        let descriptor = try call(.watch, "inotify") {
            Self.newDescriptor { inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC)) }
        }
        return FileHandle(descriptor: descriptor, path: "inotify", isQueue: true)
    }

    /// Adds a watch for a directory or a file to a queue, and returns its number there.
    ///
    /// Without writes, it reports no writes to files, unless there is a watch that does.
    func addWatch(_ path: FilePath, withoutWrites: Bool = false, to queue: FileHandle) throws(SystemError) -> CInt {
        let names: Int32 =
            IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF
        // The watches of a directory are one for the system, and must not lose the writes that another one needs.
        let events: Int32 =
            withoutWrites ? names | Int32(truncatingIfNeeded: IN_MASK_ADD) : names | IN_MODIFY | IN_CLOSE_WRITE
        let mask = UInt32(truncatingIfNeeded: events)
        return try call(.watch, path) { path.withCString { inotify_add_watch(queue.descriptor, $0, mask) } }
    }

    /// Removes a watch.
    ///
    /// The call fails only if the watch has already ended because the directory was removed.
    func removeWatch(_ number: CInt, from queue: FileHandle) {
        _ = inotify_rm_watch(queue.descriptor, number)
    }

    /// Opens the list of mounts, with which ``waitForEvents(_:_:)`` reports changes of it.
    ///
    /// - Returns: `nil` if the system does not show it.
    func openMounts() -> FileHandle? {
        do {
            return try openIfPresent("/proc/self/mountinfo", OpenFlags.readOnly)
        } catch {
            return nil
        }
    }

    /// Waits until a queue has events, or a file system was mounted or unmounted.
    ///
    /// - Parameters:
    ///   - queue: The queue.
    ///   - mounts: The list of mounts.
    /// - Returns: Whether the mounts have changed; `nil` if the program has closed the queue.
    func waitForEvents(_ queue: FileHandle, _ mounts: FileHandle?) -> Bool? {
        let descriptor = queue.descriptor
        // The system ignores a negative descriptor, and would wait forever.
        guard descriptor >= 0 else { return nil }
        var requests = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: mounts?.descriptor ?? -1, events: Int16(POLLPRI), revents: 0),
        ]
        // The call fails only when it is interrupted. The caller then finds no events, and waits again.
        _ = poll(&requests, nfds_t(requests.count), -1)
        return requests[1].revents & Int16(POLLPRI) != 0
    }

    /// An event in a directory or of a file.
    struct WatchEvent {
        /// The number of the watch; -1 when events were lost.
        var number: CInt
        /// Whether the event is only a write to a file.
        var isWrite: Bool
        /// The bytes of the name in the directory; empty for an event of the watched directory or file itself.
        var name: Slice<UnsafeRawBufferPointer>
    }

    /// Reads available events of a queue, without waiting: all of them, or as many as fit in one buffer.
    ///
    /// It reads only once, because another process may cause events faster than they can be handled.
    ///
    /// The name of an event is valid only during the call of the body.
    func readWatchEvents(from queue: FileHandle, _ body: (WatchEvent) -> Void) {
        let writes = UInt32(truncatingIfNeeded: IN_MODIFY | IN_CLOSE_WRITE)
        withUnsafeTemporaryAllocation(byteCount: 8_192, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            let count = read(queue.descriptor, buffer.baseAddress, buffer.count)
            // The system writes only complete events: a header, and a name of the length in the header.
            var offset = 0
            while offset + MemoryLayout<inotify_event>.size <= count {
                let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                let start = offset + MemoryLayout<inotify_event>.size
                offset = start + Int(event.len)
                let name = UnsafeRawBufferPointer(buffer)[start..<min(offset, count)].prefix { $0 != 0 }
                body(WatchEvent(number: event.wd, isWrite: event.mask & ~writes == 0, name: name))
            }
        }
    }
}
#endif
