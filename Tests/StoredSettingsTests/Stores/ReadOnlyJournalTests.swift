// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A read-only journal")
struct ReadOnlyJournalTests {
    /// Refuses to open the journal for writing, which the store attempts before it opens it for reading.
    private func system(_ path: String) -> SystemCalls {
        let count = Mutex(0)
        return SystemCalls(fault: { call, other in
            guard call == .open, other == path + ".journal" else { return nil }
            return count.withLock { count in
                count += 1
                return count % 2 == 1 ? EACCES : nil
            }
        })
    }

    @Test("a process without write permission does not repair a damaged journal and does not crash")
    func damaged() async throws {
        try await withSettingsPath { path in
            let writer = makeStore(path)
            try writer.commit { $0["a"] = 1 }
            try JournalFile(of: path).overwriteWord(at: 4_096 + 24, with: 0)
            let reader = FileStore(path: path, system: system(path))
            #expect(reader.contents() == [:])
            expectError(.readOnly) { try reader.commit { $0["b"] = 2 } }
            await eventually("the background work has also attempted the repair") {
                !reader.schedule.isRepairScheduled.isSet
            }
            #expect(reader.contents() == [:])
        }
    }

    @Test("a file without write permission for its owner stays so, and its journal is writable for the owner")
    func modes() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{}")
            try FileManager.default.setAttributes([.posixPermissions: 0o440], ofItemAtPath: path)
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            #expect(try (path + ".journal").filePermissions == 0o640)
            try store.checkpoint()
            #expect(try path.filePermissions == 0o440)
            #expect(try (path + ".journal").filePermissions == 0o640)
        }
    }
}

@Suite("Reports of a failed checkpoint")
struct CheckpointReporterTests {
    @Test("a reporter can checkpoint during a report")
    func checkpointing() async throws {
        try await withSettingsPath { path in
            let system = SystemCalls(fault: { call, other in
                call == .rename && other.hasSuffix(".last-good") ? EIO : nil
            })
            let current = Mutex<SettingsSuite?>(nil)
            let reports = Counter()
            let reporter = CallingReporter { _ in
                guard let suite = current.withLock(\.self) else { return }
                #expect(throws: Never.self) { try suite.checkpoint() }
                reports.add()
            }
            let suite = SettingsSuite(store: makeStore(path, system), reporter: reporter)
            try await suite.setStoredValue(1, forKey: "a")
            current.withLock { $0 = suite }
            try await suite.checkpoint()
            current.withLock { $0 = nil }
            #expect(reports.count == 1)
        }
    }
}
