// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// Closes its store when its last reference is released, as an engine does.
private final class Owner: StoreObserver {
    static let last = Mutex<Owner?>(nil)
    let store: FileStore
    init(_ store: FileStore) { self.store = store }
    func record(_ commit: StoreCommit) -> StoreDelivery {
        let old = Owner.last.withLock { owner in
            defer { owner = nil }
            return owner
        }
        _ = consume old
        return .none
    }
    func report(_ error: SettingsError) {}
    deinit { store.close() }
}

@Suite("FileStore race conditions")
struct RareMomentsTests {
    @Test("a commit throws when another thread finds, before the body ends, that the journal was replaced")
    func replacementFoundDuringBody() async throws {
        try await withSettingsPath { path in
            let (store, other) = (makeStore(path), makeStore(path))
            try store.commit { $0["a"] = 1 }
            expectError(.writeFailed) {
                try store.commit { transaction in
                    transaction["mine"] = 1
                    try JournalFile(of: path).remove()
                    try other.commit { $0["other"] = 1 }
                    store.look()
                }
            }
            // The failed commit has no effect, and no earlier commit is lost.
            #expect(store.contents() == ["a": 1, "other": 1])
            #expect(other.contents() == ["other": 1])
            try store.commit { $0["mine"] = 2 }
            for reader in [store, other, makeStore(path)] {
                #expect(reader.contents() == ["a": 1, "other": 1, "mine": 2])
            }
        }
    }

    @Test("a commit whose journal is replaced during its body is in the new journal after synchronize()")
    func replacedDuringBody() async throws {
        try await withSettingsPath { path in
            let (store, other) = (makeStore(path), makeStore(path))
            try store.commit { $0["a"] = 1 }
            try store.commit { transaction in
                transaction["mine"] = 1
                try JournalFile(of: path).remove()
                try other.commit { $0["other"] = 1 }
            }
            #expect(store.value(forKey: "a") == 1)
            #expect(store.value(forKey: "mine") == 1)
            try store.synchronize()
            for reader in [store, other, makeStore(path)] {
                #expect(reader.contents() == ["a": 1, "other": 1, "mine": 1])
            }
        }
    }

    @Test("a value of a removed journal does not override a value that was set and checkpointed since")
    func removedJournalWithOlderValue() async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try JournalFile(of: path).remove()
            let other = makeStore(path)
            try other.commit { $0["a"] = 2 }
            try other.checkpoint()
            try store.commit { $0["b"] = 1 }
            #expect(store.contents() == ["a": 2, "b": 1])
            #expect(other.contents() == ["a": 2, "b": 1])
        }
    }

    @Test("a journal that was truncated and has grown again is replaced and reported")
    func grownAfterTruncation() async throws {
        try await withTemporaryDirectory { directory in
            let (path, reporter) = (directory + "/settings.json", RecordingReporter())
            let store = makeStore(path)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            // The result of a commit that appends its record just after the truncation.
            let journal = JournalFile(of: path)
            try journal.truncate(to: 8)
            try journal.truncate(to: JournalFile.headerSize + 64)
            let other = SettingsSuite(store: makeStore(path), reporter: reporter)
            #expect(other.snapshot() == ["a": 1])
            try await other.setStoredValue(2, forKey: "b")
            #expect(other.snapshot() == ["a": 1, "b": 2])
            #expect(store.contents() == ["a": 1, "b": 2])
            #expect(reporter.errors.map(\.code) == [.malformedJournal])
            try await other.checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["a": 1, "b": 2])
        }
    }

    @Test("the last reference to an observer can be released while a commit is recorded")
    func lastReference() async throws {
        try await withSettingsPath { path in
            let (store, other) = (makeStore(path), makeStore(path))
            try other.commit { $0["b"] = 1 }
            _ = store.contents()
            do {
                let owner = Owner(store)
                store.setObserver(owner)
                Owner.last.withLock { $0 = owner }
            }
            try other.commit { $0["a"] = 1 }
            #expect(store.contents() == ["a": 1, "b": 1])
            #expect(Owner.last.withLock { $0 } == nil)
            // The observer was released and has closed the store.
            expectError(.suiteFinished) { try store.commit { $0["c"] = 1 } }
        }
    }

    @Test(
        "finishing a suite inside its own transaction takes effect when the transaction ends",
        arguments: [false, true]
    )
    func finishInTransaction(isThrowing: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let (path, reporter) = (directory + "/settings.json", RecordingReporter())
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            try await suite.setStoredValue(1, forKey: "a")
            let commit = {
                try suite.transaction { settings in
                    suite.finish()
                    #expect(settings[storedValueFor: "a"] == 1)
                    settings[storedValueFor: "a"] = 2
                    settings[storedValueFor: "b"] = 2
                    if isThrowing { throw CancellationError() }
                }
            }
            if isThrowing { #expect(throws: CancellationError.self, performing: commit) } else { try commit() }
            let expected: [String: StoredValue] = isThrowing ? ["a": 1] : ["a": 2, "b": 2]
            // After finish(), the file contains all values and no change is accepted.
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == expected)
            expectError(.suiteFinished) { try suite.setStoredValue(3, forKey: "a") }
            #expect(SettingsSuite(fileAt: path, reporter: reporter).snapshot() == expected)
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test("a commit that no other process can see throws and has no effect")
    func publishedToNoProcess() async throws {
        try await withSettingsPath { path in
            let written = Interruption(after: .write) { $0 == path + ".journal" }
            let store = makeStore(path, written.system)
            let other = makeStore(path)
            try store.commit { $0["a"] = 1 }
            #expect(other.contents() == ["a": 1])
            let page = try #require(store.peek { $0.journal.journal?.page.address(of: .magic) })
            // The record is written, but the page that would publish it becomes private to this process.
            written.run { #expect(SystemCalls.mapZeros(at: page, 4_096)) }
            expectError(.writeFailed) { try store.commit { $0["a"] = 2 } }
            #expect(written.hasRun, "the page was replaced")
            for reader in [store, other, makeStore(path)] {
                #expect(reader.contents() == ["a": 1])
            }
            try store.commit { $0["b"] = 1 }
            for reader in [store, other, makeStore(path)] {
                #expect(reader.contents() == ["a": 1, "b": 1])
            }
        }
    }
}
