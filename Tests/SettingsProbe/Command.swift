// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettings

/// A command of the probe.
enum Command: String {
    /// `get KEY`: answers the stored integer, or 0 if there is none.
    case get
    /// `set KEY INTEGER`: stores the integer, or answers the error.
    case set
    /// `assign KEY INTEGER`: assigns the integer, which cannot throw.
    case assign
    /// `text KEY`: answers the stored value as it appears in messages, or `none`.
    case text
    /// `keys`: answers the number of keys.
    case keys
    /// `remove KEY`
    case remove
    /// `synchronize`
    case synchronize
    /// `checkpoint`
    case checkpoint
    /// `checkpointRepeatedly KEY LAST`: checkpoints until the key is LAST.
    case checkpointRepeatedly
    /// `finish`: finishes the suite.
    case finish
    /// `exit`: exits the process at once.
    case exit
    /// `assignAndExit KEY INTEGER`: assigns the integer in a task, prints `assigned`, and exits.
    case assignAndExit
    /// `forkAndExit KEY COUNT`: forks COUNT children that exit, while a thread sets the key.
    case forkAndExit
    /// `exitBySignal KEY`: exits in the handler of SIGTERM; prints `setting`, and sets the key until then.
    case exitBySignal
    /// `persistence`: answers `durable`, `readOnly` or `ephemeral`.
    case persistence
    /// `fill PREFIX COUNT`: sets COUNT keys with the prefix.
    case fill
    /// `increment KEY COUNT`: updates the key COUNT times.
    case increment
    /// `count KEY`: sets 1, 2, 3 and so on, and prints each number after the set has returned, until the process that
    /// started the probe has ended.
    case count
    /// `watch KEY`: prints every value from now on, between the answers to other commands.
    case watch
    /// `raise KEY KEY COUNT`: runs COUNT transactions that each add 1 to both keys.
    case raise
    /// `compare KEY KEY LAST`: prints `comparing`, reads and watches until both keys are LAST; answers `torn` if they ever
    /// differed, else `whole`.
    case compare
    /// `hold KEY INTEGER`: begins a transaction that sets the key, prints `holding`, and commits after the next input
    /// line.
    case hold
    /// `fork KEY COUNT`: forks; parent and child each update the key COUNT times.
    case fork
    /// `forkInside KEY`: forks inside a transaction that adds 1 to the key; answers `done` if only the parent's copy is
    /// committed.
    case forkInside
    /// `forkBusily KEY COUNT`: forks; two threads of the child update the key, then the child waits until its
    /// background thread has written the settings file.
    case forkBusily
    /// `exhaust COUNT`: opens files until only COUNT more can be opened.
    case exhaust
    /// `recover`: closes the files that `exhaust` opened.
    case recover
    /// `closeAll FILE`: closes all descriptors but those of the standard streams, and opens the file for each of the
    /// numbers that became free, unless it is `-`.
    case closeAll
    /// `closeStreams KEY INTEGER`: closes the standard streams, sets the key, prints on them, and is killed.
    case closeStreams
    /// `starve`: limits memory so that no more threads can be started, until `feed`.
    case starve
    /// `feed`: removes the limit that `starve` set.
    case feed
    /// `observe KEY`: prints every value from now on, from a callback.
    case observe
    /// `block KEY COUNT`: observes the key COUNT times, and blocks the threads of the observers.
    case block
    /// `occupy`: blocks the threads of Dispatch and Swift concurrency, until `vacate`.
    case occupy
    /// `vacate`: unblocks the threads that `occupy` blocked.
    case vacate
    /// `watches`: answers the number of inotify watches of this process.
    case watches
    /// `forkAndHold KEY INTEGER`: begins a transaction that sets the key, forks inside it, and waits until the child
    /// has left its copy of the transaction; prints `holding`, and commits after the next input line.
    case forkAndHold
    /// `exitInside KEY INTEGER`: exits the process inside a transaction that sets the key.
    case exitInside
    /// `become USER` or `become USER GROUP`: drops root privileges and continues as the user with this ID, as a member
    /// of the group with this ID.
    case become
    /// `changeDirectory PATH`: makes a directory the current one.
    case changeDirectory
    /// `changeRoot DIRECTORY`: makes a directory the root directory of the process.
    case changeRoot
    /// `mountOver DIRECTORY⇥OTHER`: mounts another directory over one, for this thread alone.
    case mountOver
    /// `standard`: makes the suite the standard one; answers the value of `port` and its source.
    case standard
    /// `blockSignals`: blocks all signals, as a program that waits for them.
    case blockSignals
    /// `memory`: uses in-memory suites in every supported way.
    case memory
    /// `cycle COUNT`: opens, uses and closes COUNT suites; answers the resources that the process holds afterward.
    case cycle
    /// `migrate OLD NEW`: migrates the suite: doubles an integer, moves it to the other key, and adds 1, once.
    case migrate

    @MainActor
    func perform(on suite: SettingsSuite, _ arguments: Arguments) async throws -> String {
        switch self {
        case .compare: try await compare(suite, arguments)
        case .assignAndExit: try await assignAndExit(integer(suite, arguments), arguments.integer(1))
        case .cycle: try await cycle(beside: suite, arguments)
        default: try performBlocking(on: suite, arguments)
        }
    }

