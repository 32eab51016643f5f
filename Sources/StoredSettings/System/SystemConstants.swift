// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

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
    static let groupWrite = S_IWGRP
    package static let otherWrite = S_IWOTH
}
