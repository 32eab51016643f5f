// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization
import TestSupport
import Testing

@Suite("A stopped process that holds the lock stops nobody for good")
struct StoppedHolderTests {
    @Test("a set elsewhere fails after five seconds, reads go on, and all is well when the process continues")
    func stopped() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let here = Setting("n", default: 0, suite: SettingsSuite(fileAt: place.path))
            try here.set(1)
            try await withProbes(3, at: place) { probes in
                let (holder, writer, reader) = (probes[0], probes[1], probes[2])
                try await holder.expect("hold n 2", says: "holding")
                holder.signal(SIGSTOP)

                let start = ContinuousClock.now
                try writer.send("set n 3")
                let outcome = Outcome(of: here)
                // Reads while both wait, in a third process and in one that waits itself.
                for _ in 0..<20 {
                    let start = ContinuousClock.now
                    try await reader.expect("get n", says: "1")
                    #expect(here.value == 1)
                    #expect(ContinuousClock.now - start < .seconds(4), "reads do not wait for the lock")
                }
                try await writer.expect(says: "error lockTimedOut")
                await eventually("the set here fails", within: .seconds(60)) { outcome.code == .lockTimedOut }
                let waited = ContinuousClock.now - start
                #expect(waited >= .seconds(5) && waited < .seconds(30), "\(waited)")
                #expect(here.value == 1)

                holder.signal(SIGCONT)
                try await holder.expect("go on")
                #expect(here.value == 2)
                try await writer.expect("set n 4")
                try await reader.expect("get n", says: "4")
                try here.set(5)
                try await holder.expect("get n", says: "5")
            }
        }
    }
}

/// A set that fails, made on a thread that may wait.
private final class Outcome: Sendable {
    private let error = Mutex<SettingsError?>(nil)

    init(of setting: Setting<Int>) {
        DispatchQueue.global()
            .async {
                do {
                    try setting.set(9)
                } catch {
                    self.error.withLock { $0 = error as? SettingsError }
                }
            }
    }

    var code: SettingsError.Code? { error.withLock { $0?.code } }
}
