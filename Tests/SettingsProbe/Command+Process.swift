// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// What commands do to the process itself.
extension Command {
    /// What the system has refused.
    struct Refused: Error, CustomStringConvertible {
        var description: String
    }

    /// Holds a lock as the library does, so that a test can stop the holder.
    func holdLock(beside suite: SettingsSuite, _ suffix: String) throws {
        let descriptor = open(suite.name + suffix, O_RDONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw Refused(description: "lock") }
        defer { close(descriptor) }
        say("holding")
        _ = readLine()
    }

    /// Does some work in this process and in a child that is a copy of it, and waits for the child.
    func fork(_ work: () throws -> Void) throws {
        let child = try makeChild()
        if child == 0 {
            do {
                try work()
                _exit(0)
            } catch {
                say("the child fails: \(error)")
                _exit(1)
            }
        }
        try work()
        try waitFor(child)
    }

    /// Begins a transaction, which two processes end.
    func forkInside(_ suite: SettingsSuite, _ setting: Setting<Int>) throws {
        var child: pid_t = -1
        do {
            try suite.transaction { settings in
                settings[setting] += 1
                child = try makeChild()
            }
            if child == 0 { _exit(1) }
        } catch {
            // The child has no lock to commit under.
            if child == 0 { _exit(error is SettingsError ? 0 : 2) }
            throw error
        }
        try waitFor(child)
    }

    /// Goes on as two processes, one of which is busy.
    func forkBusily(_ suite: SettingsSuite, _ setting: Setting<Int>, _ count: Int) throws {
        // So that the parent has threads in the background, and the child inherits what they had.
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
                    say("a thread fails: \(error)")
                }
            }
        }
        let deadline = Date() + 30
        while successes.count.load(ordering: .relaxed) < 2 || !FileManager.default.fileExists(atPath: suite.name) {
            guard Date() < deadline else { _exit(1) }
            usleep(1_000)
        }
        _exit(0)
    }

    private final class Successes: Sendable {
        let count = Atomic(0)
    }

    /// Begins a transaction, and holds its locks after a child that was forked inside it has left it.
    func forkAndHold(_ suite: SettingsSuite, _ setting: Setting<Int>, _ value: Int) throws {
        var child: pid_t = -1
        do {
            try suite.transaction { settings in
                settings[setting] = value
                child = try makeChild()
                guard child != 0 else { return }
                try waitFor(child)
                say("holding")
                _ = readLine()
            }
            if child == 0 { _exit(1) }
        } catch {
            if child == 0 { _exit(error is SettingsError ? 0 : 2) }
            throw error
        }
    }

    /// Ends the process in the body of a transaction.
    func exitInside(_ suite: SettingsSuite, _ setting: Setting<Int>, _ value: Int) throws {
        try suite.transaction { settings in
            settings[setting] = value
            leave()
        }
    }

    private func makeChild() throws -> pid_t {
        // Swift hides the function, since little of what a process has works in a child that no program is loaded into.
        typealias Fork = @convention(c) () -> pid_t
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "fork") else { throw Refused(description: "no fork") }
        // The symbol is the C library's function of that signature.
        let child = unsafeBitCast(symbol, to: Fork.self)()
        guard child >= 0 else { throw Refused(description: "fork") }
        return child
    }

    private func waitFor(_ child: pid_t) throws {
        var status: CInt = 0
        guard waitpid(child, &status, 0) == child else { throw Refused(description: "no child") }
        guard status == 0 else { throw Refused(description: "the child ends with \(status)") }
    }

    func leave() {
        Foundation.exit(0)
    }

    /// Gives up what root may do.
    func become(user: Int) throws {
        guard setgroups(0, nil) == 0, setgid(gid_t(user)) == 0, setuid(uid_t(user)) == 0 else {
            throw Refused(description: "setuid")
        }
    }

    /// Chooses the standard suite, and reads a setting that names none.
    func standard(_ suite: SettingsSuite) throws -> String {
        try SettingsSuite.bootstrapStandard(suite)
        @DefaultStorage(key: "port") var port = 1
        return "\(port) by \($port.explain().source ?? "nobody")"
    }

    /// Uses suites that are not to be kept, as tests do.
    func keepNothing() throws {
        let suite = SettingsSuite.inMemory()
        let port = Setting("port", default: 1, suite: suite)
        try port.set(2)
        try suite.synchronize()
        try suite.checkpoint()
        try SettingsSuite.withStandard(suite) {
            @DefaultStorage(key: "port") var standard = 1
            standard += 1
            guard port.value == 3 else { throw Refused(description: "the standard suite is another one") }
        }
        suite.finish()
    }
}
