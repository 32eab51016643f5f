// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// What the system shows about processes in `/proc`, as far as this user may read it.
enum ProcessTable {
    private static let system = SystemCalls()
    private static let longestFile = 1 << 18

    /// Returns the contents of a file of the system; `nil` if it does not exist or this user may not read it.
    static func text(of path: FilePath) -> String? {
        do {
            guard let file = try system.openIfPresent(path, OpenFlags.readOnly) else { return nil }
            // Such a file reports no size, and some can be read only at once.
            return String(decoding: try system.contents(of: file, in: 0..<longestFile), as: UTF8.self)
        } catch {
            return nil
        }
    }

    /// Returns the name of a process in parentheses, after a space; an empty string if it is unknown.
    static func name(of process: UInt64) -> String {
        guard let name = text(of: FilePath("/proc/\(process)/comm")) else { return "" }
        return " (\(name.filter { !$0.isNewline }))"
    }

    /// Returns the process that has locked a file with `flock`: 0 for one of another PID namespace, and `nil` if none has.
    static func holder(ofLockOn file: FileStatus) throws -> Int? {
        guard let table = text(of: "/proc/locks") else { return nil }
        for line in table.split(separator: "\n") {
            // 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
            let fields = line.split(separator: " ")
            guard fields.count >= 6, fields[1] == "FLOCK", let process = Int(fields[4]) else { continue }
            let numbers = fields[5].split(separator: ":")
            guard numbers.count == 3, UInt64(numbers[2]) == file.inode, let major = UInt64(numbers[0], radix: 16),
                let minor = UInt64(numbers[1], radix: 16)
            else { continue }
            // On some file systems, the device of the status is not that of the lock.
            guard file.hasDevice(major, minor) || hasOpen(file, process) else { continue }
            return max(process, 0)
        }
        return nil
    }

    private static func hasOpen(_ file: FileStatus, _ process: Int) -> Bool {
        descriptors(of: "\(process)")
            .contains { name in
                do {
                    return try system.status(at: FilePath("/proc/\(process)/fd/\(name)"))?.isSameFile(as: file) ?? false
                } catch {
                    return false
                }
            }
    }

    private static func descriptors(of process: String) -> [String] {
        names(in: FilePath("/proc/\(process)/fd"))
    }

    private static func names(in path: FilePath) -> [String] {
        do {
            return try system.openDirectory(path).map { try system.names(in: $0).map(\.description) } ?? []
        } catch {
            // The process has ended, or belongs to another user.
            return []
        }
    }

    /// The inotify instances and watches of this user, as far as its processes can be examined.
    static func watches() -> (instances: Int, watches: Int) {
        var (instances, watches) = (0, 0)
        for process in names(in: "/proc") where process.allSatisfy(\.isNumber) {
            guard owner(of: process) == SystemCalls.currentUser() else { continue }
            for descriptor in descriptors(of: process) where isWatchQueue(process, descriptor) {
                instances += 1
                let lines = text(of: FilePath("/proc/\(process)/fdinfo/\(descriptor)"))?.split(separator: "\n") ?? []
                watches += lines.count { $0.hasPrefix("inotify ") }
            }
        }
        return (instances, watches)
    }

    private static func owner(of process: String) -> UserID? {
        do {
            return try system.status(at: FilePath("/proc/\(process)"))?.owner
        } catch {
            return nil
        }
    }

    private static func isWatchQueue(_ process: String, _ descriptor: String) -> Bool {
        do {
            let target = try system.target(ofLink: FilePath("/proc/\(process)/fd/\(descriptor)"))
            return target.description.hasSuffix("inotify")
        } catch {
            return false
        }
    }

    /// Returns a limit of the system, the lowest one of several files; `nil` if it is unknown.
    static func limit(_ paths: FilePath...) -> Int? {
        paths.compactMap { text(of: $0).flatMap { Int($0.filter(\.isNumber)) } }.min()
    }
}

extension FileStatus {
    fileprivate func hasDevice(_ major: UInt64, _ minor: UInt64) -> Bool {
        let number =
            ((major & 0xFFFF_F000) << 32) | ((major & 0xFFF) << 8) | ((minor & 0xFFFF_FF00) << 12) | (minor & 0xFF)
        return device == number
    }
}
