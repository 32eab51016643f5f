// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

extension SystemCalls {
    /// Returns a variable of the process's environment.
    package static func environmentVariable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Returns all variables of the process's environment.
    static func environment() -> [String: String] { ProcessInfo.processInfo.environment }

    /// Returns the path in a variable of the process's environment, which need not be valid UTF-8.
    static func environmentPath(_ name: String) -> FilePath? {
        getenv(name).map { FilePath(cString: $0) }
    }

    /// Returns the command-line arguments, without the name of the program; `nil` when the system does not report them.
    ///
    /// On Linux, Swift reads them from `/proc`.
    package static func arguments(_ all: [String] = CommandLine.arguments) -> [String]? {
        all.isEmpty ? nil : Array(all.dropFirst())
    }

    /// Returns the home directory of the process's user from the user database.
    static func homeDirectoryOfUser() -> FilePath? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        let size = 16_384
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
            // The strings of the entry are in the buffer, so the path is copied before the buffer is deallocated.
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
        // `getcwd` returns allocated memory, which is copied and freed here.
        defer { free(directory) }
        return FilePath(cString: directory)
    }

    /// Returns the path of the executable, or the one that it was started with if the system does not report it.
    static func executablePath(_ link: FilePath = "/proc/self/exe") -> FilePath? {
        #if os(Linux)
        do {
            let path = try SystemCalls().target(ofLink: link)
            // The system adds this suffix if the file was replaced or removed after the program started.
            guard let original = path.removing(" (deleted)"), try SystemCalls().status(at: path) == nil else {
                return path
            }
            return original
        } catch {
            // `AT_EXECFN`, whose string exists as long as the process.
            guard let start = UnsafePointer<CChar>(bitPattern: auxiliaryValue(31)) else { return nil }
            let path = FilePath(cString: start)
            do {
                return try SystemCalls().resolved(path) ?? path
            } catch {
                return path
            }
        }
        #else
        return Bundle.main.executableURL.map { FilePath($0.resolvingSymlinksInPath().path) }
        #endif
    }

    /// Runs a function when this process ends by `exit` or by returning from `main`, and returns whether that is possible.
    static func atExit(_ body: @convention(c) () -> Void) -> Bool { atexit(body) == 0 }

    /// Returns the effective user ID of this process.
    package static func currentUser() -> uid_t { geteuid() }

    /// Returns a number that identifies the current thread among the running threads.
    static func currentThread() -> UInt {
        #if canImport(Glibc)
        return UInt(pthread_self())
        #else
        // The pointer is never dereferenced.
        return UInt(bitPattern: pthread_self())
        #endif
    }

    /// Runs a body that writes to a pipe, and fails with `EPIPE` instead of ending the process if the pipe has no reader.
    package static func withoutPipeSignal(_ body: () -> CInt) -> CInt {
        var pipeSignal = sigset_t()
        var oldMask = sigset_t()
        var pending = sigset_t()
        // All pointers are valid during the calls, which do not retain them.
        sigemptyset(&pipeSignal)
        sigaddset(&pipeSignal, SIGPIPE)
        sigpending(&pending)
        let wasPending = sigismember(&pending, SIGPIPE) == 1
        pthread_sigmask(SIG_BLOCK, &pipeSignal, &oldMask)
        let result = body()
        let number = errno
        if result < 0, number == EPIPE, !wasPending {
            // The signal was sent to this thread and is pending, so this returns at once.
            var received: CInt = 0
            sigpending(&pending)
            if sigismember(&pending, SIGPIPE) == 1 { sigwait(&pipeSignal, &received) }
        }
        pthread_sigmask(SIG_SETMASK, &oldMask, nil)
        errno = number
        return result
    }

    /// Writes to standard error, and ignores errors, because there is no other place to report them.
    package static func writeToStandardError(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            // The bytes are valid during the call, which reads only their count.
            _ = withoutPipeSignal { CInt(clamping: systemWrite(STDERR_FILENO, bytes.baseAddress, bytes.count)) }
        }
    }

    /// Returns the seconds since 1970, by the clock of file time stamps.
    package static func wallClock() -> Double { Date().timeIntervalSince1970 }

    /// A monotonic time in nanoseconds, which advances in steps of some milliseconds and is cheap to obtain.
    package static func coarseTime() -> UInt64 {
        #if os(Linux)
        nanoseconds(of: CLOCK_MONOTONIC_COARSE)
        #else
        clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW_APPROX)
        #endif
    }

    /// Suspends the current thread.
    package static func sleep(seconds: Double) {
        usleep(UInt32(seconds * 1e6))
    }
}

extension SystemCalls {
    /// The status of a process.
    package struct ProcessStatus {
        /// The start time, in clock ticks since the system started.
        var start: UInt64
        /// Whether a signal or a debugger has stopped the process.
        package var isStopped: Bool
        /// Whether the process has ended, and only its parent has not asked for its exit status yet.
        var hasEnded: Bool
    }

    /// Returns the ID of this process.
    static func currentProcess() -> pid_t { getpid() }

    /// Returns a number that identifies the process's PID namespace; `nil` when the system does not report it.
    static func processNamespace() -> UInt64? {
        do {
            return try SystemCalls().status(at: "/proc/self/ns/pid")?.inode
        } catch {
            return nil
        }
    }

    /// Returns whether a process exists, as far as the system reports it to this user.
    static func isRunning(_ process: UInt64) -> Bool {
        pid_t(exactly: process).map { kill($0, 0) == 0 || errno != ESRCH } ?? false
    }

    /// Returns the status of a process; `nil` when it does not exist or the system does not report it.
    package static func statusOfProcess(_ process: UInt64) -> ProcessStatus? {
        do {
            let system = SystemCalls()
            guard let file = try system.openIfPresent(FilePath("/proc/\(process)/stat"), O_RDONLY) else { return nil }
            // The name of the program, in parentheses, can contain any byte. The other fields are numbers and one
            // letter.
            let bytes = try system.contents(of: file, in: 0..<4_096)
            guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
            let fields = String(decoding: bytes[(end + 1)...], as: UTF8.self).split(separator: " ")
            guard fields.count > 19, let start = UInt64(fields[19]) else { return nil }
            // A process whose first thread has ended can have others, which the 18th field counts.
            return ProcessStatus(
                start: start,
                isStopped: fields[0] == "T" || fields[0] == "t",
                hasEnded: ["Z", "X", "x"].contains(fields[0]) && UInt64(fields[17]) ?? 0 <= 1
            )
        } catch {
            return nil
        }
    }
}

#if os(Linux)
// Swift does not import the header of getauxval(3).
@_silgen_name("getauxval")
private func auxiliaryValue(_ type: UInt) -> UInt
#endif
