// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettings
import StoredSettingsEtcd

/// A process of a fleet that tests run beside others.
///
///     etcd-probe URL,URL… PREFIX FILE history CLIENT 0
///     etcd-probe URL,URL… PREFIX FILE assign KEY,KEY… NUMBER,NUMBER…
///     etcd-probe URL,URL… PREFIX FILE fork KEY NUMBER
///     etcd-probe URL,URL… PREFIX FILE closeAll KEY NUMBER
///
/// `FILE` is the path of the replica on the disk. If the current directory has the files `user` and `password`, they
/// are those of the user.
@main
struct EtcdProbe {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        let numbers = words.last?.split(separator: ",").compactMap { Int($0) } ?? []
        guard words.count == 6, let number = numbers.last else {
            print(
                "usage: etcd-probe URLS PREFIX FILE (history CLIENT 0 | assign KEYS NUMBERS | (fork|closeAll) KEY N)"
            )
            exit(2)
        }
        endWithParent()
        do {
            let urls = words[0].split(separator: ",").map(String.init)
            var configuration = EtcdStore.Configuration()
            configuration.replicaFile = words[2]
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
            try store.refresh(mayWait: true)
            print("\(integer(store.value(forKey: key)))")
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
        try inherited.refresh(mayWait: true)
        print("parent \(integer(inherited.value(forKey: key))) child \(status)")
    }

    private func use(_ key: String, _ number: Int) -> Bool {
        do {
            let store = try makeStore()
            // The first read waits for a limited time only, which a busy machine exceeds.
            try store.refresh(mayWait: true)
            guard integer(store.value(forKey: key)) == number else { return false }
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

/// The integer of a key; 0 if there is none.
func integer(_ value: StoredValue?) -> Int {
    if case .integer(let number)? = value { Int(number) } else { 0 }
}
