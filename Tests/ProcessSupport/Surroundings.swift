// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What tests need from the process that they run in, whatever has started it.
package enum Surroundings {
    /// More descriptors than the tests of one process have.
    static let mostDescriptors: CInt = 4_096

    /// Makes the process fit for tests; only the first call does anything.
    package static func prepare() { prepared }

    fileprivate static let prepared: Void = {
        // The next file that is opened would take the place of a standard stream that is closed, and would be written to.
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            guard (0...2).contains(descriptor) else {
                close(descriptor)
                break
            }
        }
        // An ignored SIGCHLD would discard the exit codes of processes.
        _ = signal(SIGCHLD, SIG_DFL)
        // Writing to a process that has died fails; it must not end the tests.
        _ = signal(SIGPIPE, SIG_IGN)
    }()

    /// Waits until all other threads of this process sleep, before a fork.
    ///
    /// A thread that runs may hold a lock of Swift's runtime, for example while it looks up a conformance. The child would have a
    /// copy of the lock, and no thread that releases it. Only Linux shows whether threads run.
    ///
    /// - Throws: `ChildProcess.Failure` if they do not sleep at one time before the deadline.
    package static func waitUntilOtherThreadsSleep() throws {
        var deadline = Deadline(after: Deadline.longest)
        while try otherThreadsRun() {
            guard !deadline.hasPassed else { throw ChildProcess.Failure("the other threads do not sleep") }
            deadline.pauseOnThread()
        }
    }

    private static func otherThreadsRun() throws -> Bool {
        #if os(Linux)
        let tasks = "/proc/self/task"
        for task in try FileManager.default.contentsOfDirectory(atPath: tasks) where Int32(task) != getpid() {
            // A thread that has ended since has no file.
            guard let stat = FileManager.default.contents(atPath: "\(tasks)/\(task)/stat") else { continue }
            // The state follows the name of the thread, which is in parentheses.
            let state = String(decoding: stat, as: UTF8.self).split(separator: ")").last?.first { $0 != " " }
            if state != "S" { return true }
        }
        #endif
        return false
    }

    /// The path of a program of the package, which is beside the program that runs the tests.
    package static func program(_ name: String) throws -> String {
        let arguments = CommandLine.arguments
        let bundles = arguments.firstIndex(of: "--test-bundle-path").map { arguments[($0 + 1)...].prefix(1) } ?? []
        let places = [Bundle.main.bundlePath, Bundle.main.executablePath ?? ""] + bundles + arguments.prefix(1)
        for place in places {
            let url = URL(fileURLWithPath: place).standardizedFileURL
            // On macOS, the tests are in X.xctest/Contents/MacOS.
            for directory in sequence(first: url, next: { $0.deletingLastPathComponent() }).prefix(5) {
                let path = directory.appendingPathComponent(name).path
                if FileManager.default.isExecutableFile(atPath: path) { return path }
            }
        }
        throw ChildProcess.Failure("there is no program '\(name)' beside the tests")
    }
}

#if compiler(>=6.3) && objectFormat(ELF)
/// Prepares the process before anything in it opens a file or starts a process.
@section(".init_array") @used
private let start: @convention(c) () -> Void = { Surroundings.prepared }
#endif
