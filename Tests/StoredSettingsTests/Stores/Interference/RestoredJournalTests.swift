// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

/// Each store acts as a process.
@Suite("A journal whose older copy is put in its place")
struct RestoredJournalTests {
    enum Restoring: CaseIterable {
        /// As another file, with `mv`.
        case renamed
        /// In the same file, which is truncated first, as with `cp`.
        case copied
        /// In the same file, behind whose end the newer records stay.
        case writtenOver
    }

    private static func restore(_ bytes: [UInt8], to journal: JournalFile, _ restoring: Restoring) throws {
        if restoring == .renamed { return try journal.replace(with: bytes) }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: journal.path))
        if restoring == .copied { try file.truncate(atOffset: 0) }
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    @Test(
        "what the processes have set since is kept, and it is reported",
        arguments: Restoring.allCases,
        [nil, 0, 1] as [Int?]
    )
    func restored(restoring: Restoring, checkpointAt turn: Int?) async throws {
        try await withTemporaryDirectory { directory in
            let (path, catcher) = (directory + "/settings.json", ErrorRecorder())
            let stores = (0..<2).map { _ in makeStore(path) }
            for store in stores { store.setObserver(catcher) }
            try stores[0].commit { $0["n"] = 1 }
            for _ in 0..<2 { try stores[0].increment("n") }
            let journal = JournalFile(of: path)
            let copy = try journal.bytes
            for _ in 0..<2 { try stores[1].increment("n") }
            if turn == 0 { try stores[0].checkpoint() }
            try stores[0].commit { $0["k"] = 9 }
            if turn == 1 { try stores[0].checkpoint() }
            let expected: [String: StoredValue] = ["n": 5, "k": 9]
            for store in stores { #expect(store.contents() == expected) }

            try Self.restore(copy, to: journal, restoring)
            for store in stores { #expect(store.contents() == expected) }
            try stores[1].increment("n")
            #expect(stores[1].contents() == ["n": 6, "k": 9])
            try stores[0].increment("n")
            for store in stores + [makeStore(path)] {
                #expect(store.contents() == ["n": 7, "k": 9])
            }
            try stores[0].checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["n": 7, "k": 9])
            #expect(!catcher.errors.isEmpty)
            #expect(catcher.errors.allSatisfy { $0.code == .malformedJournal })
        }
    }

    @Test("what a process sets in the copy, and what another one knew, are merged", arguments: Restoring.allCases)
    func merged(restoring: Restoring) async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["n"] = 1 }
            let journal = JournalFile(of: path)
            let copy = try journal.bytes
            for number in 0..<Int128(10) { try store.commit { $0["k"] = .integer(number) } }
            try Self.restore(copy, to: journal, restoring)
            let other = makeStore(path)
            try other.commit { $0["other"] = 1 }
            try store.commit { $0["own"] = 1 }
            try other.commit { $0["end"] = 1 }
            let expected: [String: StoredValue] = ["n": 1, "k": 9, "other": 1, "own": 1, "end": 1]
            for store in [store, other, makeStore(path)] {
                #expect(store.contents() == expected)
            }
        }
    }

    @Test("a copy that is restored over a journal which had replaced it in the same file does not stop sets")
    func restoredAfterTruncation() async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            let other = makeStore(path)
            try store.commit { $0["n"] = 1 }
            let journal = JournalFile(of: path)
            let copy = try journal.bytes
            try journal.truncate(to: 0)
            try other.commit { $0["k"] = 2 }
            // The store finds the new journal, and has not read it when the copy is written.
            store.state.withLock { _ = $0.findJournal() }
            try Self.restore(copy, to: journal, .writtenOver)
            try store.commit { $0["m"] = 3 }
            try other.commit { $0["o"] = 4 }
            let expected: [String: StoredValue] = ["n": 1, "k": 2, "m": 3, "o": 4]
            #expect(store.contents() == expected && other.contents() == expected)
        }
    }
}
