// SPDX-License-Identifier: Apache-2.0

package import Foundation
import StoredSettings
import Synchronization

/// A process that a test has started.
///
/// It begins like one that a login shell starts, whatever the surroundings of the tests: no signal is ignored or blocked, and the
/// descriptors 0, 1 and 2 are open, and no others. It is not a `Process` of Foundation, which may notice the end of a process
/// much later, and reads beyond its list of descriptors when there are more than 1,300.
package final class ChildProcess: Sendable {
    /// The standard input of a process.
    package enum Input: Sendable {
        /// There is nothing to read.
        case none
        /// What ``write(_:)`` is given.
        case pipe
        case descriptor(CInt)
    }

    /// How a process has ended.
    package enum Ending: Hashable, Sendable {
        case exit(CInt)
        case signal(CInt)
        /// Other code has waited for the process.
        case unknown
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    private struct State {
        var ending: Ending?
        /// The last text that was written to the process.
        var request = ""
    }

    package let identifier: pid_t
    /// The standard output; empty if it leads to a descriptor.
    package let output: OutputFile
    /// The standard error; empty if it leads to a descriptor.
    package let errors: OutputFile

    private let words: [String]
    private let state = Mutex(State())
    /// The end of the pipe that this process writes to, which it may have to wait for; -1 if there is none.
    private let input: Mutex<CInt>

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: The path of the program, and its arguments.
    ///   - environment: The environment; `nil` for that of this process.
    ///   - directory: The current directory; `nil` for that of this process.
    ///   - input: The standard input.
    ///   - output: The descriptor of the standard output; `nil` for ``output``.
    ///   - errors: The descriptor of the standard error; `nil` for ``errors``.
    /// - Throws: ``Failure`` when the process cannot be started.
    package init(
        _ words: [String],
        environment: [String: String]? = nil,
        in directory: String? = nil,
        input: Input = .none,
        output: CInt? = nil,
        errors: CInt? = nil
    ) throws {
        Surroundings.prepare()
        self.words = words
        (self.output, self.errors) = (try OutputFile(), try OutputFile())
        var pipe: [CInt] = [-1, -1]
        let source: CInt
        switch input {
        case .none: source = -1
        case .descriptor(let descriptor): source = descriptor
        case .pipe:
            try Self.makePipe(&pipe)
            source = pipe[0]
        }
        defer { if pipe[0] >= 0 { close(pipe[0]) } }
        self.input = Mutex(pipe[1])
        do {
            let change = directory.map { ["/bin/sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", $0] } ?? []
            identifier = try Self.start(
                change + words,
                (environment ?? ProcessInfo.processInfo.environment).map { "\($0.key)=\($0.value)" },
                [source, output ?? self.output.descriptor, errors ?? self.errors.descriptor]
            )
        } catch {
            if pipe[1] >= 0 { close(pipe[1]) }
            throw error
        }
    }

    deinit {
        closeInput()
        // A process that its test has left.
        _ = end()
    }

    // MARK: - Starting

    private static func makePipe(_ ends: inout [CInt]) throws {
        // The call fills the array.
        guard Foundation.pipe(&ends) == 0 else { throw Failure("pipe: error \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    // The descriptors are those of the standard streams; a negative one stands for none.
    private static func start(_ words: [String], _ environment: [String], _ descriptors: [CInt]) throws -> pid_t {
        #if canImport(Darwin)
        var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?)
        let flags = Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT)
        #else
        var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        let flags = Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            if descriptor < 0 {
                posix_spawn_file_actions_addopen(&actions, CInt(number), "/dev/null", O_RDWR, 0)
            } else {
                posix_spawn_file_actions_adddup2(&actions, descriptor, CInt(number))
            }
        }
        #if !canImport(Darwin)
        for descriptor in 3..<min(getdtablesize(), Surroundings.mostDescriptors) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (all, none) = (sigset_t(), sigset_t())
        sigfillset(&all)
        for number in [SIGKILL, SIGSTOP] { sigdelset(&all, number) }
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, flags)
        var identifier: pid_t = 0
        let error = withPointers(to: words) { words in
            withPointers(to: environment) { posix_spawn(&identifier, words[0]!, &actions, &attributes, words, $0) }
        }
        guard error == 0 else { throw Failure("'\(words.first ?? "")' cannot be started: error \(error)") }
        return identifier
    }

    private static func withPointers<Result>(
        to words: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        // A null pointer ends the list. The copies are valid during the call, which copies them itself.
        let copies = words.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { body($0.baseAddress!) }
    }

    // MARK: - Input

    /// Writes to the pipe that is the process's standard input.
    package func write(_ text: String) throws {
        state.withLock { $0.request = text }
        try input.withLock { input in
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { Foundation.write(input, $0.baseAddress, $0.count) }
                guard count > 0 else {
                    if count < 0, errno == EINTR { continue }
                    throw Failure("the input of \(words) cannot be written: error \(errno)")
                }
                bytes = bytes.dropFirst(count)
            }
        }
    }

    /// Ends the standard input of the process.
    package func closeInput() {
        input.withLock { input in
            if input >= 0 { close(input) }
            input = -1
        }
    }

    // MARK: - Ending

    /// How the process has ended; `nil` if it is running or stopped.
    package var ending: Ending? { state.withLock { collect(&$0) } }

    package var isRunning: Bool { ending == nil }

    private func collect(_ state: inout State) -> Ending? {
        if let ending = state.ending { return ending }
        var status: CInt = 0
        // The encoding of wait(2): 0x7F in the low byte if it is a traced process that has stopped; the signal in the low seven
        // bits, otherwise the exit code in the next byte.
        switch waitpid(identifier, &status, WNOHANG) {
        case identifier where status & 0xFF != 0x7F:
            let signal = status & 0x7F
            state.ending = signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
        case -1 where errno == ECHILD: state.ending = .unknown
        default: break
        }
        return state.ending
    }

    /// Sends a signal to the process, unless it has ended.
    package func signal(_ number: CInt) {
        // Until the end is collected under the lock, the identifier cannot become that of another process.
        state.withLock { state in
            if state.ending == nil { kill(identifier, number) }
        }
    }

    /// Kills the process with `SIGKILL` if it runs, and waits until it is gone.
    @discardableResult
    package func end() -> Ending {
        signal(SIGKILL)
        while true {
            if let ending { return ending }
            // The pace of the checks.
            usleep(500)
        }
    }

    /// Waits for the end of the process on the calling thread.
    ///
    /// - Parameter limit: The time after which the process is killed.
    /// - Returns: How it has ended.
    /// - Throws: ``Failure`` with what is known about the process when it had to be killed.
    @discardableResult
    package func waitUntilEnd(within limit: Duration = .seconds(50)) throws -> Ending {
        var deadline = Deadline(after: limit)
        while true {
            if let ending { return ending }
            guard !deadline.hasPassed else {
                let description = description
                end()
                throw Failure("it did not end within \(limit) and was killed: \(description)")
            }
            deadline.pauseOnThread()
        }
    }
}

