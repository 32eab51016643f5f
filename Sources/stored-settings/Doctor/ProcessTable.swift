// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// What the system shows about processes in `/proc`, as far as this user may read it.
enum ProcessTable {
    private static let system = SystemCalls()

    /// Returns the name of a process in parentheses, after a space; an empty string if it is unknown.
    static func name(of process: UInt64) -> String {
        guard let name = SystemCalls.systemText(at: FilePath("/proc/\(process)/comm")) else { return "" }
        return " (\(name.filter { !$0.isNewline }))"
    }

    private static func descriptors(of process: String) -> [String] {
        names(in: FilePath("/proc/\(process)/fd"))
    }

    private static func names(in path: FilePath) -> [String] {
        do {
            return try system.names(in: system.openDirectory(path)).map(\.description)
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
                let lines =
                    SystemCalls.systemText(at: FilePath("/proc/\(process)/fdinfo/\(descriptor)"))?
                    .split(separator: "\n") ?? []
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
        paths.compactMap { SystemCalls.systemText(at: $0).flatMap { Int($0.filter(\.isNumber)) } }.min()
    }
}
