// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

extension SystemCalls {
    /// Opens a file, which is closed on `exec`.
    ///
    /// With `O_EXCL`, a new file has the mode whatever the mask of the process is.
    package func open(
        _ path: FilePath,
        in directory: FileHandle? = nil,
        _ flags: CInt,
        mode: mode_t = 0o600
    ) throws(SystemError) -> FileHandle {
        let descriptor = try call(.open, path, in: directory) { base, path in
            Self.newDescriptor { openat(base, path, flags | O_CLOEXEC, mode) }
        }
        let file = FileHandle(descriptor: descriptor, path: directory.map { $0.path.appending(path) } ?? path)
        if flags & O_EXCL != 0, try status(of: file).permissions & mode != mode {
            try setPermissions(mode, of: file)
        }
        return file
    }

    /// Opens a file; `nil` when it does not exist.
    package func openIfPresent(
        _ path: FilePath,
        in directory: FileHandle? = nil,
        _ flags: CInt
    ) throws(SystemError) -> FileHandle? {
        do {
            return try open(path, in: directory, flags)
        } catch  where error.number == ENOENT {
            return nil
        }
    }

    package func status(of file: FileHandle) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try call(.status, file.path) { fstat(file.descriptor, &status) }
        return Self.withoutList(FileStatus(status)) { accessList(of: file) }
    }

    /// Returns the status of a file, or of what a symbolic link leads to; `nil` when it does not exist.
    package func status(at path: FilePath, in directory: FileHandle? = nil) throws(SystemError) -> FileStatus? {
        try status(at: path, in: directory, flags: 0)
    }

    /// Returns the status of a file, or of a symbolic link itself; `nil` when it does not exist.
    package func linkStatus(at path: FilePath, in directory: FileHandle? = nil) throws(SystemError) -> FileStatus? {
        try status(at: path, in: directory, flags: AT_SYMLINK_NOFOLLOW)
    }

    /// Whether a file, or what a symbolic link leads to, is certainly the same as before, with the same contents and access.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - known: The status before; `nil` if there was no file.
    /// - Returns: `false` also if the status is unknown.
    func isUnchanged(_ path: FilePath, since known: FileStatus?) -> Bool {
        var status = stat()
        do {
            _ = try call(.status, path, in: nil) { fstatat($0, $1, &status, 0) }
        } catch {
            return known == nil && error.number == ENOENT
        }
        guard let known else { return false }
        // An access control list changes the mode of a status. A change of the list has another time.
        let now = FileStatus(status)
        return now.isSameFile(as: known) && now.size == known.size && now.modified == known.modified
            && now.changed == known.changed
    }

    private func status(
        at path: FilePath,
        in directory: FileHandle?,
        flags: CInt
    ) throws(SystemError) -> FileStatus? {
        var status = stat()
        do {
            _ = try call(.status, path, in: directory) { fstatat($0, $1, &status, flags) }
        } catch  where error.number == ENOENT {
            return nil
        }
        return Self.withoutList(FileStatus(status)) { accessList(at: path, in: directory) }
    }

    /// Reads a whole file.
    ///
    /// Memory is allocated as bytes are read, regardless of the size that the file reports.
    ///
    /// - Throws: ``SystemError``, with `EFBIG` when the file is longer than the limit.
    package func contents(of file: FileHandle, limit: Int = .max) throws(SystemError) -> [UInt8] {
        let size = max(try status(of: file).size, 0)
        guard size <= limit else { throw SystemError(call: .read, path: file.path, number: EFBIG) }
        var bytes: [UInt8] = []
        while true {
            // One byte more than the file should have, so that its end is detected without another call.
            let expected = max(size - bytes.count, 0) + (bytes.isEmpty ? 1 : Self.pageLength)
            let part = try contents(of: file, in: bytes.count..<bytes.count + min(expected, Self.longestRead))
            if bytes.isEmpty { bytes = part } else { bytes += part }
            guard bytes.count <= limit else { throw SystemError(call: .read, path: file.path, number: EFBIG) }
            if part.count < min(expected, Self.longestRead) { return bytes }
        }
    }

    private static let pageLength = 4_096
    /// The maximum number of bytes per read.
    private static let longestRead = 1 << 24

    /// Reads a range of bytes of a file; the result is shorter if the file ends before.
    package func contents(of file: FileHandle, in range: Range<Int>) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < bytes.count {
            let count = try call(.read, file.path) {
                bytes.withUnsafeMutableBytes { buffer in
                    // The pointer is to the remaining part of the array, and is used only during the call.
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

    /// Writes bytes to a file, of which some may have been written when it throws.
    package func write(_ bytes: [UInt8], to file: FileHandle, at start: Int = 0) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let room = writable(bytes.count - done, of: file.path)
            let count = try call(.write, file.path) {
                bytes.withUnsafeBytes { buffer in
                    // The pointer is to the remaining part of the array, and is used only during the call.
                    let rest = UnsafeRawBufferPointer(rebasing: buffer[done..<done + room])
                    return CInt(clamping: pwrite(file.descriptor, rest.baseAddress, rest.count, off_t(start + done)))
                }
            }
            // The system does not consider a write of 0 bytes an error. Without this check, the loop would not end.
            guard count > 0 else { throw SystemError(call: .write, path: file.path, number: EIO) }
            done += Int(count)
        }
    }

    /// Allocates space for part of a file, and extends the file if necessary.
    ///
    /// - Throws: ``SystemError`` if there is no space, or the file system does not support this.
    func allocate(_ range: Range<Int>, of file: FileHandle) throws(SystemError) {
        #if os(Linux)
        _ = try call(.allocate, file.path) {
            // It returns an error number instead of setting `errno`.
            errno = posix_fallocate(file.descriptor, off_t(range.lowerBound), off_t(range.count))
            return errno == 0 ? 0 : -1
        }
        #else
        throw SystemError(call: .allocate, path: file.path, number: ENOTSUP)
        #endif
    }

    /// Starts to write a file to the disk, and lets the system drop it from memory.
    ///
    /// This does not wait for the end, and a failure is not reported.
    func startWriting(_ file: FileHandle) {
        #if os(Linux)
        _ = posix_fadvise(file.descriptor, 0, 0, CInt(POSIX_FADV_DONTNEED))
        #endif
    }

    /// Overwrites a file with bytes, and then truncates it to their count.
    package func rewrite(_ file: FileHandle, with bytes: [UInt8]) throws(SystemError) {
        try write(bytes, to: file)
        try truncate(file, to: bytes.count)
    }

    package func truncate(_ file: FileHandle, to size: Int) throws(SystemError) {
        _ = try call(.truncate, file.path) { ftruncate(file.descriptor, off_t(size)) }
    }

    /// Waits until the contents and the metadata of a file would survive a loss of power.
    package func synchronize(_ file: FileHandle) throws(SystemError) {
        #if canImport(Darwin)
        // On Apple platforms `fsync` leaves the data in the drive's cache. Not every file system can do more.
        _ = try call(.sync, file.path) {
            guard fcntl(file.descriptor, F_FULLFSYNC) == -1 else { return 0 }
            switch errno {
            case ENOTSUP, EOPNOTSUPP, ENOTTY, EINVAL: return fsync(file.descriptor)
            default: return -1
            }
        }
        #else
        _ = try call(.sync, file.path) { fsync(file.descriptor) }
        #endif
    }

    /// Waits until the contents of a file, mapped or written, would survive a loss of power; its times may not.
    package func synchronizeContents(of file: FileHandle) throws(SystemError) {
        #if canImport(Darwin)
        try synchronize(file)
        #else
        _ = try call(.sync, file.path) { fdatasync(file.descriptor) }
        #endif
    }

    /// Renames a file within a directory, and replaces any file that has the new name.
    package func rename(_ name: FilePath, to newName: FilePath, in directory: FileHandle) throws(SystemError) {
        try rename(name, to: newName, in: directory) { renameat($0, $1, $0, $2) }
    }

    /// Renames a file within a directory unless a file has the new name.
    ///
    /// - Throws: ``SystemError``, with `EEXIST` if a file has the new name, or with `EINVAL`, `ENOSYS` or `ENOTSUP` if the
    ///   file system or the C library does not support this.
    package func renameExclusively(_ name: FilePath, to newName: FilePath, in directory: FileHandle)
        throws(SystemError)
    {
        try rename(name, to: newName, in: directory) { base, name, newName in
            #if canImport(Darwin)
            return renameatx_np(base, name, base, newName, CUnsignedInt(RENAME_EXCL))
            #else
            // Musl has no `renameat2`. The flag is `RENAME_NOREPLACE`: see renameat2(2).
            let (number, base, flag) = (Self.callNumbers.rename, UInt(bitPattern: Int(base)), UInt(1))
            return CInt(systemCall(number, base, UInt(bitPattern: name), base, UInt(bitPattern: newName), flag, 0))
            #endif
        }
    }

    private func rename(
        _ name: FilePath,
        to newName: FilePath,
        in directory: FileHandle,
        _ body: (CInt, UnsafePointer<CChar>, UnsafePointer<CChar>) -> CInt
    ) throws(SystemError) {
        guard name.isValid else { throw SystemError(call: .rename, path: directory.path, number: EINVAL) }
        _ = try call(.rename, newName, in: directory) { base, newName in
            name.withCString { body(base, $0, newName) }
        }
    }

    package func unlink(_ name: FilePath, in directory: FileHandle) throws(SystemError) {
        _ = try call(.unlink, name, in: directory) { unlinkat($0, $1, 0) }
    }

    package func setPermissions(_ mode: mode_t, of file: FileHandle) throws(SystemError) {
        _ = try call(.changeMode, file.path) { fchmod(file.descriptor, mode) }
    }

    package func setOwner(_ owner: uid_t, _ group: gid_t, of file: FileHandle) throws(SystemError) {
        _ = try call(.changeOwner, file.path) { fchown(file.descriptor, owner, group) }
    }
}