// MARK: - What is known about a process

extension ChildProcess: CustomStringConvertible {
    /// The program, its last request, its state and the ends of its output, for the failure of a test.
    package var description: String {
        let request = state.withLock(\.request).trimmingCharacters(in: .newlines)
        let state =
            switch ending {
            case nil: "runs\(whereabouts)"
            case .exit(let code): "has ended with code \(code)"
            case .signal(let number): "was ended by signal \(number)"
            case .unknown: "has ended"
            }
        return """
            process \(identifier) \(state): \(words.joined(separator: " "))
              last request: \(request.isEmpty ? "none" : request)
              output: \(Self.end(of: output.text))
              errors: \(Self.end(of: errors.text))
            """
    }

    private static func end(of text: String) -> String {
        text.isEmpty
            ? "none" : text.split(separator: "\n").suffix(12).map { $0.suffix(500) }.joined(separator: "\n    ")
    }

    /// The state of each thread, and the function of the kernel in which it waits, as far as the system shows them.
    private var whereabouts: String {
        let directory = "/proc/\(identifier)/task"
        guard let threads = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return "" }
        // A thread that has ended meanwhile is left out, and so is what this user cannot read.
        let states = threads.prefix(16)
            .compactMap { thread -> String? in
                guard let stat = try? String(contentsOfFile: "\(directory)/\(thread)/stat", encoding: .utf8) else {
                    return nil
                }
                let letter = stat.split(separator: ")").last?.split(separator: " ").first ?? "?"
                let function = (try? String(contentsOfFile: "\(directory)/\(thread)/wchan", encoding: .utf8)) ?? "?"
                return "\(letter) in \(function)"
            }
        return states.isEmpty ? "" : " (\(states.joined(separator: ", ")))"
    }
}
