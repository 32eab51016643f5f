// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Another process of this program.
///
/// It is started and awaited with system calls, because Foundation's `Process` may notice its end much later.
final class ChildProcess {
    private(set) var id: pid_t = 0
    private var status: CInt?

    init(_ arguments: [String]) throws {
        guard let program = Bundle.main.executablePath else { throw Failure("the path of this program is unknown") }
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        let error = Self.withPointers(to: [program, Child.flag] + arguments) { words in
            Self.withPointers(to: environment) { posix_spawn(&id, program, nil, nil, words, $0) }
        }
        guard error == 0 else { throw Failure("cannot start another process: error \(error)") }
    }

    func signal(_ number: CInt) {
        // The status is not collected yet, so the process ID is still valid.
        if status == nil { kill(id, number) }
    }

    /// Kills the process with SIGKILL.
    ///
    /// - Returns: A description of the failure if the process had already ended in another way.
    func end() throws -> String? {
        // A stopped process is killed as well.
        signal(SIGKILL)
        return try failure(after: .seconds(60), expecting: [SIGKILL, 0])
    }

    /// Waits until the process ends by itself.
    ///
    /// - Returns: A description of the failure if the process did not end normally.
    func finish(within limit: Duration = .seconds(60)) throws -> String? {
        try failure(after: limit, expecting: [0])
    }

    /// Whether the process is running or stopped.
    var isRunning: Bool {
        if status != nil { return false }
        var word: CInt = 0
        guard waitpid(id, &word, WNOHANG) == id else { return true }
        status = word
        return false
    }

    private func failure(after limit: Duration, expecting expected: [CInt]) throws -> String? {
        guard try wait(limit, until: { !isRunning }), let status else {
            signal(SIGKILL)
            return "process \(id) did not end"
        }
        // The encoding of wait(2): the signal in the low seven bits, otherwise the exit code in the next byte.
        let signal = status & 0x7F
        if expected.contains(signal), status >> 8 == 0 { return nil }
        return "process \(id) ended with " + (signal == 0 ? "exit code \(status >> 8)" : "signal \(signal)")
    }

    deinit {
        guard isRunning else { return }
        kill(id, SIGKILL)
        waitpid(id, nil, 0)
    }

    private static func withPointers<Result>(
        to words: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        // A null pointer ends the list. The copies are valid during the call, which copies them itself.
        let copies = words.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("the list lacks its null terminator") }
            return body(base)
        }
    }
}
