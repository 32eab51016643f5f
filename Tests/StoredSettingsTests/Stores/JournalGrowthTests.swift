// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("The length of a journal while checkpoints fail")
struct JournalGrowthTests {
    private static let bound = 50_000
    private static let count = TestRun.count(quick: 5_000, exhaustive: 30_000)

    private final class Attempts: Sendable {
        private let number = Mutex(0)
        let isDiskFull = Mutex(false)

        var count: Int { number.withLock(\.self) }

        var system: SystemCalls {
            SystemCalls(
                fault: { [self] call, path in
                    call == .open && path.hasSuffix(".new") && isDiskFull.withLock(\.self) ? ENOSPC : nil
                },
                witness: { [self] call, path in
                    if call == .lock, path.hasSuffix(".lock") { number.withLock { $0 += 1 } }
                }
            )
        }
    }

    @Test(
        "the journal stays short with few attempts, and the corrected file receives all values",
        .deadlockLimit
    )
    func malformedFile() async throws {
        try await withSettingsPath(inMemory: true) { path in
            let attempts = Attempts()
            let store = FileStore(path: path, system: attempts.system, journalBound: Self.bound)
            let reader = makeStore(path)
            try store.commit { $0["kept"] = 1 }
            try store.checkpoint()
            try path.overwriteFile(with: "{\"kept\": 1")
            try ScriptPlayer.backdate(path)
            store.look()
            let before = attempts.count
            var longest = 0
            for number in 1...Self.count {
                try store.commit { $0["n"] = .integer(Int128(number)) }
                if number % 1_000 == 0 {
                    longest = try max(longest, JournalFile(of: path).bytes.count)
                    #expect(reader.value(forKey: "n") == .integer(Int128(number)))
                }
            }
            #expect(longest < Self.bound * 3)
            #expect(attempts.count - before < 20)
            #expect(
                makeStore(path).value(forKey: "n") == .integer(Int128(Self.count))
            )
            try path.replaceFile(with: "{\"kept\": 2}")
            store.look()
            let stored: [String: StoredValue] = ["kept": 2, "n": .integer(Int128(Self.count))]
            await eventually("the checkpoint has succeeded") {
                do {
                    return try JSONReader.readObject(Array(path.fileContents.utf8)) == stored
                } catch {
                    return false
                }
            }
            store.close()
        }
    }

    @Test("when the journal cannot be replaced either, sets continue, and the failure is reported once")
    func failedReplacement() async throws {
        try await withSettingsPath(inMemory: true) { path in
            let (attempts, recorder) = (Attempts(), ErrorRecorder())
            attempts.isDiskFull.withLock { $0 = true }
            let store = FileStore(
                path: path,
                system: attempts.system,
                checkpointsInBackground: false,
                journalBound: 1_000
            )
            store.setObserver(recorder)
            for number in 1...1_000 { try store.commit { $0["n"] = .integer(Int128(number)) } }
            #expect(recorder.errors.map(\.code) == [.writeFailed])
            #expect(makeStore(path).value(forKey: "n") == 1_000)
            attempts.isDiskFull.withLock { $0 = false }
            for number in 1...1_000 { try store.commit { $0["n"] = .integer(Int128(number)) } }
            #expect(try JournalFile(of: path).end < 4_096 + 2_000 + 100)
            #expect(makeStore(path).value(forKey: "n") == 1_000)
        }
    }
}
