// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Handlers of signals that are in place for the duration of one call.
struct SignalHandlers {
    /// The signals with which a person or a service manager ends a program.
    static let ending = [SIGINT, SIGQUIT, SIGTERM, SIGHUP]

    private var previous: [(number: CInt, action: sigaction)] = []

    /// The signals that are handled.
    var numbers: [CInt] { previous.map(\.number) }

    /// Installs a handler for some signals, by default except for those that the process ignores.
    mutating func install(
        _ handler: (@convention(c) (CInt) -> Void)?,
        for numbers: [CInt],
        evenIfIgnored: Bool = false
    ) {
        for number in numbers {
            var old = sigaction()
            // The call fills the structure, and does not retain the pointer.
            guard sigaction(number, nil, &old) == 0 else { continue }
            let before = signal(number, handler)
            if !evenIfIgnored, unsafeBitCast(before, to: UInt.self) == unsafeBitCast(SIG_IGN, to: UInt.self) {
                _ = sigaction(number, &old, nil)
            } else {
                previous.append((number, old))
            }
        }
    }

    /// Restores the previous handlers.
    mutating func restore() {
        for (number, action) in previous {
            var action = action
            _ = sigaction(number, &action, nil)
        }
        previous = []
    }
}

/// The program that receives the signals of this process while this process waits for it.
///
/// There is one at a time: a command waits for the editor before it does anything else.
enum ForwardedSignals {
    private static let process = Atomic<CInt>(0)
    private static let received = Atomic<CInt>(0)

    /// Forwards some signals to a program from now on.
    static func begin(_ handlers: inout SignalHandlers, for numbers: [CInt]) {
        // The handler must not be the first to use them: that would take a lock.
        process.store(0, ordering: .sequentiallyConsistent)
        received.store(0, ordering: .sequentiallyConsistent)
        handlers.install({ ForwardedSignals.forward($0) }, for: numbers)
    }

    /// Names the program, which receives a signal that has arrived before.
    static func send(to process: pid_t) {
        self.process.store(process, ordering: .sequentiallyConsistent)
        let number = received.load(ordering: .sequentiallyConsistent)
        if number != 0 { _ = kill(process, number) }
    }

    /// Returns the last signal that arrived, after the handlers have been restored; 0 for none.
    static func end() -> CInt {
        process.store(0, ordering: .sequentiallyConsistent)
        return received.load(ordering: .sequentiallyConsistent)
    }

    /// Runs in a signal handler: it only uses atomics and makes a system call.
    private static func forward(_ number: CInt) {
        let error = errno
        received.store(number, ordering: .sequentiallyConsistent)
        let process = process.load(ordering: .sequentiallyConsistent)
        if process != 0 { _ = kill(process, number) }
        errno = error
    }
}

/// The signals that would end this process while a command has files to remove.
///
/// They are caught until the last of the commands that need that has ended, and then act on the process.
enum CaughtSignals {
    private static let received = Atomic<CInt>(0)
    private static let state = Locked<(count: Int, handlers: SignalHandlers)>((0, SignalHandlers()))

    /// The last signal that was caught; 0 for none.
    static var number: CInt { received.load(ordering: .sequentiallyConsistent) }

    /// Catches signals until ``end()`` is called as often as this function.
    static func begin() {
        state.withLock { state in
            state.count += 1
            guard state.count == 1 else { return }
            // The handler must not be the first to use it: that would take a lock.
            received.store(0, ordering: .sequentiallyConsistent)
            state.handlers.install(
                { CaughtSignals.received.store($0, ordering: .sequentiallyConsistent) },
                for: SignalHandlers.ending
            )
        }
    }

    /// Restores the previous handlers, and sends a signal that was caught to the process again.
    static func end() {
        state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return }
            state.handlers.restore()
            if number != 0 { _ = kill(getpid(), number) }
        }
    }
}

// MARK: - Hidden input

/// The terminal while it does not show what a person types.
enum HiddenInput {
    /// The mode of the terminal before.
    ///
    /// Unsafe: one thread at a time reads from the terminal. It writes the mode before the handler that reads it is installed,
    /// and the memory is never freed.
    nonisolated(unsafe) private static let mode = UnsafeMutablePointer<termios>.allocate(capacity: 1)

    /// Runs a body while the terminal that is standard input shows nothing, and then restores it, also if a signal ends the
    /// process.
    static func run<Result>(_ body: () throws(SystemError) -> Result) throws(SystemError) -> Result {
        var hidden = termios()
        guard tcgetattr(STDIN_FILENO, &hidden) == 0 else { return try body() }
        mode.initialize(to: hidden)
        var handlers = SignalHandlers()
        handlers.install({ HiddenInput.restoreAndEnd($0) }, for: SignalHandlers.ending)
        hidden.c_lflag &= ~tcflag_t(ECHO)
        _ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            _ = tcsetattr(STDIN_FILENO, TCSANOW, mode)
            handlers.restore()
        }
        return try body()
    }

    /// Runs in a signal handler: it only makes system calls.
    private static func restoreAndEnd(_ number: CInt) {
        _ = tcsetattr(STDIN_FILENO, TCSANOW, mode)
        // The signal is blocked here, so it ends the process when this returns.
        _ = signal(number, SIG_DFL)
        _ = raise(number)
    }
}

extension SystemCalls {
    /// Prints a prompt on standard error, and reads a line of standard input.
    ///
    /// - Parameters:
    ///   - prompt: The prompt.
    ///   - isHidden: Whether the terminal does not show the line.
    /// - Returns: The line without its end; `nil` at the end of the input.
    /// - Throws: ``SystemError``, with `EILSEQ` if the line is not UTF-8.
    func readLine(prompt: String, isHidden: Bool) throws(SystemError) -> String? {
        guard isHidden else {
            SystemCalls.writeToStandardError(prompt)
            return try readLine()
        }
        let line = try HiddenInput.run { () throws(SystemError) in
            SystemCalls.writeToStandardError(prompt)
            return try readLine()
        }
        // The line feed of the person was not shown either.
        SystemCalls.writeToStandardError("\n")
        return line
    }

    /// Reads the answer to a question from standard input; `nil` at its end, and after a signal of ``CaughtSignals``.
    static func readAnswer() -> String? {
        var bytes: [UInt8] = []
        while CaughtSignals.number == 0 {
            var request = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            // The signal may arrive on another thread. The calls use the structure and the byte, and do not retain them.
            guard poll(&request, 1, 50) > 0 else { continue }
            var byte: UInt8 = 0
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0, [EINTR, EAGAIN].contains(errno) { continue }
            guard count > 0 else { return nil }
            guard byte != UInt8(ascii: "\n") else { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }

    private func readLine() throws(SystemError) -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            // The pointer is used only during the call.
            let count = try call(.read, "standard input") { CInt(clamping: read(STDIN_FILENO, &byte, 1)) }
            if count == 0, bytes.isEmpty { return nil }
            guard count > 0, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        guard let line = String(validating: bytes, as: UTF8.self) else {
            throw SystemError(call: .read, path: "standard input", number: EILSEQ)
        }
        return line
    }
}
