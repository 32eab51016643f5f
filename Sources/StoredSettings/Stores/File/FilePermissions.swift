// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension SystemCalls {
    private static let permissionsOfOwner: mode_t = 0o700
    private static let permissionsOfGroup: mode_t = 0o070
    private static let permissionsOfOthers: mode_t = 0o007
    private static let permissionsOfAll: mode_t = 0o777

    /// Gives a file the owner, the group and the mode of another, as far as the user of this process may.
    ///
    /// Only root can give files away. Where the group cannot be kept, its permissions are left out. So at no moment can a
    /// user read the file who could not read the other: it is its owner's alone while owner and group change, and gets
    /// its mode last.
    func copyPermissions(of model: FileStatus, to file: FileHandle) throws(SystemError) {
        let status = try status(of: file)
        let isOwnerChanged = status.owner != model.owner
        let isGroupChanged = status.group != model.group
        var (current, mode) = (status.permissions, model.permissions & Self.permissionsOfAll)
        if isOwnerChanged || isGroupChanged, current & ~Self.permissionsOfOwner != 0 {
            current &= Self.permissionsOfOwner
            try setPermissions(current, of: file)
        }
        if isOwnerChanged { _ = try mayGive(file, to: model.owner, status.group) }
        if isGroupChanged, try !mayGive(file, to: nil, model.group) {
            // The members of the lost group become other users, who must not gain permissions by that.
            mode &= ~Self.permissionsOfGroup & ~(~(mode >> 3) & Self.permissionsOfOthers)
        }
        if current != mode { try setPermissions(mode, of: file) }
    }

    /// Removes the permissions that a model does not have from a file.
    ///
    /// - Throws: ``SystemError`` when a user who may change the permissions fails to.
    func narrowPermissions(of file: FileHandle, to model: FileStatus) throws(SystemError) {
        let status = try status(of: file)
        var mode = status.permissions & model.writableByOwner.permissions
        // The permissions of the group are another group's.
        if status.group != model.group { mode &= ~Self.permissionsOfGroup }
        guard mode != status.permissions else { return }
        do {
            try setPermissions(mode, of: file)
        } catch {
            // The owner does so with the next checkpoint.
            guard error.number == EPERM else { throw error }
        }
    }

    /// Changes the owner, if given, and the group, if this user may.
    private func mayGive(_ file: FileHandle, to owner: uid_t?, _ group: gid_t) throws(SystemError) -> Bool {
        do {
            // The owner that is no number leaves it as it is.
            try setOwner(owner ?? uid_t.max, group, of: file)
            return true
        } catch  where [EPERM, EINVAL, ENOSYS, EOPNOTSUPP].contains(error.number) {
            // Not by this user, not to one whom the namespace of this process lacks, or not on this file system.
            return false
        }
    }
}

extension FileStatus {
    /// The same with a mode that lets the owner read and write: a file that is replaced need not be writable, and one that is
    /// written to has to be.
    var writableByOwner: FileStatus {
        var status = self
        status.mode |= SettingsFile.newFileMode
        return status
    }
}
