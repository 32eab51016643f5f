// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

/// A process of the helper program, which does what it is told line by line.
final class Probe: Sendable {
    /// Where the process keeps its settings.
    enum Place: Sendable {
        case file(String)
        /// A suite by name, below a directory of the test's own.
        case suite(String, home: String)

        /// The path of the file, either way.
        var path: String {
            switch self {
            case .file(let path): path
            case .suite(let name, let home): "\(home)/\(name)/settings.json"
            }
        }
    }

    /// How the process is started.
    struct Launch: Sendable {
        /// A program with its arguments that is given the helper's command line as further ones, and becomes it.
        var wrapper: [String] = []
        /// Flags after the place, which override settings.
        var flags: [String] = []
        /// The current directory; the tests' own when there is none.
        var directory: String?
        /// Variables that the process has otherwise than the tests; without a value, not at all.
        var environment: [String: String?] = [:]
    }

    private let process = Process()
    private let input = Pipe()
    private let output: OutputFile
    private let errors: OutputFile

    init(at place: Place, _ launch: Launch = Launch()) throws {
        // A helper that has died must not take the tests along when it is talked to.
        _ = Foundation.signal(SIGPIPE, SIG_IGN)
        (output, errors) = (try OutputFile(), try OutputFile())
        var environment = ProcessInfo.processInfo.environment
        var arguments: [String]
        switch place {
        case .file(let path):
            arguments = ["--file", path]
        case .suite(let name, let home):
            arguments = ["--suite", name]
            environment["STORED_SETTINGS_HOME"] = home
        }
        arguments += launch.flags
        for (name, value) in launch.environment { environment[name] = value }
        process.environment = environment
        if let wrapper = launch.wrapper.first {
            process.executableURL = URL(fileURLWithPath: wrapper)
            process.arguments = try launch.wrapper.dropFirst() + [program("settings-probe").path] + arguments
        } else {
            process.executableURL = try program("settings-probe")
            process.arguments = arguments
        }
        if let directory = launch.directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        process.standardInput = input
        process.standardOutput = output.handle
        process.standardError = errors.handle
        try process.run()
    }

    // MARK: - Talking

    /// Tells the process what to do.
    func send(_ command: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
    }

    /// The next line that the process says.
    func line(within limit: Duration = .seconds(60), sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> String
    {
        var line: String?
        await eventually("the helper says something", within: limit, sourceLocation: sourceLocation) {
            // In this order, so that the last words of a helper that has ended are not missed.
            let isGone = isGone
            line = output.next()
            return line != nil || isGone
        }
        return try #require(line, "\(errors.text)", sourceLocation: sourceLocation)
    }

    /// Tells the process what to do, if anything is given, and expects its next line to be this one.
    func expect(
        _ command: String? = nil,
        says expected: String = "done",
        within limit: Duration = .seconds(60),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        if let command { try send(command) }
        let answer = try await line(within: limit, sourceLocation: sourceLocation)
        #expect(answer == expected, sourceLocation: sourceLocation)
    }

    /// Makes the process watch a key, and expects the value that it says first.
    func watch(_ key: String, from value: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try send("watch \(key)")
        // In either order: what watches does so beside what answers.
        let lines = [try await line(sourceLocation: sourceLocation), try await line(sourceLocation: sourceLocation)]
        #expect(Set(lines) == ["done", "\(key) is \(value)"], sourceLocation: sourceLocation)
    }

    /// Expects the process to read a value before long: for what it has to notice by itself.
    func expectSoon(
        _ key: String,
        is value: Int,
        within limit: Duration = .seconds(10),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually("\(key) is \(value)", within: limit, sourceLocation: sourceLocation) {
            try send("get \(key)")
            return try await line(sourceLocation: sourceLocation) == "\(value)"
        }
    }

    /// All the whole lines that the process has said before it ended, and nobody has read.
    func remainingLines() -> [String] {
        var lines: [String] = []
        while let line = output.next() { lines.append(line) }
        return lines
    }

    /// What the process has complained of so far.
    var complaints: String { errors.text }

    /// The same, but for those of a file that a test has emptied and, being kept waiting itself, has not written to for
    /// longer than the library gives an editor.
    var complaintsButOfEmptyFiles: String {
        complaints.split(separator: "\n").filter { !$0.contains("the file is empty") }.joined(separator: "\n")
    }

    // MARK: - Ending

    /// Sends a signal to this process alone.
    func signal(_ number: CInt) {
        if !isGone { kill(process.processIdentifier, number) }
    }

    /// Lets the process come to its own end, waits for that, and expects that it was no trap.
    func finish(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try input.fileHandleForWriting.close()
        await eventually("the helper ends by itself", sourceLocation: sourceLocation) { isGone }
        await eventually("its status is known", sourceLocation: sourceLocation) { !process.isRunning }
        #expect(process.terminationReason == .exit, sourceLocation: sourceLocation)
        #expect(process.terminationStatus == 0, sourceLocation: sourceLocation)
    }

    /// The number of the process.
    var identifier: pid_t { process.processIdentifier }

    /// Kills the process, as `kill -9` does, and waits until it is gone.
    func end() async {
        signal(SIGKILL)
        await eventually("the helper is gone") { isGone }
        // Foundation keeps what a process had until it learns of its end. Its next process may crash the tests when there
        // are more than 1,300 descriptors: it reads beyond the end of their list.
        do {
            try output.close()
            try errors.close()
            try input.fileHandleForWriting.close()
        } catch {
            Issue.record("what a helper had cannot be closed: \(error)")
        }
    }

    /// Whether the process has ended, as the system has it: Foundation may learn it much later.
    private var isGone: Bool {
        var information = siginfo_t()
        let pid = id_t(process.processIdentifier)
        // Only looked at, so that Foundation can still collect it. When it has, there is no such child any more.
        guard waitid(P_PID, pid, &information, WEXITED | WNOHANG | WNOWAIT) == 0 else { return errno == ECHILD }
        return information.si_signo != 0
    }
}

/// Starts helpers at one place and waits until they are ready; whatever happens, none is left.
func withProbes<Result>(
    _ count: Int,
    at place: Probe.Place,
    _ launch: Probe.Launch = Probe.Launch(),
    _ body: ([Probe]) async throws -> Result
) async throws -> Result {
    try await withProbes(Array(repeating: (place, launch), count: count), body)
}

/// Starts a helper for each of some places and waits until they are ready; whatever happens, none is left.
func withProbes<Result>(
    _ places: [(Probe.Place, Probe.Launch)],
    _ body: ([Probe]) async throws -> Result
) async throws -> Result {
    try await Seats.take {
        var probes: [Probe] = []
        do {
            for (place, launch) in places { probes.append(try Probe(at: place, launch)) }
            for probe in probes { try await probe.expect(says: "ready") }
            let result = try await body(probes)
            for probe in probes { await probe.end() }
            return result
        } catch {
            for probe in probes { await probe.end() }
            throw error
        }
    }
}

/// Starts a helper and waits until it is ready; whatever happens, it is not left.
func withProbe<Result>(
    at place: Probe.Place,
    _ launch: Probe.Launch = Probe.Launch(),
    _ body: (Probe) async throws -> Result
) async throws -> Result {
    try await withProbes(1, at: place, launch) { try await body($0[0]) }
}
