// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
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

        var path: String {
            switch self {
            case .file(let path): path
            case .suite(let name, let home): "\(home)/\(name)/settings.json"
            }
        }
    }

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

    private let process: ChildProcess
    /// The description of the error that the process has answered with last; empty if its last answer is no error.
    private let lastError = Mutex("")

    init(at place: Place, _ launch: Launch = Launch()) throws {
        var environment = ProcessInfo.processInfo.environment
        let location: [String]
        switch place {
        case .file(let path):
            location = ["--file", path]
        case .suite(let name, let home):
            location = ["--suite", name]
            environment["STORED_SETTINGS_HOME"] = home
        }
        for (name, value) in launch.environment { environment[name] = value }
        process = try ChildProcess(
            launch.wrapper + [Surroundings.program("settings-probe")] + location + launch.flags,
            environment: environment,
            in: launch.directory,
            input: .pipe
        )
    }

    // MARK: - Commands and output

    func send(_ command: String) throws {
        try process.write("\(command)\n")
    }

    func line(within limit: Duration = longestWait, sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> String
    {
        var line: String?
        await eventually("the probe prints a line", within: limit, of: process, sourceLocation: sourceLocation) {
            // In this order, so that the last lines of a probe that has ended are not missed.
            let isGone = !process.isRunning
            line = process.output.next()
            return line != nil || isGone
        }
        let answer = try #require(line, "\(process)", sourceLocation: sourceLocation)
            .split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
        lastError.withLock { $0 = answer.count > 1 ? String(answer[1]) : "" }
        return String(answer[0])
    }

    /// The description of the last answer's error; empty if there was none.
    var lastErrorText: String { lastError.withLock { $0 } }

    /// Sends a command, if there is one, and expects the next line to be this one.
    func expect(
        _ command: String? = nil,
        prints expected: String = "done",
        within limit: Duration = longestWait,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        if let command { try send(command) }
        let answer = try await line(within: limit, sourceLocation: sourceLocation)
        #expect(answer == expected, "\(lastErrorText)", sourceLocation: sourceLocation)
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
        process.output.remaining()
    }

    var errors: String { process.errors.text }

    /// The reported errors, except those of an empty file.
    ///
    /// When the machine is busy, a test that truncates and then writes a file can take longer than the library waits
    /// for an editor.
    var errorsExceptEmptyFile: String { errors(except: ["the file is empty"]) }

    /// The reported errors, except the lines that contain one of these texts.
    func errors(except texts: [String]) -> String {
        errors.split(separator: "\n").filter { line in !texts.contains { line.contains($0) } }.joined(separator: "\n")
    }

    // MARK: - Termination

    /// Sends a signal to this process only.
    func signal(_ number: CInt) { process.signal(number) }

    /// Closes the input, waits for the process to exit, and expects status 0.
    func finish(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        process.closeInput()
        await eventually("the probe exits by itself", of: process, sourceLocation: sourceLocation) {
            !process.isRunning
        }
        #expect(process.end() == .exit(0), "\(process)", sourceLocation: sourceLocation)
    }

    var isRunning: Bool { process.isRunning }

    var identifier: pid_t { process.identifier }

    /// Kills the process with SIGKILL and waits until it is gone.
    func kill() { process.end() }
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
    var probes: [Probe] = []
    defer { for probe in probes { probe.kill() } }
    for (place, launch) in places { probes.append(try Probe(at: place, launch)) }
    for probe in probes { try await probe.expect(prints: "ready") }
    return try await body(probes)
}

/// Starts a probe, waits until it is ready, and ends it whether or not the body throws.
func withProbe<Result>(
    at place: Probe.Place,
    _ launch: Probe.Launch = Probe.Launch(),
    _ body: (Probe) async throws -> Result
) async throws -> Result {
    try await withProbes(1, at: place, launch) { try await body($0[0]) }
}

/// Runs a body with the place of a settings file that does not exist, in a temporary directory.
func withPlace<Result>(_ body: (Probe.Place) async throws -> Result) async throws -> Result {
    try await withSettingsPath { try await body(.file($0)) }
}

/// Starts probes at a new place, waits until they are ready, and ends them whether or not the body throws.
func withProbes(_ count: Int, _ body: ([Probe], Probe.Place) async throws -> Void) async throws {
    try await withPlace { place in
        try await withProbes(count, at: place) { try await body($0, place) }
    }
}

/// Starts a probe at a new place, waits until it is ready, and ends it whether or not the body throws.
func withProbe(_ body: (Probe, Probe.Place) async throws -> Void) async throws {
    try await withProbes(1) { try await body($0[0], $1) }
}

/// Launches programs in their own mount namespace, where the user may mount.
enum Mounts {
    /// Whether this user may mount; outside of most containers, root may.
    static let areAllowed: Bool = {
        do {
            let mount = "mount -t tmpfs -o size=64k none /mnt"
            return try ChildProcess(["/usr/bin/unshare", "-m", "/bin/sh", "-c", mount]).waitUntilEnd() == .exit(0)
        } catch {
            return false
        }
    }()

    /// A launch that runs shell commands before the probe; only the probe sees their mounts.
    static func launch(after commands: String) -> Probe.Launch {
        Probe.Launch(wrapper: ["/usr/bin/unshare", "-m", "/bin/sh", "-c", commands + #" && exec "$0" "$@""#])
    }
}
