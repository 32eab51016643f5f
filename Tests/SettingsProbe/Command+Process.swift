// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettings
import Synchronization

/// Commands that act on the process itself.
extension Command {
    /// A system call that failed.
    struct SystemFailure: Error, CustomStringConvertible {
        var description: String
    }

    /// Runs the work in this process and in a forked child, and waits for the child.
    func fork(_ work: () throws -> Void) throws {
        let child = try makeChild()
        if child == 0 {
            do {
                try work()
                _exit(0)
            } catch {
                printLine("the child failed: \(error)")
                _exit(1)
            }
        }
        try work()
        try waitFor(child)
    }

    /// Forks inside a transaction, so that two processes reach its end.
    func forkInside(_ suite: SettingsSuite, _ setting: Setting<Int>) throws {
        var child: pid_t = -1
        do {
            try suite.transaction { settings in
                settings[setting] += 1
                child = try makeChild()
            }
            if child == 0 { _exit(1) }
        } catch {
            // The child does not hold the lock, so its commit fails.
            if child == 0 { _exit(error is SettingsError ? 0 : 2) }
            throw error
        }
        try waitFor(child)
    }

    /// Forks a child that updates the setting from two threads.
    func forkBusily(_ suite: SettingsSuite, _ setting: Setting<Int>, _ count: Int) throws {
        // Starts background threads in the parent, so that the child inherits their state.
        try Setting("other", default: 0, suite: SettingsSuite(fileAt: suite.name + "-other")).set(1)
        let child = try makeChild()
        guard child == 0 else { return try waitFor(child) }
        let successes = Successes()
        for _ in 0..<2 {
            Thread.detachNewThread {
                do {
                    for _ in 0..<count { try setting.update { $0 += 1 } }
                    successes.count.add(1, ordering: .relaxed)
                } catch {
                    printLine("a thread failed: \(error)")
                }
            }
        }
        var deadline = Deadline(after: Deadline.longest)
        while successes.count.load(ordering: .relaxed) < 2 || !FileManager.default.fileExists(atPath: suite.name) {
            guard !deadline.hasPassed else { _exit(1) }
            deadline.pauseOnThread()
        }
        _exit(0)
    }

    private final class Successes: Sendable {
        let count = Atomic(0)
    }

    /// Holds the locks of a transaction after a child that was forked inside it has left its copy.
    func forkAndHold(_ suite: SettingsSuite, _ setting: Setting<Int>, _ value: Int) throws {
        var child: pid_t = -1
        do {
            try suite.transaction { settings in
                settings[setting] = value
                child = try makeChild()
                guard child != 0 else { return }
                try waitFor(child)
                printLine("holding")
                _ = readLine()
            }
            if child == 0 { _exit(1) }
        } catch {
            if child == 0 { _exit(error is SettingsError ? 0 : 2) }
            throw error
        }
    }

    /// Exits inside the body of a transaction.
    func exitInside(_ suite: SettingsSuite, _ setting: Setting<Int>, _ value: Int) throws {
        try suite.transaction { settings in
            settings[setting] = value
            exitProcess()
        }
    }

    /// Assigns in a task, which does not wait for other writers, and exits.
    func assignAndExit(_ setting: Setting<Int>, _ value: Int) async throws -> String {
        await Task { setting.value = value }.value
        printLine("assigned")
        Foundation.exit(0)
    }

    /// Forks children that exit while another thread of the parent sets, perhaps with a lock.
    func forkAndExit(_ setting: Setting<Int>, _ count: Int) throws {
        try setting.set(0)
        let isDone = Atomic(false)
        try withThread {
            var number = 0
            while !isDone.load(ordering: .relaxed) {
                number += 1
                setting.value = number
            }
        } beside: {
            defer { isDone.store(true, ordering: .relaxed) }
            for _ in 0..<count {
                let child = CLibrary.forkAtOnce()
                if child == 0 { Foundation.exit(0) }
                try waitFor(child)
            }
        }
    }

