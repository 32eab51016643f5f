// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

/// An open file, closed with the last reference to it.
package final class FileHandle: Sendable {
    package let descriptor: CInt
    package let path: String

    package init(descriptor: CInt, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        // Nothing is left to be written by then; an error of `close` has no consequence.
        _ = close(descriptor)
    }
}

/// A point in time as file systems tell it.
package struct FileTime: Hashable, Sendable {
    /// Since 1970.
    package var seconds: Int
    package var nanoseconds: Int

    package var secondsSince1970: Double { Double(seconds) + Double(nanoseconds) / 1e9 }

    /// Reads a `timespec`, which is two words on every 64-bit system.
    ///
    /// They are read by their place, inside the struct's own bytes: which module the names of the members belong to
    /// differs from build to build on Linux, so that they cannot be relied on to be visible.
    init(_ time: timespec) {
        (seconds, nanoseconds) = withUnsafeBytes(of: time) { bytes in
            let word = MemoryLayout<Int>.size
            return (bytes.loadUnaligned(as: Int.self), bytes.loadUnaligned(fromByteOffset: word, as: Int.self))
        }
    }
}

/// What tells one state of a file from another.
package struct FileStatus: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    package var size: Int
    /// When the contents were changed last.
    package var modified: FileTime
    /// When anything of the file was changed last.
    package var changed: FileTime
    package var mode: mode_t
    package var owner: uid_t
    package var group: gid_t

    package var isRegular: Bool { mode & S_IFMT == S_IFREG }
    package var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { mode & S_IFMT == S_IFLNK }
    package var permissions: mode_t { mode & 0o7777 }

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        size = Int(status.st_size)
        #if canImport(Darwin)
        modified = FileTime(status.st_mtimespec)
        changed = FileTime(status.st_ctimespec)
        #else
        modified = FileTime(status.st_mtim)
        changed = FileTime(status.st_ctim)
        #endif
        mode = status.st_mode
        owner = status.st_uid
        group = status.st_gid
    }
}

extension SystemCalls {
    package func open(_ path: String, _ flags: CInt, mode: mode_t = 0o600) throws(SystemError) -> FileHandle {
        #if canImport(Glibc)
        let descriptor = try call(.open, path) { Glibc.open(path, flags | O_CLOEXEC, mode) }
        #elseif canImport(Musl)
        let descriptor = try call(.open, path) { Musl.open(path, flags | O_CLOEXEC, mode) }
        #else
        let descriptor = try call(.open, path) { Darwin.open(path, flags | O_CLOEXEC, mode) }
        #endif
        return FileHandle(descriptor: descriptor, path: path)
    }

    /// Opens a file; `nil` when there is none.
    package func openIfPresent(_ path: String, _ flags: CInt) throws(SystemError) -> FileHandle? {
        do {
            return try open(path, flags)
        } catch  where error.number == ENOENT {
            return nil
        }
    }

