// SPDX-License-Identifier: Apache-2.0
// See Documentation/Security.md, "Which directories are safe".

import StoredSettings

extension Examination {
    /// Finds users that cannot write to the settings file, but can replace it, or a directory or link on the way to it.
    ///
    /// A directory of the settings that all users can write to is a finding already.
    mutating func examineWriters(
        _ directory: SettingsDirectory,
        _ own: FileStatus,
        _ settings: FileStatus?
    ) throws {
        // While there is no file, the group of the directory can create it.
        let shared = settings.map { $0.isRegular && $0.isSharedWithGroup ? $0.group : nil } ?? own.group
        let owners: Set<UInt32> = [0, SystemCalls.currentUser(), own.owner, settings?.owner ?? own.owner]
        for path in try directories(on: place.file) {
            guard let status = try system.status(at: path) else { continue }
            let isOwn = status.isSameFile(as: own)
            guard let writer = writer(to: path, status, owners, shared),
                !isOwn || status.permissions & FileMode.otherWrite == 0
            else { continue }
            add(
                Finding(
                    .permissions,
                    isError: status.permissions & FileMode.otherWrite != 0,
                    path,
                    "\(writer) can write to \(isOwn ? "the directory" : "a directory of the path") "
                        + "(\(status.permissions.octal))" + (isOwn ? ", but not to the settings file" : ""),
                    consequence: "the settings can be replaced by others, and later ones read",
                    remedy: Self.safePlace,
                    code: .untrustedFile
                )
            )
        }
    }

    /// Returns users that can write to a directory although they are neither root nor the owner of the settings.
    ///
    /// - Parameters:
    ///   - path: The path of the directory.
    ///   - status: Its status.
    ///   - owners: Root, the current user, and the owners of the settings and of their directory.
    ///   - shared: The group that can write to the settings; `nil` if there is none.
    /// - Returns: What to call them; `nil` if there are none.
    private func writer(
        to path: FilePath,
        _ status: FileStatus,
        _ owners: Set<UInt32>,
        _ shared: UInt32?
    ) -> String? {
        // The system shows the users of another namespace as this one.
        guard owners.contains(status.owner) || status.owner == UserDatabase.unknownUser else {
            return "user \(status.owner)"
        }
        // In a directory with the sticky bit, each user can replace only what it owns.
        guard status.permissions & FileMode.sticky == 0 else { return nil }
        if status.permissions & FileMode.otherWrite != 0 { return "every user" }
        guard status.permissions & FileMode.groupWrite != 0 else { return nil }
        let list = system.accessList(at: path, in: nil)
        if let list, list.permissions(ofOthersThan: owners, group: shared) & 2 != 0 {
            return "a user or group of its access control list"
        }
        guard list.map({ $0.groupPermissions & 2 != 0 }) ?? true, status.group != shared,
            !UserDatabase.isGroup(status.group, of: owners)
        else { return nil }
        return "group \(status.group)"
    }

    /// The directories that decide which file a path leads to: those of the path, and those of its links.
    private func directories(on path: FilePath) throws -> [FilePath] {
        var (found, current, links): ([FilePath], FilePath, Int) = ([], "/", 0)
        var rest = Array(path.components.reversed())
        while let component = rest.popLast() {
            if !found.contains(current) { found.append(current) }
            guard component != ".." else {
                current = current.directory
                continue
            }
            let next = current.appending(component)
            guard component != ".", let status = try system.linkStatus(at: next) else { continue }
            guard status.isLink, links < FilePath.mostLinks else {
                current = next
                continue
            }
            let target = try system.target(ofLink: next)
            if target.isAbsolute { current = "/" }
            rest += target.components.reversed()
            links += 1
        }
        return found
    }
}
