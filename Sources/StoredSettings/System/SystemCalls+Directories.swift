// SPDX-License-Identifier: Apache-2.0

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
    /// - Returns: The directory; `nil` when it does not exist.
    package func openDirectory(_ path: FilePath) throws(SystemError) -> FileHandle? {
        do {
            return try openIfPresent(path, O_RDONLY | O_DIRECTORY)
        } catch  where error.number == EACCES {
            #if canImport(Darwin)
            throw error
            #else
            // The process may enter the directory but not read it. `O_PATH`, which not every C library declares, needs
            // no permission to read.
            return try openIfPresent(path, 0o10_000_000 | O_DIRECTORY)
            #endif
        }
    }

    /// Returns the names in a directory.
    package func names(in directory: FileHandle) throws(SystemError) -> [FilePath] {
        // A new descriptor, because reading changes its position, and closing the stream closes it.
        let descriptor = try call(.open, ".", in: directory) { openat($0, $1, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
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

    /// Waits until the names in a directory would survive a loss of power, if the file system supports that.
    ///
    /// - Parameters:
    ///   - path: The path of the directory, or "." for the open directory.
    ///   - directory: The directory that a relative path begins in; `nil` for the current one.
    /// - Returns: Whether the file system supports that.
    /// - Throws: ``SystemError``.
    @discardableResult
    package func synchronizeDirectory(_ path: FilePath, in directory: FileHandle? = nil) throws(SystemError) -> Bool {
        do {
            try synchronize(open(path, in: directory, O_RDONLY | O_DIRECTORY))
            return true
        } catch  where error.number == EINVAL {
            // Some file systems can synchronize only files.
            return false
        }
    }

    /// Throws unless this process has permission to write to a file or directory.
    package func checkWritable(_ path: FilePath, in directory: FileHandle? = nil) throws(SystemError) {
        _ = try call(.access, path, in: directory) { faccessat($0, $1, W_OK, 0) }
    }

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
        if Self.currentUser() == 0, path.namesFile {
            parent = try openDirectory(path.directory)
            guard parent != nil else { throw SystemError(call: .makeDirectory, path: path, number: ENOENT) }
        }
        do {
            if let parent {
                _ = try call(.makeDirectory, path.name, in: parent) { mkdirat($0, $1, 0o700) }
            } else {
                _ = try call(.makeDirectory, path) { path.withCString { mkdir($0, 0o700) } }
            }
        } catch  where error.number == EEXIST {
            return
        }
        do {
            if let parent { try give(path.name, toOwnerOf: parent) }
            try synchronizeParent(of: path, parent)
        } catch {
            // Remove the directory, so that the next attempt creates it again. An existing one would not be
            // synchronized.
            if let parent {
                _ = path.name.withCString { unlinkat(parent.descriptor, $0, AT_REMOVEDIR) }
            } else {
                _ = path.withCString { rmdir($0) }
            }
            throw error
        }
    }

    private func synchronizeParent(of path: FilePath, _ parent: FileHandle?) throws(SystemError) {
        do {
            if let parent {
                try synchronizeDirectory(".", in: parent)
            } else {
                try synchronizeDirectory(path.directory)
            }
        } catch  where error.number == EACCES {
            // The process may enter the parent but not read it, so it cannot synchronize it.
        }
    }

    /// Gives a directory that root has created to the owner of its parent: that user's programs have to be able to use
    /// it.
    ///
    /// The user may have put another directory in its place. Only an empty one of root is given away.
    private func give(_ name: FilePath, toOwnerOf parent: FileHandle) throws(SystemError) {
        let status = try status(of: parent)
        guard status.owner != 0, status.permissions & FileMode.otherWrite == 0 else { return }
        let directory = try open(name, in: parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard try self.status(of: directory).owner == 0, try names(in: directory).isEmpty else { return }
        _ = try mayGive(directory, to: status.owner, status.group)
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
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try call(.readLink, path) {
            buffer.withUnsafeMutableBytes { buffer in
                // The call writes at most `buffer.count` bytes.
                guard let start = buffer.baseAddress else { return 0 }
                let characters = start.assumingMemoryBound(to: CChar.self)
                return path.withCString { CInt(clamping: readlink($0, characters, buffer.count)) }
            }
        }
        return FilePath(bytes: buffer.prefix(Int(count)))
    }
}

// The file system of a file.

extension SystemCalls {
    /// Returns whether a file may be on an overlay file system, where it can be in a lower layer.
    ///
    /// The first process that opens such a file for writing copies it to the upper layer. After that, reading an open
    /// file returns the copy, but memory that was mapped before still shows the original.
    ///
    /// - Parameter file: The file.
    /// - Returns: Whether the file may be on an overlay file system. It is also `true` when the system does not say.
    func isOnOverlay(_ file: FileHandle) -> Bool {
        #if os(Linux)
        // `struct statfs` has at most 120 bytes, and begins with the type of the file system, a machine word.
        var status = [Int](repeating: 0, count: 64)
        do {
            _ = try call(.status, file.path) { fileSystemStatus(file.descriptor, &status) }
        } catch {
            return true
        }
        return status[0] == Self.overlayType
        #else
        return false
        #endif
    }

    #if os(Linux)
    /// `OVERLAYFS_SUPER_MAGIC`: see statfs(2).
    private static let overlayType = 0x794C_7630
    #endif
}

#if os(Linux)
// Swift does not import the header of statfs(2).
@_silgen_name("fstatfs")
private func fileSystemStatus(_ descriptor: CInt, _ status: UnsafeMutablePointer<Int>) -> CInt
#endif
