// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A time stamp of a file.
package struct FileTime: Hashable, Sendable {
    /// The seconds since 1970.
    package var seconds: Int
    package var nanoseconds: Int

    package var secondsSince1970: Double { Double(seconds) + Double(nanoseconds) / 1e9 }

    init(_ time: timespec) {
        (seconds, nanoseconds) = unsafeBitCast(time, to: (Int, Int).self)
    }
}

// On every 64-bit system, a `timespec` consists of two words: the seconds and the nanoseconds. They are accessed as words. On
// Linux, the module that declares the names of the members differs between builds, so the names are not always visible.

/// Calls a body with a time in nanoseconds, which it may replace.
///
/// - Returns: The time afterward, in nanoseconds.
@discardableResult
func withTimespec(_ nanoseconds: UInt64, _ body: (UnsafeMutablePointer<timespec>) -> Void) -> UInt64 {
    let words = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
    var time = unsafeBitCast(words, to: timespec.self)
    body(&time)
    let (seconds, rest) = unsafeBitCast(time, to: (UInt64, UInt64).self)
    return seconds &* 1_000_000_000 &+ rest
}

#if os(Linux)
/// Returns the time of a clock in nanoseconds.
func nanoseconds(of clock: clockid_t) -> UInt64 {
    withTimespec(0) { _ = clock_gettime(clock, $0) }
}
#endif

/// Identifies a file among those that exist.
package struct FileIdentity: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
}

/// The metadata that identifies a file and its state.
package struct FileStatus: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    package var size: Int
    /// The time of the last change of the contents.
    package var modified: FileTime
    /// The time of the last change of the contents or the metadata.
    package var changed: FileTime
    package var mode: FileMode
    package var owner: UserID
    package var group: GroupID
    /// The number of hard links to the file.
    package var linkCount: Int

    package var isRegular: Bool { mode & S_IFMT == S_IFREG }
    package var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { mode & S_IFMT == S_IFLNK }
    /// Whether the file is empty, or a character device: systemd does not distinguish `/dev/null` either.
    var isNullOrEmpty: Bool { isRegular ? size == 0 : mode & S_IFMT == S_IFCHR }
    package var permissions: FileMode { mode & 0o7777 }

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
        linkCount = Int(status.st_nlink)
    }
}

extension FileStatus {
    package var identity: FileIdentity { FileIdentity(device: device, inode: inode) }

    /// Returns whether both describe the same file, even in different states.
    package func isSameFile(as other: FileStatus?) -> Bool {
        identity == other?.identity
    }
}

// MARK: - Permissions

extension SystemCalls {
    /// Copies the owner, the group and the mode of another file, as far as this user may.
    ///
    /// Only root can change the owner of a file, and fails if it may not. If the group cannot be copied, the file receives no
    /// group permissions.
    /// So users without access to the other file never have access to this one: while owner and group change, only the
    /// owner has access, and the mode is set last.
    ///
    /// - Returns: Whether the file had an access control list, through which others may have opened it.
    @discardableResult
    package func copyPermissions(of model: FileStatus, to file: FileHandle) throws(SystemError) -> Bool {
        let status = try status(of: file)
        let isOwnerChanged = status.owner != model.owner
        let isGroupChanged = status.group != model.group
        var (current, mode) = (status.permissions, model.permissions & FileMode.all)
        let isListed = accessList(of: file) != nil
        if isListed || (isOwnerChanged || isGroupChanged) && current & ~FileMode.owner != 0 {
            current &= FileMode.owner
            try setPermissions(current, of: file)
        }
        // It may come from the directory. With the list, the mode would give permissions to the users that it names.
        if isListed { removeAccessList(of: file) }
        // Otherwise the owner can use the new file as one of the other users.
        let isOwnerNeeded = (mode >> 6) & ~mode & 0o006 != 0
        if isOwnerChanged { _ = try mayGive(file, to: model.owner, status.group, isNeeded: isOwnerNeeded) }
        if isGroupChanged, try !mayGive(file, to: nil, model.group) {
            // Members of the lost group count as other users now. They must not gain permissions.
            mode &= ~FileMode.group & ~(~(mode >> 3) & FileMode.others)
        }
        if current != mode { try setPermissions(mode, of: file) }
        return isListed
    }

    /// The result of removing permissions from a file.
    enum Narrowing {
        /// The file has no permissions that the model lacks, or the file system ignores its mode.
        case none
        /// Permissions were removed. A user that had them may have the file open, and retains access.
        case done
        /// Only the owner of the file may remove permissions.
        case refused
    }

