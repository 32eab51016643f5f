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
        for path in try directories(on: place.file) {
            guard let status = try system.status(at: path) else { continue }
            let isOwn = status.isSameFile(as: own)
            guard let writer = writer(to: path, status, owner: own.owner, shared),
                !isOwn || status.permissions & FileMode.otherWrite == 0
            else { continue }
            var remedy = "run \(writer.remedy) \(path)"
            if isOwn, writer.isGroup {
                let file = path.appending(directory.name)
                remedy += ", or share the settings: run chgrp \(status.group) \(file), and chmod g+rw \(file)"
            } else {
                remedy += ", or store the settings elsewhere"
            }
            add(
                Finding(
                    .permissions,
                    isError: status.permissions & FileMode.otherWrite != 0,
                    path,
                    "\(writer.name) can write to \(isOwn ? "the directory" : "a directory of the path") "
                        + "(\(status.permissions.octal))" + (isOwn ? ", but not to the settings file" : ""),
                    consequence: "the settings can be replaced by others, and later ones read",
                    remedy: remedy,
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
    ///   - owner: The owner of the settings.
    ///   - shared: The group that can write to the settings; `nil` if there is none.
    /// - Returns: What to call them, the command that ends it, and whether they are the group; `nil` if there are none.
    private func writer(
        to path: FilePath,
        _ status: FileStatus,
        owner: UInt32,
        _ shared: UInt32?
    ) -> (name: String, remedy: String, isGroup: Bool)? {
        let trusted: Set<UInt32> = [owner, 0]
        // The system shows the users of another namespace as this one.
        guard trusted.contains(status.owner) || status.owner == UserDatabase.unknownUser else {
            return ("user \(status.owner)", "chown \(owner)", false)
        }
        // In a directory with the sticky bit, each user can replace only what it owns.
        guard status.permissions & FileMode.sticky == 0 else { return nil }
        if status.permissions & FileMode.otherWrite != 0 { return ("every user", "chmod o-w", false) }
        guard status.permissions & FileMode.groupWrite != 0 else { return nil }
        let list = system.accessList(at: path, in: nil).map(AccessList.init)
        if let list, list.hasOtherWriters(than: trusted) {
            return ("a user or group of its access control list", "setfacl -b", false)
        }
        guard list?.isWritableByGroup ?? true, status.group != shared,
            !UserDatabase.isGroup(status.group, of: trusted)
        else { return nil }
        return ("group \(status.group)", "chmod g-w", true)
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
            guard status.isLink, links < 40 else {
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

/// An access control list, as `getxattr` returns it: see acl(5) and <linux/posix_acl_xattr.h>.
private struct AccessList {
    private let entries: [(kind: UInt16, permissions: UInt16, id: UInt32)]
    /// Whether it is too long to be read.
    private let isUnknown: Bool

    init(_ bytes: [UInt8]) {
        func number(at offset: Int, _ count: Int) -> UInt32 {
            (0..<count).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) }
        }
        isUnknown = bytes.isEmpty
        entries = stride(from: 4, to: bytes.count - 7, by: 8)
            .map { (UInt16(number(at: $0, 2)), UInt16(number(at: $0 + 2, 2)), number(at: $0 + 4, 4)) }
    }

    /// Whether the mask permits writing.
    private var isWritable: Bool { entries.allSatisfy { $0.kind != 16 || $0.permissions & 2 != 0 } }

    /// Whether the owning group may write.
    var isWritableByGroup: Bool { isWritable && entries.contains { $0.kind == 4 && $0.permissions & 2 != 0 } }

    /// Whether a named group, or a named user other than some, may write.
    func hasOtherWriters(than users: Set<UInt32>) -> Bool {
        isUnknown
            || isWritable
                && entries.contains {
                    ($0.kind == 8 || $0.kind == 2 && !users.contains($0.id)) && $0.permissions & 2 != 0
                }
    }
}