    /// Runs work on another thread, and returns when both bodies have.
    private func withThread(_ work: @escaping () -> Void, beside body: () throws -> Void) throws {
        // The thread ends before this returns, so the work need not be sent elsewhere.
        nonisolated(unsafe) let work = work
        let end = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            work()
            end.signal()
        }
        defer { end.wait() }
        try body()
    }

    /// Sets until a signal's handler exits.
    func exitBySignal(_ setting: Setting<Int>) {
        Foundation.signal(SIGTERM) { _ in Foundation.exit(0) }
        printLine("setting")
        for number in 1... { setting.value = number }
    }

    private func makeChild() throws -> pid_t {
        let child = try CLibrary.fork()
        guard child >= 0 else { throw SystemFailure(description: "fork failed") }
        return child
    }

    private func waitFor(_ child: pid_t) throws {
        var status: CInt = 0
        guard waitpid(child, &status, 0) == child else { throw SystemFailure(description: "waitpid failed") }
        guard status == 0 else { throw SystemFailure(description: "the child exited with status \(status)") }
    }

    func exitProcess() {
        Foundation.exit(0)
    }

    /// Blocks all signals in this thread, and in those that it starts.
    func blockSignals() {
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Drops root privileges.
    func become(user: Int, memberOf groups: [Int]) throws {
        let groups = groups.map { gid_t($0) }
        guard setgroups(.init(groups.count), groups) == 0, setgid(gid_t(user)) == 0, setuid(uid_t(user)) == 0 else {
            throw SystemFailure(description: "cannot change the user")
        }
    }

    /// Enters another root directory.
    func changeRoot(to path: String) throws {
        guard chroot(path) == 0, chdir("/") == 0 else {
            throw SystemFailure(description: "cannot change the root directory")
        }
    }

    /// Mounts a directory over another one, in a new mount namespace.
    func mount(_ other: String, over directory: String) throws {
        #if os(Linux)
        // The module of the C library lacks the function.
        typealias Unshare = @convention(c) (CInt) -> CInt
        let (newMounts, isBound, isPrivate): (CInt, UInt, UInt) = (0x2_0000, 4_096, 0x4_0000 | 0x4000)
        guard let unshare = dlsym(nil, "unshare").map({ unsafeBitCast($0, to: Unshare.self) }), unshare(newMounts) == 0,
            Glibc.mount("none", "/", nil, isPrivate, nil) == 0, Glibc.mount(other, directory, nil, isBound, nil) == 0
        else { throw SystemFailure(description: "cannot mount") }
        #endif
    }

    /// Does what a program does that was started without standard streams, and then is killed.
    func closeStreams(_ setting: Setting<Int>, _ number: Int) throws {
        for stream in 0...2 as ClosedRange<CInt> { close(stream) }
        try setting.set(number)
        let text = String(repeating: "text\n", count: 1_000)
        for stream in 0...2 as ClosedRange<CInt> { _ = write(stream, text, text.utf8.count) }
        try setting.set(number + 1)
        kill(getpid(), SIGKILL)
    }

    /// Sets the standard suite and reads a setting that names no suite.
    func standard(_ suite: SettingsSuite) throws -> String {
        try SettingsSuite.bootstrapStandard(suite)
        @DefaultStorage(key: "port") var port = 1
        return "\(port) from \($port.explain().source ?? "the default")"
    }

    /// Uses in-memory suites, as tests do.
    func useInMemorySuites() throws {
        let suite = SettingsSuite.inMemory()
        let port = Setting("port", default: 1, suite: suite)
        try port.set(2)
        try suite.synchronize()
        try suite.checkpoint()
        try SettingsSuite.withStandard(suite) {
            @DefaultStorage(key: "port") var standard = 1
            standard += 1
            guard port.value == 3 else {
                throw SystemFailure(description: "the standard suite is not the bootstrapped one")
            }
        }
        suite.finish()
    }
}