    /// Removes permissions that a model does not have from a file.
    ///
    /// - Throws: ``SystemError`` if the removal fails although this user may change the permissions.
    func narrowPermissions(of file: FileHandle, to model: FileStatus) throws(SystemError) -> Narrowing {
        let status = try status(of: file)
        let mode = status.narrowed(to: model).permissions
        // A list can give permissions to users that it names, or hide the mode by a denial.
        let isListed = accessList(of: file) != nil
        guard mode != status.permissions || isListed else { return .none }
        do {
            if isListed {
                // First without the mask, which setting the mode would change.
                try setPermissions(mode & FileMode.owner, of: file)
                removeAccessList(of: file)
            }
            try setPermissions(mode, of: file)
            if isListed { return .done }
            return try self.status(of: file).permissions == status.permissions ? .none : .done
        } catch {
            guard error.number == Errno.notPermitted else { throw error }
            return .refused
        }
    }

    private static let noOwnerChange = [
        Errno.notPermitted, Errno.invalidArgument, Errno.noFunction, Errno.notSupportedOnSocket,
    ]

    /// Changes the owner, if there is one, and the group, if this user may.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - owner: The new owner; `nil` to change only the group.
    ///   - group: The new group.
    ///   - isNeeded: Whether the owner could not use the file otherwise.
    /// - Returns: Whether both are changed.
    /// - Throws: ``SystemError``, also if root lacks the capability to change an owner that is needed.
    func mayGive(
        _ file: FileHandle,
        to owner: UserID?,
        _ group: GroupID,
        isNeeded: Bool = false
    ) throws(SystemError) -> Bool {
        do {
            // `uid_t.max` leaves the owner unchanged.
            try setOwner(owner ?? UserID.max, group, of: file)
            return true
        } catch  where Self.noOwnerChange.contains(error.number) {
            // This user may not do so, the user namespace lacks the owner, or the file system has no owners.
            if isNeeded, error.number == Errno.notPermitted, SystemCalls.currentUser() == 0 { throw error }
            return false
        }
    }
}

extension FileStatus {
    /// The mode of a new file: only its owner has access.
    static let newFileMode: FileMode = 0o600

    /// The status without the permissions that a model does not have, except for those of the owner to read and write.
    package func narrowed(to model: FileStatus) -> FileStatus {
        var status = self
        status.mode &= ~0o7777 | model.writableByOwner.permissions
        if group != model.group {
            // The group permissions are for another group, whose members are other users for the model.
            status.mode &= ~FileMode.group | (model.permissions & FileMode.others) << 3
            // The members of the model's group are other users for this file.
            status.mode &= ~(~(model.permissions >> 3) & FileMode.others)
        }
        return status
    }

    /// Whether a user may have access to a file with this status, and none to a file with another.
    ///
    /// The owner of a file can always change its mode. The users of a file that a group may write to replace it in turn,
    /// so its owner changes.
    func allowsMore(than other: FileStatus) -> Bool {
        if permissions & ~other.permissions & (FileMode.group | FileMode.others) != 0 { return true }
        if group != other.group, permissions & FileMode.group != 0 { return true }
        return owner != other.owner && (group != other.group || other.permissions & FileMode.groupWrite == 0)
    }

    /// The status with a mode that allows the owner to read and write.
    ///
    /// A file that is replaced need not be writable, but one that is written to must be.
    var writableByOwner: FileStatus {
        var status = self
        status.mode |= Self.newFileMode
        return status
    }
}

// MARK: - Access control lists

/// An access control list of a file or directory: see acl(5).
package struct AccessList: Sendable {
    /// The entries, whose kinds are those of `<linux/posix_acl_xattr.h>`.
    private let entries: [(kind: UInt8, permissions: UInt8, id: UInt32)]

    private static let (user, ownGroup, group, mask): (UInt8, UInt8, UInt8, UInt8) = (2, 4, 8, 16)

    /// - Parameter bytes: The extended attribute: a version of 4 bytes and entries of 8 bytes; empty if it is too long to be read.
    init(_ bytes: [UInt8]) {
        entries = stride(from: 4, to: bytes.count - 7, by: 8)
            .map { start in
                let id = (4..<8).reduce(UInt32(0)) { $0 | UInt32(bytes[start + $1]) << (8 * ($1 - 4)) }
                return (bytes[start], bytes[start + 2], id)
            }
    }

    private var maskPermissions: UInt8 { entries.first { $0.kind == Self.mask }?.permissions ?? 7 }

    /// What the owning group may do: 4 to read, 2 to write, 1 to execute.
    package var groupPermissions: UInt8 {
        entries.reduce(0) { $1.kind == Self.ownGroup ? $0 | $1.permissions : $0 } & maskPermissions
    }

    /// What the least of the users and groups of the list may do, or of its users alone.
    ///
    /// Without the list, they are members of the owning group or other users.
    fileprivate func leastPermissions(ofUsersAlone isOfUsers: Bool) -> UInt8 {
        guard !entries.isEmpty else { return 0 }
        let named = entries.filter { $0.kind == Self.user || !isOfUsers && $0.kind == Self.group }
        return named.reduce(7) { $0 & $1.permissions & maskPermissions }
    }

    /// Whether a user or a group of the list may not read the file, or a user not what the owning group may.
    package var deniesAccess: Bool {
        leastPermissions(ofUsersAlone: false) & 4 == 0
            || groupPermissions & ~leastPermissions(ofUsersAlone: true) != 0
    }

    /// What groups of the list other than one, and its users other than some, may do.
    package func permissions(ofOthersThan users: Set<UInt32>, group: UInt32? = nil) -> UInt8 {
        guard !entries.isEmpty else { return 7 }
        return entries.reduce(0) { found, entry in
            let isOther =
                entry.kind == Self.group ? entry.id != group : entry.kind == Self.user && !users.contains(entry.id)
            return isOther ? found | entry.permissions : found
        } & maskPermissions
    }
}

