// SPDX-License-Identifier: Apache-2.0

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
            guard let directory = try system.openDirectory(path) else { return false }
            return try system.names(in: directory)
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
