// SPDX-License-Identifier: Apache-2.0

import Foundation

/// This program once more, as another process.
///
/// It is started and waited for with the system's own calls: Foundation's `Process` may hear of an end much later.
final class ChildProcess {
    private var id: pid_t = 0
    private var status: CInt?

    init(_ arguments: [String]) throws {
        guard let program = Bundle.main.executablePath else { throw Failure("this program's path is not known") }
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        let error = Self.withPointers(to: [program, Child.flag] + arguments) { words in
            Self.withPointers(to: environment) { posix_spawn(&id, program, nil, nil, words, $0) }
        }
        guard error == 0 else { throw Failure("cannot start another process: error \(error)") }
    }

    func signal(_ number: CInt) {
        // Not collected yet, so the number is still its own.
        if status == nil { kill(id, number) }
    }

    /// Ends it as `kill -9` does.
    ///
    /// - Returns: What became of it, if it had ended before, and otherwise than it should.
    func end() throws -> String? {
        // What was stopped is killed all the same.
        signal(SIGKILL)
        return try complaint(after: .seconds(60), expecting: [SIGKILL, 0])
    }

    /// Waits until it has ended by itself.
    ///
    /// - Returns: What became of it, if it was not what should.
    func finish(within limit: Duration = .seconds(60)) throws -> String? {
        try complaint(after: limit, expecting: [0])
    }

    /// Whether it still runs, or is stopped.
    var isRunning: Bool {
        if status != nil { return false }
        var word: CInt = 0
        guard waitpid(id, &word, WNOHANG) == id else { return true }
        status = word
        return false
    }

    private func complaint(after limit: Duration, expecting expected: [CInt]) throws -> String? {
        guard try wait(limit, until: { !isRunning }), let status else {
            signal(SIGKILL)
            return "process \(id) did not end"
        }
        // As wait(2) packs them: the signal in the low seven bits, else the exit code in the next byte.
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
        // A nil ends the list. The copies live for as long as the call, which copies them in its turn.
        let copies = words.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("there is a nil in it") }
            return body(base)
        }
    }
}
