// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension SystemCalls {
    /// What the system says of a process.
    struct ProcessStatus {
        /// When it began, in ticks since the system did.
        var start: UInt64
        /// Whether it was stopped, by a signal or a debugger.
        var isStopped: Bool
    }

    /// The number of this process.
    static func currentProcess() -> pid_t { getpid() }

    /// A number for the processes that see the same process numbers; `nil` where the system does not say it.
    static func processNamespace() -> UInt64? {
        do {
            return try SystemCalls().status(at: "/proc/self/ns/pid")?.inode
        } catch {
            return nil
        }
    }

    /// Whether there is a process, as far as the system tells this user.
    static func isRunning(_ process: UInt64) -> Bool {
        pid_t(exactly: process).map { kill($0, 0) == 0 || errno != ESRCH } ?? false
    }

    /// What the system says of a process; `nil` when there is none, or the system says nothing.
    static func statusOfProcess(_ process: UInt64) -> ProcessStatus? {
        do {
            let system = SystemCalls()
            guard let file = try system.openIfPresent(FilePath("/proc/\(process)/stat"), O_RDONLY) else { return nil }
            // The name of the program, in parentheses, may contain any byte; the rest is numbers and one letter.
            let bytes = try system.contents(of: file, in: 0..<4_096)
            guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
            let fields = String(decoding: bytes[(end + 1)...], as: UTF8.self).split(separator: " ")
            guard fields.count > 19, let start = UInt64(fields[19]) else { return nil }
            return ProcessStatus(start: start, isStopped: fields[0] == "T" || fields[0] == "t")
        } catch {
            return nil
        }
    }
}
