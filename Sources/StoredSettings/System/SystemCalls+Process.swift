// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension SystemCalls {
    /// A variable of the process's environment.
    static func environmentVariable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// A variable of the process's environment that holds a path, byte by byte.
    static func environmentPath(_ name: String) -> FilePath? {
        getenv(name).map { FilePath(cString: $0) }
    }

    /// What the program was started with, without its own name.
    static func arguments() -> [String] {
        Array(CommandLine.arguments.dropFirst())
    }

    /// The home directory that the system's user database has for the user of this process.
    static func homeDirectoryOfUser() -> FilePath? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        let size = 16_384
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
            // The entry's texts lie in the buffer, so the one of interest is copied before the buffer ends.
            guard let start = buffer.baseAddress,
                getpwuid_r(getuid(), &entry, start, size, &result) == 0,
                result != nil,
                let directory = entry.pw_dir
            else { return nil }
            return FilePath(cString: directory)
        }
    }

    static func currentDirectory() -> FilePath? {
        guard let directory = getcwd(nil, 0) else { return nil }
        // `getcwd` returns memory that it has allocated, which is copied and freed here.
        defer { free(directory) }
        return FilePath(cString: directory)
    }

    /// The path of the program that runs, as far as the system tells it.
    static func executablePath() -> FilePath? {
        #if os(Linux) || os(Android)
        do {
            let path = try SystemCalls().target(ofLink: "/proc/self/exe")
            // What the system adds when the file has been replaced or removed since the program began.
            guard let original = path.removing(" (deleted)"), try SystemCalls().status(at: path) == nil else {
                return path
            }
            return original
        } catch {
            return CommandLine.arguments.first.map { FilePath($0) }
        }
        #else
        return CommandLine.arguments.first.map { FilePath($0) }
        #endif
    }

    /// The user whose permissions this process has.
    static func currentUser() -> uid_t { geteuid() }

    /// A number that tells the current thread from others that run now.
    static func currentThread() -> UInt {
        #if canImport(Glibc)
        return UInt(pthread_self())
        #else
        // A pointer that is never followed.
        return UInt(bitPattern: pthread_self())
        #endif
    }

    /// Writes a line where people look for what went wrong.
    ///
    /// When even that fails there is nobody left to tell.
    static func writeToStandardError(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            // The bytes are valid for the call, which reads no further than their count.
            _ = systemWrite(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }

    /// Seconds since 1970, by the clock that file times are told by.
    static func wallClock() -> Double { Date().timeIntervalSince1970 }

    /// Lets other threads and processes have their turn.
    static func yield() {
        sched_yield()
    }

    /// Lets other processes go on for a while.
    static func sleep(seconds: Double) {
        usleep(UInt32(seconds * 1e6))
    }
}

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
