// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

/// A `settings-probe` process, which executes commands line by line.
final class Probe: Sendable {
    /// The location of the process's settings.
    enum Place: Sendable {
        case file(String)
        /// A suite by name, below the test's own directory.
        case suite(String, home: String)

        /// The path of the settings file.
        var path: String {
            switch self {
            case .file(let path): path
            case .suite(let name, let home): "\(home)/\(name)/settings.json"
            }
        }
    }

    /// The environment and arguments of a process.
    struct Launch: Sendable {
        /// A program with arguments, to which the probe's command line is appended, and which executes it.
        var wrapper: [String] = []
        /// Flags after the location, which override settings.
        var flags: [String] = []
        /// The current directory; `nil` for that of the tests.
        var directory: String?
        /// Environment variables that differ from those of the tests; `nil` removes a variable.
        var environment: [String: String?] = [:]
    }

    private let process = Process()
    private let input = Pipe()
    private let output: OutputFile
    private let errorOutput: OutputFile
    /// The description of the error that the process has answered with last; empty if its last answer is no error.
    private let lastError = Mutex("")

    init(at place: Place, _ launch: Launch = Launch()) throws {
        // Writing to a probe that has died must not end the tests with SIGPIPE.
        _ = Foundation.signal(SIGPIPE, SIG_IGN)
        (output, errorOutput) = (try OutputFile(), try OutputFile())
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
        process.standardError = errorOutput.handle
        try process.run()
    }

    // MARK: - Commands and output

    /// Sends a command to the process.
    func send(_ command: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
    }

    /// The next line that the process prints.
    func line(within limit: Duration = longestWait, sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> String
    {
        var line: String?
        await eventually("the probe prints a line", within: limit, sourceLocation: sourceLocation) {
            // In this order, so that the last lines of a probe that has ended are not missed.
            let isGone = isGone
            line = output.next()
            return line != nil || isGone
        }
        let answer = try #require(line, "\(errorOutput.text)", sourceLocation: sourceLocation)
            .split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
        lastError.withLock { $0 = answer.count > 1 ? String(answer[1]) : "" }
        return String(answer[0])
    }

    /// Sends a command, if there is one, and expects the next line to be this one.
    func expect(
        _ command: String? = nil,
        prints expected: String = "done",
        within limit: Duration = longestWait,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        if let command { try send(command) }
        let answer = try await line(within: limit, sourceLocation: sourceLocation)
        #expect(answer == expected, "\(lastError.withLock { $0 })", sourceLocation: sourceLocation)
    }

    /// Starts to watch a key, and expects the first value.
    func watch(_ key: String, from value: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try send("watch \(key)")
        // The lines arrive in either order: the watching task prints beside the task that answers.
        let lines = [try await line(sourceLocation: sourceLocation), try await line(sourceLocation: sourceLocation)]
        #expect(Set(lines) == ["done", "\(key) is \(value)"], sourceLocation: sourceLocation)
    }

    /// Waits until the process reads a value, for changes that it has to notice by itself.
    func expectSoon(
        _ key: String,
        is value: Int,
        within limit: Duration = longestWait,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually("\(key) is \(value)", within: limit, sourceLocation: sourceLocation) {
            try send("get \(key)")
            return try await line(sourceLocation: sourceLocation) == "\(value)"
        }
    }

    /// The complete lines that the process had printed by now and the test has not read.
    func remainingLines() -> [String] {
        output.remaining()
    }

    /// The errors that the process has reported so far.
    var errors: String { errorOutput.text }

    /// The reported errors, except those of an empty file.
    ///
    /// When the machine is busy, a test that truncates and then writes a file can take longer than the library waits
    /// for an editor.
    var errorsExceptEmptyFile: String {
        errors.split(separator: "\n").filter { !$0.contains("the file is empty") }.joined(separator: "\n")
    }

    // MARK: - Termination

    /// Sends a signal to this process only.
    func signal(_ number: CInt) {
        if !isGone { Foundation.kill(process.processIdentifier, number) }
    }

    /// Closes the input, waits for the process to exit, and expects status 0.
    func finish(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try input.fileHandleForWriting.close()
        await eventually("the probe exits by itself", sourceLocation: sourceLocation) { isGone }
        await eventually("the exit status is known", sourceLocation: sourceLocation) { !process.isRunning }
        #expect(process.terminationReason == .exit, sourceLocation: sourceLocation)
        #expect(process.terminationStatus == 0, sourceLocation: sourceLocation)
    }

    /// The process ID.
    var identifier: pid_t { process.processIdentifier }

    /// Kills the process with SIGKILL and waits until it is gone.
    func kill() async {
        signal(SIGKILL)
        await eventually("the probe is gone") { isGone }
        // Foundation keeps the files of a process open until it notices the exit. With more than 1,300 descriptors, it
        // reads beyond the end of their list when it starts the next process, and may crash.
        do {
            try output.close()
            try errorOutput.close()
            try input.fileHandleForWriting.close()
        } catch {
            Issue.record("the files of a probe cannot be closed: \(error)")
        }
    }

    /// Whether the process has ended according to the system; Foundation may notice it much later.
    private var isGone: Bool {
        var information = siginfo_t()
        let pid = id_t(process.processIdentifier)
        // WNOWAIT leaves the status for Foundation to collect. After that, the process is no longer a child.
        guard waitid(P_PID, pid, &information, WEXITED | WNOHANG | WNOWAIT) == 0 else { return errno == ECHILD }
        return information.si_signo != 0
    }
}

/// Starts probes at one location, waits until they are ready, and ends them whether or not the body throws.
func withProbes<Result>(
    _ count: Int,
    at place: Probe.Place,
    _ launch: Probe.Launch = Probe.Launch(),
    _ body: ([Probe]) async throws -> Result
) async throws -> Result {
    try await withProbes(Array(repeating: (place, launch), count: count), body)
}

/// Starts a probe at each location, waits until they are ready, and ends them whether or not the body throws.
func withProbes<Result>(
    _ places: [(Probe.Place, Probe.Launch)],
    _ body: ([Probe]) async throws -> Result
) async throws -> Result {
    try await ProcessLimit.withPermit {
        var probes: [Probe] = []
        do {
            for (place, launch) in places { probes.append(try Probe(at: place, launch)) }
            for probe in probes { try await probe.expect(prints: "ready") }
            let result = try await body(probes)
            for probe in probes { await probe.kill() }
            return result
        } catch {
            for probe in probes { await probe.kill() }
            throw error
        }
    }
}

/// Starts a probe, waits until it is ready, and ends it whether or not the body throws.
func withProbe<Result>(
    at place: Probe.Place,
    _ launch: Probe.Launch = Probe.Launch(),
    _ body: (Probe) async throws -> Result
) async throws -> Result {
    try await withProbes(1, at: place, launch) { try await body($0[0]) }
}

/// Launches programs in their own mount namespace, where the user may mount.
enum Mounts {
    /// Whether this user may mount; outside of most containers, root may.
    static let areAllowed: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = ["-m", "/bin/sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        do {
            try process.run()
        } catch {
            return false
        }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// A launch that runs shell commands before the probe; only the probe sees their mounts.
    static func launch(after commands: String) -> Probe.Launch {
        Probe.Launch(wrapper: ["/usr/bin/unshare", "-m", "/bin/sh", "-c", commands + #" && exec "$0" "$@""#])
    }
}
