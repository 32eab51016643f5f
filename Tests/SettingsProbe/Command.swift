// SPDX-License-Identifier: Apache-2.0

import LawTable
import StoredSettings

/// What the probe can be told to do.
enum Command: String {
    /// `get KEY`: answers the integer under the key, 0 when there is none.
    case get
    /// `set KEY INTEGER`: stores it, or answers with the error.
    case set
    /// `assign KEY INTEGER`: assigns it, where nothing is thrown.
    case assign
    /// `text KEY`: answers the stored value under the key, as it is written in messages; `none` when there is none.
    case text
    /// `keys`: answers how many keys there are.
    case keys
    /// `remove KEY`
    case remove
    /// `synchronize`
    case synchronize
    /// `checkpoint`
    case checkpoint
    /// `checkpointRepeatedly KEY LAST`: checkpoints again and again until the key is LAST.
    case checkpointRepeatedly
    /// `finish`: ends the suite.
    case finish
    /// `exit`: ends the process where it stands.
    case exit
    /// `persistence`: answers `durable`, `readOnly` or `ephemeral`.
    case persistence
    /// `fill PREFIX COUNT`: sets as many keys of that prefix.
    case fill
    /// `increment KEY COUNT`: so many updates of one key.
    case increment
    /// `count KEY`: sets 1, 2, 3 and so on, and says each number when the set has returned. It ends some time, so that a
    /// helper whose test was killed does, too.
    case count
    /// `watch KEY`: says every value from now on, between the answers to other commands.
    case watch
    /// `raise KEY KEY COUNT`: so many transactions that raise both keys by one.
    case raise
    /// `compare KEY KEY LAST`: reads and watches until both are LAST; answers whether they were ever seen to differ.
    case compare
    /// `hold KEY INTEGER`: begins a transaction that sets the key, says `holding`, and ends it after one more line.
    case hold
    /// `cross FROM TO`: reads the whole table from under one prefix and stores it under another.
    case cross
    /// `lock SUFFIX`: locks the file beside the settings that ends so, says `holding`, and lets go after one more line.
    case lock
    /// `fork KEY COUNT`: goes on as two processes, both of which make so many updates of the key.
    case fork
    /// `forkInside KEY`: forks in the middle of a transaction that raises the key; answers `done` when only the parent's
    /// part of it is made.
    case forkInside
    /// `forkBusily KEY COUNT`: goes on as two processes; in the child, two threads update the key, and then it waits until
    /// its own background has written the settings file.
    case forkBusily
    /// `exhaust COUNT`: opens files until only so many more can be opened.
    case exhaust
    /// `recover`: closes what `exhaust` has opened.
    case recover
    /// `starve`: lowers the limit of memory so that no thread can be started any more, until `feed`.
    case starve
    /// `feed`: ends what `starve` has begun.
    case feed
    /// `observe KEY`: says every value from now on, from a callback.
    case observe
    /// `occupy`: keeps Dispatch's queues and the threads of Swift's tasks busy, until `vacate`.
    case occupy
    /// `vacate`: ends what `occupy` has begun.
    case vacate
    /// `watches`: answers how many directories and files the system watches for this process.
    case watches
    /// `forkAndHold KEY INTEGER`: begins a transaction that sets the key, forks in its body, and waits there until the child
    /// has left its own copy of the transaction; says `holding`, and ends the transaction after one more line.
    case forkAndHold
    /// `exitInside KEY INTEGER`: ends the process in the body of a transaction that sets the key.
    case exitInside
    /// `become USER`: goes on as the user of that number, who may do less.
    case become
    /// `standard`: makes the suite the standard one, and answers with the port of that and what gave it.
    case standard
    /// `memory`: uses suites that keep nothing, in all the ways there are.
    case memory
    /// `cycle COUNT`: opens, uses and closes suites so many times; answers what the process holds of the system then.
    case cycle
    /// `migrate OLD NEW`: doubles the integer under one key, moves it to the other, and raises it there, once.
    case migrate

    @MainActor
    func perform(on suite: SettingsSuite, _ arguments: Arguments) async throws -> String {
        switch self {
        case .get: return "\(try integer(suite, arguments).value)"
        case .set: try integer(suite, arguments).set(arguments.integer(1))
        case .assign: try integer(suite, arguments).value = arguments.integer(1)
        case .text: return suite.storedValue(forKey: try arguments.text(0))?.description ?? "none"
        case .keys: return "\(suite.keys.count)"
        case .remove: try suite.reset(arguments.text(0))
        case .synchronize: try suite.synchronize()
        case .checkpoint: try suite.checkpoint()
        case .checkpointRepeatedly: try checkpointRepeatedly(suite, arguments)
        case .finish: suite.finish()
        case .exit: leave()
        case .persistence: return persistence(of: suite)
        case .fill: try fill(suite, arguments)
        case .increment: try increment(suite, arguments)
        case .count: try count(suite, arguments)
        case .watch: try watch(suite, arguments)
        case .raise: try raise(suite, arguments)
        case .compare: return try await compare(suite, arguments)
        case .hold: try hold(suite, arguments)
        case .cross: return try cross(suite, arguments)
        case .lock: try holdLock(beside: suite, arguments.text(0))
        case .fork: try fork { try increment(suite, arguments) }
        case .forkInside: try forkInside(suite, integer(suite, arguments))
        case .forkBusily: try forkBusily(suite, integer(suite, arguments), arguments.integer(1))
        case .exhaust: try exhaust(leaving: arguments.integer(0))
        case .recover: recover()
        case .starve: try starve()
        case .feed: try limitMemory(to: nil)
        case .observe: try observe(suite, arguments)
        case .occupy: occupy()
        case .vacate: vacate()
        case .watches: return "\(try watches())"
        case .forkAndHold: try forkAndHold(suite, integer(suite, arguments), arguments.integer(1))
        case .exitInside: try exitInside(suite, integer(suite, arguments), arguments.integer(1))
        case .become: try become(user: arguments.integer(0))
        case .standard: return try standard(suite)
        case .memory: try keepNothing()
        case .cycle: return try await cycle(beside: suite, arguments)
        case .migrate: try migrate(suite, arguments)
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
        for number in 1...2_000_000 {
            try setting.set(number)
            say("\(number)")
        }
    }

    private func watch(_ suite: SettingsSuite, _ arguments: Arguments) throws {
        let setting = try integer(suite, arguments)
        Task.detached {
            for await value in setting.values {
                say("\(setting.key) is \(value)")
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
            say("holding")
            _ = readLine()
        }
    }

    private func cross(_ suite: SettingsSuite, _ arguments: Arguments) throws -> String {
        let (from, to) = (try arguments.text(0), try arguments.text(1))
        let failures = LawTable.all.compactMap { $0.failure(in: suite, prefix: from) }
        for law in LawTable.all {
            try law.pass(in: suite, from: from, to: to)
        }
        return failures.isEmpty ? "done" : failures.joined(separator: "; ").replacing("\n", with: " ")
    }
}
