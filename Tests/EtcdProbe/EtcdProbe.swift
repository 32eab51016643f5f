// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettings
import StoredSettingsEtcd

/// A process of a fleet that tests run beside others.
///
///     etcd-probe URL,URL… PREFIX FILE increments CLIENT COUNT
///     etcd-probe URL,URL… PREFIX FILE history CLIENT 0
///     etcd-probe URL,URL… PREFIX FILE assign KEY,KEY… NUMBER,NUMBER…
///     etcd-probe URL,URL… PREFIX FILE fork KEY NUMBER
///     etcd-probe URL,URL… PREFIX FILE closeAll KEY NUMBER
///
/// `FILE` is the path of the replica on the disk, or `-` for none. If the current directory has the files `user` and `password`, they
/// are those of the user.
@main
struct EtcdProbe {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        let numbers = words.last?.split(separator: ",").compactMap { Int($0) } ?? []
        guard words.count == 6, let number = numbers.last else {
            print(
                "usage: etcd-probe URLS PREFIX FILE (increments CLIENT COUNT | assign KEYS NUMBERS | (fork|closeAll) KEY N)"
            )
            exit(2)
        }
        endWithParent()
        do {
            let urls = words[0].split(separator: ",").map(String.init)
            var configuration = EtcdStore.Configuration()
            configuration.replicaFile = words[2] == "-" ? nil : words[2]
            // A busy machine needs long for the child of a fork, which is not repeated.
            configuration.timeout = .seconds(words[3] == "fork" ? 30 : 10)
            // The history explains unknown outcomes, so there is no need to wait long for them.
            if words[3] == "history" { configuration.settlingTime = .seconds(5) }
            if access("user", R_OK) == 0 {
                configuration.credentials = EtcdStore.Credentials(userFile: "user", passwordFile: "password")
            }
            let makeStore = { EtcdStore(try SocketTransport(urls), prefix: words[1], configuration: configuration) }
            let store = try makeStore()
            switch words[3] {
            case "increments": try Increments(store, client: words[4]).run(number)
            case "history": try HistoryProbe(store, client: words[4]).run()
            case "assign": try assign(numbers, to: words[4].split(separator: ",").map(String.init), in: store)
            case "fork": try Child(of: store, makeStore).run(words[4], number)
            case "closeAll": try setWithClosedDescriptors(words[4], number, in: store)
            default: exit(2)
            }
            exit(0)
        } catch {
            print("error \(error)")
            exit(1)
        }
    }

    /// Ends this process when the one that has started it has ended, for example because a test run was killed.
    private static func endWithParent() {
        let parent = getppid()
        Thread.detachNewThread {
            // The pace of the checks.
            while getppid() == parent { sleep(1) }
            _exit(5)
        }
    }

    /// Sets a key, closes all descriptors, opens the file `other` in the current directory instead, and sets the key again.
    private static func setWithClosedDescriptors(_ key: String, _ number: Int, in store: EtcdStore) throws {
        for round in 0..<number {
            if round > 0 { try Descriptors.closeAll(openingInstead: "other") }
            let value = StoredValue.integer(Int128(round + 1))
            do {
                try store.write(value, forKey: key)
            } catch let error as SettingsError where error.code == .outcomeUnknown {
                // Its connection was closed while the request was on the way.
                try store.write(value, forKey: key)
            }
            try store.refresh()
            print("\(Increments.number(store.value(forKey: key)))")
        }
    }

    /// Assigns numbers to all keys, one after the other, and waits to be killed.
    private static func assign(_ numbers: [Int], to keys: [String], in store: EtcdStore) throws {
        for number in numbers {
            var edits: [String: StoredValue?] = [:]
            for key in keys { edits[key] = .integer(Int128(number)) }
            guard try store.writeLater(edits) else { exit(1) }
        }
        print("assigned \(numbers.map(String.init).joined(separator: ","))")
        fflush(nil)
        while true { sleep(1_000) }
    }
}

/// A forked child that uses a store.
private struct Child {
    private let inherited: EtcdStore
    private let makeStore: () throws -> EtcdStore

    /// The time after which a child that hangs is killed, in seconds.
    private static let limit: CUnsignedInt = 60