    /// Runs with the synchronous forms, on the main thread.
    @MainActor
    private func performBlocking(on suite: SettingsSuite, _ arguments: Arguments) throws -> String {
        switch self {
        case .get: return "\(try integer(suite, arguments).value)"
        case .set: try integer(suite, arguments).set(arguments.integer(1))
        case .assign: try integer(suite, arguments).value = arguments.integer(1)
        case .text: return suite[storedValueFor: try arguments.text(0)]?.description ?? "none"
        case .keys: return "\(suite.keys.count)"
        case .remove: try suite.setStoredValue(nil, forKey: arguments.text(0))
        case .synchronize: try suite.synchronize()
        case .checkpoint: try suite.checkpoint()
        case .checkpointRepeatedly: try checkpointRepeatedly(suite, arguments)
        case .finish: suite.finish()
        case .exit: exitProcess()
        case .forkAndExit: try forkAndExit(integer(suite, arguments), arguments.integer(1))
        case .exitBySignal: exitBySignal(try integer(suite, arguments))
        case .persistence: return persistence(of: suite)
        case .fill: try fill(suite, arguments)
        case .increment: try increment(suite, arguments)
        case .count: try count(suite, arguments)
        case .watch: try watch(suite, arguments)
        case .raise: try raise(suite, arguments)
        case .hold: try hold(suite, arguments)
        case .fork: try fork { try increment(suite, arguments) }
        case .forkInside: try forkInside(suite, integer(suite, arguments))
        case .forkBusily: try forkBusily(suite, integer(suite, arguments), arguments.integer(1))
        case .exhaust: try exhaust(leaving: arguments.integer(0))
        case .recover: recover()
        case .closeAll: try Descriptors.closeAll(openingInstead: arguments.paths[0])
        case .closeStreams: try closeStreams(integer(suite, arguments), arguments.integer(1))
        case .starve: try starve()
        case .feed: try limitMemory(to: nil)
        case .observe: try observe(suite, arguments)
        case .block: try block(integer(suite, arguments), arguments.integer(1))
        case .occupy: occupy()
        case .vacate: vacate()
        case .watches: return "\(try watches())"
        case .forkAndHold: try forkAndHold(suite, integer(suite, arguments), arguments.integer(1))
        case .exitInside: try exitInside(suite, integer(suite, arguments), arguments.integer(1))
        case .become: try become(user: arguments.integer(0), memberOf: arguments.integers(from: 1))
        case .changeDirectory: _ = chdir(try arguments.text(0))
        case .changeRoot: try changeRoot(to: arguments.paths[0])
        case .mountOver: try mount(arguments.paths[1], over: arguments.paths[0])
        case .standard: return try standard(suite)
        case .blockSignals: blockSignals()
        case .memory: try useInMemorySuites()
        case .migrate: try migrate(suite, arguments)
        case .compare, .cycle, .assignAndExit: break
        }
        return "done"
    }

    func integer(_ suite: SettingsSuite, _ arguments: Arguments, at index: Int = 0) throws -> Setting<Int> {
        Setting(try arguments.text(index), default: 0, suite: suite)
    }

    private func persistence(of suite: SettingsSuite) -> String {
        switch suite.persistence {
        case .durable: "durable"
        case .readOnly: "readOnly"
        case .ephemeral: "ephemeral"
        }
    }

    private func fill(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        for number in 0..<(try arguments.integer(1)) {
            try Setting("\(arguments.text(0))-\(number)", default: -1, suite: suite).set(number)
        }
    }

    private func increment(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let setting = try integer(suite, arguments)
        for _ in 0..<(try arguments.integer(1)) {
            try setting.update { $0 += 1 }
        }
    }

    private func checkpointRepeatedly(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let (setting, last) = (try integer(suite, arguments), try arguments.integer(1))
        repeat {
            try suite.checkpoint()
        } while setting.value < last
    }

    private func count(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let setting = try integer(suite, arguments)
        let parent = getppid()
        var number = 0
        while getppid() == parent {
            number += 1
            try setting.set(number)
            printLine("\(number)")
        }
    }

    private func watch(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let setting = try integer(suite, arguments)
        Task.detached {
            for await value in setting.values {
                printLine("\(setting.key) is \(value)")
            }
        }
    }

    private func raise(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let (left, right) = (try integer(suite, arguments), try integer(suite, arguments, at: 1))
        for _ in 0..<(try arguments.integer(2)) {
            try suite.transaction { settings in
                let next = settings[left] + 1
                settings[left] = next
                settings[right] = next
            }
        }
    }

    @MainActor
    private func compare(_ suite: SettingsSuite, _ arguments: Arguments) async throws -> String {
        let (left, right, last) = (try arguments.text(0), try arguments.text(1), try arguments.integer(2))
        let changes = suite.changes(of: left, right)
        printLine("comparing")
        let watcher = Task.detached { () -> Bool in
            for await change in changes {
                if change[left]?.new != change[right]?.new { return false }
                if change[left]?.new == .integer(Int128(last)) { return true }
            }
            return false
        }
        while true {
            let contents = suite.snapshot()
            guard contents[left] == contents[right] else { return "torn" }
            if contents[left] == .integer(Int128(last)) { break }
        }
        return await watcher.value ? "whole" : "torn"
    }

    private func hold(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let setting = try integer(suite, arguments)
        try suite.transaction { settings in
            settings[setting] = try arguments.integer(1)
            printLine("holding")
            _ = readLine()
        }
    }
}

extension Command {
    /// Migrates in two steps whose effect differs if a step runs twice: double and rename an integer, then add 1 to it.
    @MainActor
    func migrate(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let (old, new) = (try arguments.text(0), try arguments.text(1))
        var migrator = SettingsMigrator()
        migrator.addStep("double") { settings in
            try settings.convert(old) { .integer(Int128(try $0.as(Int.self)) * 2) }
            settings.rename(old, to: new)
        }
        migrator.addStep("raise") { settings in
            try settings.convert(new) { .integer(Int128(try $0.as(Int.self)) + 1) }
        }
        try migrator.migrate(suite)
    }
}
