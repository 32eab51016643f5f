// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsEtcd

/// Increments whose history can be checked, until the current directory has the file `stop`.
///
/// Each commit writes a label that no other commit has, and prints the label that it replaces:
///
///     try LABEL PARENT COUNT     before a commit is sent
///     ok LABEL START END         the commit was acknowledged; the times are nanoseconds
///     unknown LABEL              its outcome is unknown
///     see LABEL NOTE,NOTE…       the first state of the replica with this label
///     stream LABEL               a value of a stream
///     torn                       a state is not whole
///     end LABEL COUNT            the last state, after the value `end` has arrived
final class HistoryProbe: Sendable {
    private let store: EtcdStore
    private let client: String
    private let streamed = Locked("")
    private let printer = Locked(())

    init(_ store: EtcdStore, client: String) {
        (self.store, self.client) = (store, client)
    }

    private func log(_ line: String) {
        printer.withLock { _ in
            print(line)
            fflush(nil)
        }
    }

    private static func text(_ value: StoredValue?) -> String {
        if case .string(let text)? = value { text } else { "-" }
    }

    private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

    func run() throws {
        let last = Setting("last", default: "-", suite: SettingsSuite(store: store))
        Task {
            for await label in last.values {
                self.log("stream \(label)")
                self.streamed.withLock { $0 = label }
            }
        }
        Thread.detachNewThread { [self] in read() }
        var attempt = 0
        while access("stop", F_OK) != 0 {
            let start = Self.now
            do {
                try store.commit { transaction in
                    attempt += 1
                    let label = "\(client):\(attempt)"
                    let count = integer(transaction["count"]) + 1
                    log("try \(label) \(Self.text(transaction["last"])) \(count)")
                    let own = integer(transaction["client/\(client)"]) + 1
                    transaction["client/\(client)"] = .integer(Int128(own))
                    transaction["count"] = .integer(Int128(count))
                    transaction["last"] = .string(label)
                }
                log("ok \(client):\(attempt) \(start) \(Self.now)")
            } catch let error as SettingsError {
                if error.code == .outcomeUnknown {
                    log("unknown \(client):\(attempt)")
                } else if ![.serverUnavailable, .serverRefused, .otherCluster].contains(error.code) {
                    throw error
                }
                continue
            }
            // The next commit begins when this assignment is stored or dropped.
            guard try store.writeLater(["note/\(client)": .integer(Int128(attempt))]) else { exit(1) }
            // The other processes need a turn, because each commit makes those that it overtakes begin again.
            usleep(.random(in: 0..<50_000))
        }
        do {
            try store.synchronize()
        } catch let error as SettingsError where error.code == .pendingWriteDropped {
            // The note of another process has come first, which is what the history records.
        }
        log("idle")
        while store.value(forKey: "end") == nil
            || streamed.withLock({ $0 }) != Self.text(store.value(forKey: "last"))
        {
            // The pace of the checks; the test has the deadline, and ends this process after it.
            usleep(1_000)
        }
        let contents = store.contents()
        log("end \(Self.text(contents["last"])) \(integer(contents["count"]))")
    }

    /// Prints every state that is seen, at the pace of the reads.
    private func read() {
        var last = ""
        while true {
            let contents = store.contents()
            let clients = contents.filter { $0.key.hasPrefix("client/") }
            let sum = clients.reduce(0) { $0 + integer($1.value) }
            if sum != integer(contents["count"]) { log("torn") }
            let notes = (0..<4).map { "\(integer(contents["note/\($0)"]))" }
            let state = "see \(Self.text(contents["last"])) \(notes.joined(separator: ","))"
            if state != last { log(state) }
            last = state
            // The pace of the reads, not a wait.
            usleep(5_000)
        }
    }
}
