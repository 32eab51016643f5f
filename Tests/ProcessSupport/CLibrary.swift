// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// What the C libraries declare differently, or Swift does not import.
package enum CLibrary {
    #if canImport(Glibc)
    package static let streamSocket = CInt(SOCK_STREAM.rawValue)
    package static let openFiles = CInt(RLIMIT_NOFILE.rawValue)
    package static let addressSpace = CInt(RLIMIT_AS.rawValue)
    #else
    package static let streamSocket = SOCK_STREAM
    package static let openFiles = RLIMIT_NOFILE
    package static let addressSpace = RLIMIT_AS
    #endif

    /// Closes a socket when another program is executed; 0 where the system has no such flag.
    #if canImport(Glibc)
    package static let closesOnExecution = CInt(SOCK_CLOEXEC.rawValue)
    #elseif canImport(Darwin)
    package static let closesOnExecution: CInt = 0
    #else
    package static let closesOnExecution = SOCK_CLOEXEC
    #endif

    /// Creates a child process that is a copy of this one.
    ///
    /// - Returns: The process ID of the child; 0 in the child, and -1 after a failure.
    /// - Throws: `ChildProcess.Failure` if the other threads of this process never sleep.
    package static func fork() throws -> pid_t {
        try Surroundings.waitUntilOtherThreadsSleep()
        return copyProcess()
    }

    /// Creates a child process, whatever the other threads do; see ``fork()``.
    package static func forkAtOnce() -> pid_t { copyProcess() }
}

/// The C function `fork`, which Swift hides, because most functions are unsafe in a child that does not call `exec`.
@_silgen_name("fork")
private func copyProcess() -> pid_t

extension stat {
    /// The times of the last access, the last write, and the last change of the file or its status.
    package var times: (access: timespec, modification: timespec, change: timespec) {
        #if canImport(Darwin)
        (st_atimespec, st_mtimespec, st_ctimespec)
        #else
        (st_atim, st_mtim, st_ctim)
        #endif
    }
}

#if os(Linux)
extension CLibrary {
    /// Gives a file an access control list, or a directory one for new files, that allows a user to read and write.
    ///
    /// - Parameters:
    ///   - user: The user. The list allows nothing to the group and to others.
    ///   - path: The path.
    ///   - isDefault: Whether the list is for new files in the directory.
    /// - Returns: Whether the file system has such lists.
    /// - Throws: `ChildProcess.Failure`.
    package static func allow(user: UInt32, at path: String, isDefault: Bool = false) throws -> Bool {
        try setAccessList([(2, 6, user)], group: 0, others: 0, at: path, isDefault: isDefault)
    }

    /// Denies a user, or a group, access to a file that the owning group and all others may read.
    ///
    /// - Returns: `false` if the file system has no access control lists.
    /// - Throws: `ChildProcess.Failure`.
    package static func deny(_ id: UInt32, isGroup: Bool, at path: String) throws -> Bool {
        try setAccessList([(isGroup ? 8 : 2, 0, id)], group: 4, others: 4, at: path)
    }

    private static func setAccessList(
        _ named: [(kind: UInt16, permissions: UInt16, id: UInt32)],
        group: UInt16,
        others: UInt16,
        at path: String,
        isDefault: Bool = false
    ) throws -> Bool {
        // The entries of the owner, users and groups, the owning group, the mask and the others: see <linux/posix_acl_xattr.h>. They
        // are ordered by their kinds.
        let entries: [(kind: UInt16, permissions: UInt16, id: UInt32)] =
            ([(1, 6, .max), (4, group, .max), (16, 6, .max), (32, others, .max)] + named).sorted { $0.kind < $1.kind }
        var list: [UInt8] = [2, 0, 0, 0]
        for entry in entries {
            for number in [entry.kind, entry.permissions] {
                list += [UInt8(number & 0xFF), UInt8(number >> 8)]
            }
            list += (0..<4).map { UInt8(truncatingIfNeeded: entry.id >> ($0 * 8)) }
        }
        let name = isDefault ? "system.posix_acl_default" : "system.posix_acl_access"
        guard setAttribute(path, name, list, list.count, 0) != 0 else { return true }
        guard errno == ENOTSUP else { throw ChildProcess.Failure("setxattr: error \(errno)") }
        return false
    }

    /// Whether a file has an access control list.
    package static func hasAccessList(at path: String) -> Bool {
        attribute(path, "system.posix_acl_access", nil, 0) > 0
    }
}

@_silgen_name("setxattr")
private func setAttribute(
    _ path: UnsafePointer<CChar>,
    _ name: UnsafePointer<CChar>,
    _ value: UnsafePointer<UInt8>,
    _ size: Int,
    _ flags: CInt
) -> CInt
@_silgen_name("getxattr")
private func attribute(
    _ path: UnsafePointer<CChar>,
    _ name: UnsafePointer<CChar>,
    _ value: UnsafeMutablePointer<UInt8>?,
    _ size: Int
) -> Int
#endif