/// The C function, which has the same name as methods of `SystemCalls`.
package func systemWrite(_ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

// MARK: - Locks

// What the system shows about locks and processes in `/proc`, as far as this user may read it.

extension SystemCalls {
    private static let longestSystemText = 1 << 18

    /// Returns the contents of a file of the system; `nil` if it does not exist or this user may not read it.
    package static func systemText(at path: FilePath) -> String? {
        let system = SystemCalls()
        do {
            guard let file = try system.openIfPresent(path, OpenFlags.readOnly) else { return nil }
            // Such a file reports no size, and some can be read only at once.
            return String(decoding: try system.contents(of: file, in: 0..<longestSystemText), as: UTF8.self)
        } catch {
            return nil
        }
    }

    /// Whether the system shows locks of files.
    package static var showsFileLocks: Bool { systemText(at: "/proc/locks") != nil }

    /// Returns the process that has locked a file with `flock`: 0 for one of another PID namespace, and `nil` if none has, or
    /// the system does not show it.
    package static func holder(ofLockOn file: FileStatus) -> UInt64? {
        guard let table = systemText(at: "/proc/locks") else { return nil }
        for line in table.split(separator: "\n") {
            // 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
            let fields = line.split(separator: " ")
            guard fields.count >= 6, fields[1] == "FLOCK", let process = Int(fields[4]) else { continue }
            let numbers = fields[5].split(separator: ":")
            guard numbers.count == 3, UInt64(numbers[2]) == file.inode, let major = UInt64(numbers[0], radix: 16),
                let minor = UInt64(numbers[1], radix: 16)
            else { continue }
            // On some file systems, the device of the status is not that of the lock.
            guard file.hasDevice(major, minor) || isOpen(file, in: process) else { continue }
            return UInt64(max(process, 0))
        }
        return nil
    }

    private static func isOpen(_ file: FileStatus, in process: Int) -> Bool {
        let system = SystemCalls()
        let path = FilePath("/proc/\(process)/fd")
        do {
            return try system.names(in: system.openDirectory(path))
                .contains { name in
                    try system.status(at: path.appending(name))?.isSameFile(as: file) ?? false
                }
        } catch {
            // The process has ended, or belongs to another user.
            return false
        }
    }
}

extension FileStatus {
    fileprivate func hasDevice(_ major: UInt64, _ minor: UInt64) -> Bool {
        let number =
            ((major & 0xFFFF_F000) << 32) | ((major & 0xFFF) << 8) | ((minor & 0xFFFF_FF00) << 12) | (minor & 0xFF)
        return device == number
    }
}