extension SystemCalls {
    #if os(Linux)
    private static let accessListName = "system.posix_acl_access"
    /// The longest list that is read, in bytes: one of 510 entries.
    ///
    /// A longer one counts as one that gives other users all permissions, and the group none.
    private static let longestAccessList = 4_096

    /// The access control list of a file; `nil` if it has none, or the system does not show it.
    package func accessList(of file: FileHandle) -> AccessList? {
        list { accessListOfFile(file.descriptor, Self.accessListName, $0, $1) }
    }

    package func accessList(at path: FilePath, in directory: FileHandle?) -> AccessList? {
        // Without `/proc`, the path of the directory has to do.
        let direct = directory.map { $0.path.appending(path) } ?? path
        let open = directory.map { FilePath("/proc/self/fd/\($0.descriptor)").appending(path) }
        for place in [open, direct].compactMap(\.self) {
            let found = list { bytes, count in
                place.withCString { accessListAtPath($0, Self.accessListName, bytes, count) }
            }
            if let found { return found }
        }
        return nil
    }

    private func list(_ read: (UnsafeMutablePointer<UInt8>?, Int) -> Int) -> AccessList? {
        var bytes = [UInt8](repeating: 0, count: Self.longestAccessList)
        // The call writes at most as many bytes as there are.
        let count = bytes.withUnsafeMutableBufferPointer { read($0.baseAddress, $0.count) }
        return count > 0
            ? AccessList(Array(bytes.prefix(count))) : count < 0 && errno == ERANGE ? AccessList([]) : nil
    }

    private func removeAccessList(of file: FileHandle) {
        // If it fails, the list remains, and setting the mode fails as well.
        _ = removeAccessListOfFile(file.descriptor, Self.accessListName)
    }
    #else
    package func accessList(of file: FileHandle) -> AccessList? { nil }

    package func accessList(at path: FilePath, in directory: FileHandle?) -> AccessList? { nil }

    private func removeAccessList(of file: FileHandle) {}
    #endif

    /// The status of a file with the permissions that its users have without its access control list, which is lost when the file is
    /// replaced.
    ///
    /// With a list, the mode contains a mask in place of the permissions of the group: the most that the group and the users and
    /// groups of the list may do. No user may gain permissions, so the group and all others keep those that every user of the list
    /// has, too.
    static func withoutList(_ status: FileStatus, _ list: () -> AccessList?) -> FileStatus {
        guard status.isRegular, status.mode & ~FileMode.owner & FileMode.all != 0, let list = list() else {
            return status
        }
        let group = list.groupPermissions & list.leastPermissions(ofUsersAlone: true)
        let others = FileMode(list.leastPermissions(ofUsersAlone: false))
        var status = status
        status.mode &= ~(FileMode.group | FileMode.others) | FileMode(group) << 3 | others
        return status
    }
}
#if os(Linux)
// Swift does not import the header of xattr(7).
@_silgen_name("fgetxattr")
private func accessListOfFile(
    _ file: CInt,
    _ name: UnsafePointer<CChar>,
    _ list: UnsafeMutablePointer<UInt8>?,
    _ size: Int
)
    -> Int
@_silgen_name("getxattr")
private func accessListAtPath(
    _ path: UnsafePointer<CChar>,
    _ name: UnsafePointer<CChar>,
    _ list: UnsafeMutablePointer<UInt8>?,
    _ size: Int
) -> Int
@_silgen_name("fremovexattr")
private func removeAccessListOfFile(_ file: CInt, _ name: UnsafePointer<CChar>) -> CInt
#endif