    init(of inherited: EtcdStore, _ makeStore: @escaping () throws -> EtcdStore) {
        (self.inherited, self.makeStore) = (inherited, makeStore)
    }

    /// Sets a key in this process, and a greater number in the child.
    func run(_ key: String, _ number: Int) throws {
        try inherited.write(.integer(Int128(number)), forKey: key)
        let child = try CLibrary.fork()
        if child == 0 {
            // The process that has started this one may have blocked signals.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGALRM)
            sigprocmask(SIG_UNBLOCK, &signals, nil)
            alarm(Self.limit)
            _exit(use(key, number) ? 0 : 4)
        }
        var status: CInt = 0
        waitpid(child, &status, 0)
        try inherited.refresh()
        print("parent \(Increments.number(inherited.value(forKey: key))) child \(status)")
    }

    private func use(_ key: String, _ number: Int) -> Bool {
        do {
            let store = try makeStore()
            // The first read waits for a limited time only, which a busy machine exceeds.
            try store.refresh()
            guard Increments.number(store.value(forKey: key)) == number else { return false }
            try store.write(.integer(Int128(number + 1)), forKey: key)
            guard try !inherited.writeLater([key: 0]) else { return false }
            inherited.close()
            try inherited.write(0, forKey: key)
            return false
        } catch {
            return (error as? SettingsError)?.code == .suiteFinished
        }
    }
}

/// Increments that have to be exact, whatever happens to the connections.
struct Increments {
    private let store: EtcdStore
    private let client: String

    init(_ store: EtcdStore, client: String) {
        (self.store, self.client) = (store, client)
    }

    func run(_ count: Int) throws {
        let checker = Checker(store)
        checker.start()
        var (unknown, failed) = (0, 0)
        for number in 1...count {
            var isUnknown = false
            while true {
                do {
                    try store.commit { transaction in
                        let own = Self.number(transaction["client/\(client)"])
                        // After an unknown outcome, the increment may be stored.
                        guard !isUnknown || own < number else { return }
                        transaction["client/\(client)"] = .integer(Int128(own + 1))
                        transaction["count"] = .integer(Int128(Self.number(transaction["count"]) + 1))
                    }
                    break
                } catch let error as SettingsError {
                    if error.code == .outcomeUnknown {
                        (isUnknown, unknown) = (true, unknown + 1)
                    } else if error.code == .serverUnavailable || error.code == .serverRefused {
                        failed += 1
                    } else {
                        throw error
                    }
                }
            }
            // An own acknowledged write is visible at once.
            if Self.number(store.value(forKey: "client/\(client)")) < number { checker.note("an own write is missing") }
        }
        checker.stop()
        let own = Self.number(store.value(forKey: "client/\(client)"))
        print("own \(own) findings \(checker.findings.sorted()) unknown \(unknown) failed \(failed)")
    }

    static func number(_ value: StoredValue?) -> Int {
        if case .integer(let number)? = value { Int(number) } else { 0 }
    }
}

/// A thread that checks every state that it reads: each is whole, and none is older than the one before.
private final class Checker: Sendable {
    private struct State {
        var findings: Set<String> = []
        var isStopped = false
    }

    private let store: EtcdStore
    private let state = Locked(State())
    private let end = DispatchSemaphore(value: 0)

    init(_ store: EtcdStore) {
        self.store = store
    }

    var findings: Set<String> { state.withLock { $0.findings } }

    func note(_ finding: String) {
        state.withLock { _ = $0.findings.insert(finding) }
    }

    func start() {
        Thread.detachNewThread { [self] in
            var last: [String: StoredValue] = [:]
            while !state.withLock({ $0.isStopped }) {
                let contents = store.contents()
                let clients = contents.filter { $0.key.hasPrefix("client/") }
                let sum = clients.reduce(0) { $0 + Increments.number($1.value) }
                if sum != Increments.number(contents["count"]) { note("a state is not whole") }
                let isOlder = last.contains { Increments.number(contents[$0.key]) < Increments.number($0.value) }
                if isOlder { note("a state is older than the one before") }
                last = contents
                // The pace of the reads, not a wait.
                usleep(1_000)
            }
            end.signal()
        }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        end.wait()
    }
}
