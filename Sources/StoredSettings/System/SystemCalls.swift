// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

/// The system calls of this library, each wrapped once.
///
/// The calls retry after an interruption, continue partial writes, and throw ``SystemError`` for other failures. A test
/// can make any call fail with `fault`, shorten writes with `writeLimit`, and inspect the files after every call with
/// `witness`.
package struct SystemCalls: Sendable {
    package enum Name: String, Sendable, CaseIterable {
        case open, read, write, sync, rename, unlink, makeDirectory, status, lock, changeMode, changeOwner, truncate
        case readLink, resolve, watch, access, map, unlock, thread, allocate
        /// Not a system call: a change of memory that is shared with other processes.
        case publish
    }

    /// A closure that is called before every call; the call fails with the error number that it returns.
    package typealias Fault = @Sendable (_ call: Name, _ path: String) -> CInt?
    /// A closure that is called before every write, and returns the maximum number of bytes to write.
    package typealias WriteLimit = @Sendable (_ path: String, _ count: Int) -> Int?
    /// A closure that is called after every call that succeeds.
    package typealias Witness = @Sendable (_ call: Name, _ path: String) -> Void

    private let fault: Fault?
    private let writeLimit: WriteLimit?
    private let witness: Witness?

    package init(fault: Fault? = nil, writeLimit: WriteLimit? = nil, witness: Witness? = nil) {
        self.fault = fault
        self.writeLimit = writeLimit
        self.witness = witness
    }

    /// Returns how many of `count` bytes the next call writes.
    func writable(_ count: Int, of path: FilePath) -> Int {
        guard let writeLimit else { return count }
        return min(max(writeLimit(path.description, count) ?? count, 1), count)
    }

    /// Notifies the witness of a change of shared memory.
    func didPublish(_ path: FilePath) {
        witness?(.publish, path.description)
    }

    /// Notifies the witness that a lock was released, which cannot fail.
    func didUnlock(_ path: FilePath) {
        witness?(.unlock, path.description)
    }

    /// Makes one call, and repeats it while it is interrupted.
    ///
    /// The number of interruptions is bounded, so that a fault that always returns `EINTR` does not loop forever.
    package func call(_ name: Name, _ path: FilePath, _ body: () -> CInt) throws(SystemError) -> CInt {
        // A path with a NUL would be truncated to another path.
        guard path.isValid else { throw SystemError(call: name, path: path, number: EINVAL) }
        var interruptions = 0
        while true {
            var number = fault?(name, path.description) ?? 0
            if number == 0 {
                let result = body()
                if result >= 0 {
                    witness?(name, path.description)
                    return result
                }
                number = errno
            }
            interruptions += 1
            guard number == EINTR, interruptions < 1_000 else {
                throw SystemError(call: name, path: path, number: number)
            }
        }
    }
}

extension SystemCalls {
    /// Makes one call with a path that is relative to a directory; `nil` is the current directory.
    func call(
        _ name: Name,
        _ path: FilePath,
        in directory: FileHandle?,
        _ body: (CInt, UnsafePointer<CChar>) -> CInt
    ) throws(SystemError) -> CInt {
        guard path.isValid else { throw SystemError(call: name, path: path, number: EINVAL) }
        return try call(name, directory.map { $0.path.appending(path) } ?? path) {
            path.withCString { body(directory?.descriptor ?? AT_FDCWD, $0) }
        }
    }
}

/// A system call that has failed.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package var call: SystemCalls.Name
    package var path: FilePath
    /// The number that the call left in `errno`.
    package var number: CInt

    package init(call: SystemCalls.Name, path: FilePath, number: CInt) {
        self.call = call
        self.path = path
        self.number = number
    }

    /// Whether the process lacks a resource that may become available soon.
    var isTransient: Bool { [EMFILE, ENFILE, ENOMEM].contains(number) }

    /// The system's description of the error, without the path.
    package var reason: String { String(cString: strerror(number)) }

    package var description: String { "\(call.rawValue) \(path): \(reason)" }
}

// MARK: - Constants

// The constants of system calls, so that code outside of this folder need not import the C library. The names are those
// of swift-system.

/// The permissions of a file, or a mask of permissions.
package typealias FileMode = mode_t
package typealias UserID = uid_t
package typealias GroupID = gid_t

/// The error numbers of system calls.
package enum Errno {
    package static let brokenPipe = EPIPE
    package static let diskQuotaExceeded = EDQUOT
    package static let fileExists = EEXIST
    package static let fileNameTooLong = ENAMETOOLONG
    package static let fileTooLarge = EFBIG
    package static let invalidArgument = EINVAL
    package static let ioError = EIO
    package static let isDirectory = EISDIR
    /// A socket was opened as a file.
    #if canImport(Darwin)
    static let openedSocket = EOPNOTSUPP
    #else
    static let openedSocket = ENXIO
    #endif
    package static let noDevice = ENODEV
    package static let noFunction = ENOSYS
    package static let noLocks = ENOLCK
    package static let noMemory = ENOMEM
    package static let noSpace = ENOSPC
    package static let noSuchFileOrDirectory = ENOENT
    package static let notDirectory = ENOTDIR
    package static let notPermitted = EPERM
    package static let notSupported = ENOTSUP
    package static let notSupportedOnSocket = EOPNOTSUPP
    package static let permissionDenied = EACCES
    package static let readOnlyFileSystem = EROFS
    package static let resourceBusy = EBUSY
    package static let resourceTemporarilyUnavailable = EAGAIN
    package static let tooManyOpenFiles = EMFILE
    package static let tooManyOpenFilesInSystem = ENFILE
    package static let tooManySymbolicLinkLevels = ELOOP
}

/// The flags with which a file is opened.
package enum OpenFlags {
    package static let readOnly = O_RDONLY
    package static let readWrite = O_RDWR
    package static let create = O_CREAT
    package static let exclusiveCreate = O_EXCL
    package static let noFollow = O_NOFOLLOW
    package static let nonBlocking = O_NONBLOCK
    static let directory = O_DIRECTORY
}

extension FileMode {
    /// All permissions of the owner.
    static let owner: FileMode = 0o700
    /// All permissions of the group.
    static let group: FileMode = 0o070
    /// All permissions of the other users.
    package static let others: FileMode = 0o007
    /// Only the owner of a file may remove it from the directory.
    package static let sticky: FileMode = 0o1000
    /// All permissions, without the set-user-ID, set-group-ID and sticky bits.
    static let all: FileMode = 0o777
    static let groupRead = S_IRGRP
    package static let groupWrite = S_IWGRP
    package static let otherWrite = S_IWOTH
}
