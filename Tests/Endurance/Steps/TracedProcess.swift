// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import Foundation
import ProcessSupport

/// A child process whose main thread can be stopped and executed in steps, with ptrace(2).
///
/// The process announces with ``pause()`` where the steps begin and end. Its other threads run freely. All calls have to
/// come from the thread that has started the process.
final class TracedProcess {
    /// The state of the main thread after a step.
    enum State {
        case inside
        /// It has called ``pause()``, or was stopped with ``stop()``.
        case paused
    }

    private enum Request: CInt {
        case traceMe = 0
        case `continue` = 7
        case singleStep = 9
        case setOptions = 0x4200
    }

    /// With this option, the process is killed when its tracer ends.
    private static let exitKill: UInt = 1 << 20

    private let process: ChildProcess

    /// Starts a process, and waits until it first calls ``pause()``.
    init(_ arguments: [String]) throws {
        process = try ChildProcess(child: arguments)
        guard try wait() == .paused else { throw Failure("the child process does not begin with a pause") }
        try Self.trace(.setOptions, process.identifier, Self.exitKill)
    }

    func step() throws -> State {
        try Self.trace(.singleStep, process.identifier)
        return try wait()
    }

    /// Runs instructions until the process calls ``pause()``.
    ///
    /// - Parameters:
    ///   - count: The number of instructions after which it stops anyway.
    ///   - limit: The time after which it stops anyway. On a busy machine, an instruction may take milliseconds.
    /// - Returns: The number of instructions, and whether the process has not called ``pause()`` yet.
    /// - Throws: ``Failure`` if the process ends.
    func run(atMost count: Int, within limit: Duration) throws -> (instructions: Int, isInside: Bool) {
        let end = ContinuousClock.now + limit
        for number in 0..<count {
            if ContinuousClock.now >= end { return (number, true) }
            if try step() == .paused { return (number, false) }
        }
        return (count, true)
    }

    /// Lets the process run until it calls ``pause()``.
    func runToPause() throws {
        try resume()
        guard try wait() == .paused else { throw Failure("the child process stops by itself") }
    }

    func resume() throws {
        try Self.trace(.continue, process.identifier)
    }

    /// Stops the process wherever it is.
    func stop() throws {
        process.signal(SIGSTOP)
        guard try wait() == .paused else { throw Failure("the child process stops by itself") }
    }

    func kill() throws {
        if let failure = process.killed() { throw Failure(failure) }
    }

    /// Waits until the main thread stops.
    private func wait() throws -> State {
        while true {
            var status: CInt = 0
            guard waitpid(process.identifier, &status, 0) == process.identifier else {
                throw Failure("waitpid failed: errno \(errno)")
            }
            // The encoding of wait(2): 0x7F in the low byte if the thread has stopped, and the signal in the next one.
            guard status & 0xFF == 0x7F else { throw Failure("the child process ended with status \(status)") }
            switch status >> 8 & 0xFF {
            case SIGTRAP: return .inside
            case SIGSTOP: return .paused
            case let signal: try Self.trace(.continue, process.identifier, UInt(signal))
            }
        }
    }

    // MARK: - In the child process

    /// Lets the parent process trace this thread.
    static func traceThisThread() throws {
        try trace(.traceMe, 0)
    }

    /// Stops this thread until the parent process continues it.
    static func pause() {
        raise(SIGSTOP)
    }

    private static func trace(_ request: Request, _ process: pid_t, _ data: UInt = 0) throws {
        guard traceProcess(request.rawValue, process, 0, data) >= 0 else {
            throw Failure("ptrace \(request) failed: errno \(errno)")
        }
    }
}

/// The function ptrace(2), which Swift does not import because it has variable arguments.
///
/// On x86_64 and arm64 Linux, integers are passed to such a function like to any other.
@_silgen_name("ptrace")
private func traceProcess(_ request: CInt, _ process: pid_t, _ address: UInt, _ data: UInt) -> Int
#endif
