// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// A process that a test has started.
///
/// It is not a `Process` of Foundation, whose `waitUntilExit` runs a run loop.
final class ChildProcess: Sendable {
    let identifier: pid_t
    /// The status of the process, once it was waited for.
    private let status = Mutex<CInt?>(nil)

    /// The descriptors below this one are closed in the new process.
    private static let mostDescriptors: CInt = 4_096

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: The path of the program, and its arguments.
    ///   - directory: The current directory.
    ///   - input: The descriptor of the standard input; `nil` for none.
    ///   - output: The path of a file for the standard output; `nil` for none.
    ///   - errors: The path of a file for the standard error; `nil` for none.
    /// - Throws: An error when the process cannot be started.
    init(
        _ arguments: [String],
        in directory: String,
        input: CInt? = nil,
        output: String? = nil,
        errors: String? = nil
    ) throws {
        let words = ["/bin/sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", directory] + arguments
        // Each copy is freed below, after the system has copied it into the new process.
        var copies: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        #if os(Linux)
        var actions = posix_spawn_file_actions_t()
        #else
        var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_addopen(&actions, 1, output ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        // Foundation notices the end of its processes by descriptors that no other process may inherit.
        for descriptor in 3..<min(getdtablesize(), Self.mostDescriptors) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var identifier: pid_t = 0
        errno = posix_spawn(&identifier, "/bin/sh", &actions, nil, &copies, environ)
        guard errno == 0 else { throw LoopbackSocket.Failure("posix_spawn") }
        self.identifier = identifier
    }

    /// Sends a signal to the process, unless it has ended.
    func send(_ signal: CInt) {
        // While the status is locked, the identifier cannot become that of another process.
        status.withLock { status in
            if status == nil { kill(identifier, signal) }
        }
    }

    /// Whether the process runs.
    var isRunning: Bool { wait(WNOHANG) == nil }

    /// The time after which a process that is expected to end is killed.
    private static let patience = Duration.seconds(600)

    /// Waits for the end of the process, and kills it if it does not end in ten minutes.
    ///
    /// - Returns: Its exit code; 128 or more after a signal.
    @discardableResult
    func waitUntilExit() -> CInt {
        let deadline = ContinuousClock.now + Self.patience
        while true {
            if let code = wait(WNOHANG) { return code }
            if ContinuousClock.now > deadline { send(SIGKILL) }
            // The pace of the checks.
            usleep(1_000)
        }
    }

    private func wait(_ options: CInt) -> CInt? {
        let status = status.withLock { status -> CInt? in
            if let status { return status }
            var number: CInt = 0
            guard waitpid(identifier, &number, options) == identifier else { return nil }
            status = number
            return number
        }
        return status.map { $0 & 0x7F == 0 ? ($0 >> 8) & 0xFF : 128 + ($0 & 0x7F) }
    }
}