    package func status(of file: FileHandle) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try call(.status, file.path) { fstat(file.descriptor, &status) }
        return FileStatus(status)
    }

    /// The state of a file; `nil` when there is none.
    package func status(at path: String, followingLinks: Bool = true) throws(SystemError) -> FileStatus? {
        var status = stat()
        do {
            _ = try call(.status, path) { followingLinks ? stat(path, &status) : lstat(path, &status) }
        } catch  where error.number == ENOENT {
            return nil
        }
        return FileStatus(status)
    }

    /// All the bytes from the beginning of a file.
    package func contents(of file: FileHandle) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        let expected = max(try status(of: file).size, 0)
        while true {
            // One byte more than expected, so that the end is met without another turn.
            let room = max(expected - bytes.count, 0) + (bytes.isEmpty ? 1 : 4_096)
            let offset = bytes.count
            bytes.append(contentsOf: [UInt8](repeating: 0, count: room))
            let count = try call(.read, file.path) {
                bytes.withUnsafeMutableBytes { buffer in
                    // The pointer is to the part just appended, which holds `room` bytes, and is not kept.
                    CInt(clamping: pread(file.descriptor, buffer.baseAddress.map { $0 + offset }, room, off_t(offset)))
                }
            }
            bytes.removeLast(room - Int(count))
            if count == 0 { return bytes }
        }
    }

    /// Some of the bytes of a file: fewer than asked for where the file ends before.
    package func contents(of file: FileHandle, in range: Range<Int>) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < bytes.count {
            let count = try call(.read, file.path) {
                bytes.withUnsafeMutableBytes { buffer in
                    // The pointer is to the part not yet read, inside the array, and is not kept.
                    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
                    return CInt(
                        clamping: pread(file.descriptor, rest.baseAddress, rest.count, off_t(range.lowerBound + done))
                    )
                }
            }
            guard count > 0 else { break }
            done += Int(count)
        }
        bytes.removeLast(bytes.count - done)
        return bytes
    }

    /// Writes all the bytes to a file.
    ///
    /// - Parameters:
    ///   - bytes: What to write.
    ///   - file: The file.
    ///   - start: Where in the file to begin.
    /// - Throws: ``SystemError``; then some of them may be written.
    package func write(_ bytes: [UInt8], to file: FileHandle, at start: Int = 0) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let room = writable(bytes.count - done, of: file.path)
            let count = try call(.write, file.path) {
                bytes.withUnsafeBytes { buffer in
                    // The pointer is to the part not yet written, inside the array, and is not kept.
                    let rest = UnsafeRawBufferPointer(rebasing: buffer[done..<done + room])
                    return CInt(clamping: pwrite(file.descriptor, rest.baseAddress, rest.count, off_t(start + done)))
                }
            }
            // Writing nothing is no error to the system, and would go on for ever.
            guard count > 0 else { throw SystemError(call: .write, path: file.path, number: EIO) }
            done += Int(count)
        }
    }

    /// Writes all the bytes over what is in a file, and then cuts off what is left of it.
    package func rewrite(_ file: FileHandle, with bytes: [UInt8]) throws(SystemError) {
        try write(bytes, to: file)
        try truncate(file, to: bytes.count)
    }

    package func truncate(_ file: FileHandle, to size: Int) throws(SystemError) {
        _ = try call(.truncate, file.path) { ftruncate(file.descriptor, off_t(size)) }
    }

    /// Returns once what was written survives a loss of power.
    package func synchronize(_ file: FileHandle) throws(SystemError) {
        #if canImport(Darwin)
        // On Apple platforms `fsync` leaves the data in the drive's cache.
        _ = try call(.sync, file.path) { fcntl(file.descriptor, F_FULLFSYNC) == -1 ? fsync(file.descriptor) : 0 }
        #else
        _ = try call(.sync, file.path) { fsync(file.descriptor) }
        #endif
    }

    /// Returns once the contents of a file survive a loss of power, mapped or written; its times may not.
    package func synchronizeContents(of file: FileHandle) throws(SystemError) {
        #if canImport(Darwin)
        try synchronize(file)
        #else
        _ = try call(.sync, file.path) { fdatasync(file.descriptor) }
        #endif
    }

    /// Returns once the names in a directory survive a loss of power, where the file system can tell.
    package func synchronizeDirectory(_ path: String) throws(SystemError) {
        do {
            try synchronize(open(path, O_RDONLY | O_DIRECTORY))
        } catch  where error.number == EINVAL {
            // Some file systems synchronize files only.
            return
        }
    }

    package func rename(_ path: String, to newPath: String) throws(SystemError) {
        _ = try call(.rename, newPath) { systemRename(path, newPath) }
    }

    package func unlink(_ path: String) throws(SystemError) {
        _ = try call(.unlink, path) { systemUnlink(path) }
    }

    package func unlinkIfPresent(_ path: String) throws(SystemError) {
        do {
            try unlink(path)
        } catch  where error.number == ENOENT {
            return
        }
    }

    package func setPermissions(_ mode: mode_t, of file: FileHandle) throws(SystemError) {
        _ = try call(.changeMode, file.path) { fchmod(file.descriptor, mode) }
    }

    package func setOwner(_ owner: uid_t, _ group: gid_t, of file: FileHandle) throws(SystemError) {
        _ = try call(.changeOwner, file.path) { fchown(file.descriptor, owner, group) }
    }

    /// Whether the process may write to a file or into a directory, and why not.
    package func checkWritable(_ path: String) throws(SystemError) {
        _ = try call(.access, path) { access(path, W_OK) }
    }

    /// Makes a directory that only its owner can enter, and those it lies in, safe from a loss of power.
    package func makeDirectories(_ path: String) throws(SystemError) {
        do {
            try makeDirectory(path)
        } catch  where error.number == ENOENT {
            guard let end = path.lastIndex(of: "/"), end != path.startIndex else { throw error }
            try makeDirectories(String(path[..<end]))
            try makeDirectory(path)
        }
    }

    private func makeDirectory(_ path: String) throws(SystemError) {
        do {
            _ = try call(.makeDirectory, path) { mkdir(path, 0o700) }
        } catch  where error.number == EEXIST {
            return
        }
        do {
            try synchronizeDirectory(SettingsPath.directory(of: path))
        } catch  where error.number == EACCES {
            // A directory that may be entered and not read cannot be synchronized by this user.
            return
        }
    }

    /// The path without links, `.` and `..`; `nil` where there is nothing.
    package func resolved(_ path: String) throws(SystemError) -> String? {
        var result: String?
        do {
            _ = try call(.resolve, path) {
                guard let resolved = realpath(path, nil) else { return -1 }
                // `realpath` gives memory of its own, which is copied and freed here.
                defer { free(resolved) }
                result = String(cString: resolved)
                return 0
            }
        } catch  where error.number == ENOENT {
            return nil
        }
        return result
    }

    /// What a symbolic link points to.
    package func target(ofLink path: String) throws(SystemError) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try call(.readLink, path) {
            buffer.withUnsafeMutableBytes { buffer in
                // The call writes at most as many bytes as the array holds.
                guard let start = buffer.baseAddress else { return 0 }
                return CInt(clamping: readlink(path, start.assumingMemoryBound(to: CChar.self), buffer.count))
            }
        }
        return String(decoding: buffer.prefix(Int(count)), as: UTF8.self)
    }
}

// The C functions whose names the methods take.

private func systemRename(_ path: String, _ newPath: String) -> CInt { rename(path, newPath) }

private func systemUnlink(_ path: String) -> CInt { unlink(path) }

func systemWrite(_ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
