// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// How a journal is lost while processes use it.
private enum Loss: CustomTestStringConvertible, Sendable {
    case removed
    case truncated(Int)

    /// Each length cuts off another part of the header, or of the records.
    static let truncations = [0, 16, 24, 32, 64, 66, 68, 70, 72, 100, 512, 600, 1_100, 4_095, 4_096, 4_100]
        .map(Loss.truncated)
    static let all = [Loss.removed] + truncations
    /// Nothing of the journal remains.
    static let whole = [Loss.removed, .truncated(0)]

    var testDescription: String {
        switch self {
        case .removed: "removed"
        case .truncated(let length): "truncated to \(length) bytes"
        }
    }

    func apply(to journal: JournalFile) throws {
        switch self {
        case .removed: try journal.remove()
        case .truncated(let length): try journal.truncate(to: length)
        }
    }
}

extension FileStore {
    /// Adds 1 to a number that is stored.
    func increment(_ key: String) throws {
        try commit { transaction in
            guard case .integer(let old)? = transaction[key] else { throw CocoaError(.fileReadUnknown) }
            transaction[key] = .integer(old + 1)
        }
    }
}

/// What a process has set is kept when its journal is lost, unless a newer value is known.
///
/// Each store acts as a process.
@Suite("A journal that is lost")
struct LostJournalTests {
    /// Sets `n` to 3 and `k` to 2 in a store while another one writes a checkpoint with `n` 1 and `k` 1.
    private func setDuringCheckpoint(_ path: String, hasFile: Bool) throws -> FileStore {
        let store = makeStore(path)
        if hasFile {
            try store.commit { transaction in
                transaction["n"] = 0
                transaction["k"] = 0
            }
            try store.checkpoint()
        }
        try store.commit { $0["n"] = 1 }
        try store.commit { $0["k"] = 1 }
        // After the contents to be written were copied.
        let during = Interruption(before: .sync) { $0.contains("/.settings.json.") && $0.hasSuffix(".new") }
        during.run {
            try store.increment("n")
            try store.increment("n")
            try store.commit { $0["k"] = 2 }
        }
        try makeStore(path, during.system).checkpoint()
        #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["n": 1, "k": 1])
        return store
    }

    private func expect(_ contents: [String: StoredValue], in store: FileStore, _ path: String) throws {
        #expect(store.contents() == contents)
        #expect(makeStore(path).contents() == contents)
        try store.checkpoint()
        #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == contents)
    }

    @Test(
        "values that a checkpoint of another process has not written are kept",
        arguments: Loss.all.sampled(6),
        [false, true]
    )
    fileprivate func checkpointOfAnother(loss: Loss, hasFile: Bool) async throws {
        try await withSettingsPath { path in
            let store = try setDuringCheckpoint(path, hasFile: hasFile)
            try loss.apply(to: JournalFile(of: path))
            try store.increment("n")
            try expect(["n": 4, "k": 2], in: store, path)
        }
    }

    @Test("an edit after a checkpoint of another process stands for the keys it has changed", arguments: [false, true])
    func editAfterCheckpoint(hasFile: Bool) async throws {
        try await withSettingsPath { path in
            let store = try setDuringCheckpoint(path, hasFile: hasFile)
            try JournalFile(of: path).remove()
            try path.replaceFile(with: #"{"n": 7, "k": 1}"#)
            try store.increment("n")
            try expect(["n": 8, "k": 2], in: store, path)
        }
    }

    @Test("a value that is set in the new journal after the loss was noticed stands")
    func recordAfterNotice() async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["n"] = 1 }
            try store.commit { $0["k"] = 1 }
            try JournalFile(of: path).remove()
            let other = makeStore(path)
            try other.commit { $0["other"] = 1 }
            // The store finds the new journal. Its next commit takes over its values.
            store.look()
            #expect(store.contents() == ["n": 1, "k": 1, "other": 1])
            try other.commit { $0["n"] = 10 }
            #expect(store.contents() == ["n": 10, "k": 1, "other": 1])
            try store.commit { $0["end"] = 1 }
            for reader in [store, other] {
                #expect(reader.contents() == ["n": 10, "k": 1, "other": 1, "end": 1])
            }
            try expect(["n": 10, "k": 1, "other": 1, "end": 1], in: store, path)
        }
    }

    @Test(
        "a value that is only in memory stands beside an edit that is read while there is no journal",
        arguments: [false, true]
    )
    func editWithoutJournal(isEverythingDue: Bool) async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["mine"] = 1 }
            try JournalFile(of: path).truncate(to: 0)
            try JournalFile(of: path).remove()
            try path.overwriteFile(with: #"{"mine": 0, "edited": 1}"#)
            // The journal was lost just after its records could no longer be followed.
            if isEverythingDue { store.state.withLock { $0.requireReload() } }
            store.look()
            #expect(store.contents() == ["mine": 1, "edited": 1])
            try store.commit { $0["end"] = 1 }
            try expect(["mine": 1, "edited": 1, "end": 1], in: store, path)
        }
    }

    @Test("a record that is appended to the lost journal later does not replace a value of the new one")
    func lateRecord() async throws {
        try await withSettingsPath { path in
            let (store, late) = (makeStore(path), makeStore(path))
            try store.commit { $0["mine"] = 1 }
            try late.commit { $0["late"] = 1 }
            #expect(store.contents() == ["mine": 1, "late": 1])
            try JournalFile(of: path).remove()
            try makeStore(path).commit { $0["k"] = 2 }
            store.look()
            // The process has not examined the path again.
            _ = late.schedule.hasCommitted.set()
            try await eventually("the record is appended before the path is to be examined") {
                late.state.withLock { $0.journal.notePlace() }
                return try late.write(1, forKey: "k", mayWait: false)
            }
            try store.commit { $0["end"] = 1 }
            try expect(["mine": 1, "late": 1, "k": 2, "end": 1], in: store, path)
        }
    }

    @Test(
        "a journal whose header lost its epochs while a record was published is written again",
        arguments: [true, false]
    )
    func lostEpochs(isSetBefore: Bool) async throws {
        try await withSettingsPath { path in
            let (store, other) = (makeStore(path), makeStore(path))
            try store.commit { $0["a"] = 1 }
            #expect(other.contents() == ["a": 1])
            // As after a truncation within the header, and a record whose process had examined the length before.
            let journal = JournalFile(of: path)
            for word in JournalHeader.epochWords.flatMap({ $0.rawValue..<$0.rawValue + JournalHeader.epochLength }) {
                try journal.overwriteWord(at: word * 8, with: 0)
            }
            if isSetBefore { try store.commit { $0["b"] = 2 } }
            try store.checkpoint()
            try other.commit { $0["c"] = 3 }
            let expected: [String: StoredValue] = isSetBefore ? ["a": 1, "b": 2, "c": 3] : ["a": 1, "c": 3]
            for store in [store, other, makeStore(path)] { #expect(store.contents() == expected) }
            try other.checkpoint()
            #expect(makeStore(path).contents() == expected)
        }
    }

    @Test("an edit that is read before a value is taken over does not replace it")
    func editBeforeTakingOver() async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            try store.commit { $0["n"] = 1 }
            try store.checkpoint()
            try store.commit { $0["n"] = 2 }
            try JournalFile(of: path).remove()
            let other = makeStore(path)
            try other.commit { $0["other"] = 1 }
            store.look()
            #expect(store.peek { $0.journal.stranded != nil }, "the value is to be taken over")
            // A checkpoint through the new journal does not write the value.
            try other.checkpoint()
            try path.replaceFile(with: #"{"n": 1, "other": 1, "edit": 1}"#)
            store.lookAndWait()
            #expect(store.contents() == ["n": 2, "other": 1, "edit": 1])
            try store.commit { $0["end"] = 1 }
            try expect(["n": 2, "other": 1, "edit": 1, "end": 1], in: store, path)
        }
    }

    @Test("an edit that is being read while a value is taken over does not replace it")
    func editWhileTakingOver() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"n": 1}"#)
            let reading = Interruption(before: .read) { $0 == path }
            let (store, writer) = (makeStore(path, reading.system), makeStore(path))
            try store.commit { $0["mine"] = 1 }
            // The store does not read these records before the journal is removed.
            try writer.commit { $0["n"] = 2 }
            try writer.commit { $0["n"] = 1 }
            try JournalFile(of: path).remove()
            try makeStore(path).commit { $0["other"] = 1 }
            store.look()
            #expect(store.peek { $0.journal.stranded.map { Array($0.values.keys) } } == ["mine"])
            try path.replaceFile(with: #"{"n": 7}"#)
            reading.run { try onAnotherThread { try store.commit { $0["end"] = 1 } } }
            store.lookAndWait()
            #expect(reading.hasRun, "the edit was read")
            try expect(["n": 1, "mine": 1, "other": 1, "end": 1], in: store, path)
        }
    }

    @Test("a value that was set in the new journal and is in the file stands", arguments: Loss.whole, [false, true])
    fileprivate func newerCheckpoint(loss: Loss, hasFile: Bool) async throws {
        try await withSettingsPath { path in
            let store = try setDuringCheckpoint(path, hasFile: hasFile)
            try loss.apply(to: JournalFile(of: path))
            let other = makeStore(path)
            try other.commit { transaction in
                transaction["n"] = 10
                transaction["k"] = 10
            }
            try other.checkpoint()
            try store.increment("n")
            try expect(["n": 11, "k": 10], in: store, path)
        }
    }

    @Test("a value that another process has set later, and a checkpoint has written, stands", arguments: [false, true])
    func laterRecordInFile(hasFile: Bool) async throws {
        try await withSettingsPath { path in
            let store = try setDuringCheckpoint(path, hasFile: hasFile)
            let other = makeStore(path)
            try other.commit { $0["n"] = 20 }
            try other.checkpoint()
            try JournalFile(of: path).remove()
            try store.increment("n")
            try expect(["n": 21, "k": 2], in: store, path)
        }
    }

    @Test("one process keeps its own values", arguments: Loss.truncations.sampled(6))
    fileprivate func oneProcess(loss: Loss) async throws {
        try await withTemporaryDirectory { directory in
            let (path, catcher) = (directory + "/settings.json", ErrorRecorder())
            let store = makeStore(path)
            store.setObserver(catcher)
            try store.commit { $0["n"] = 1 }
            for _ in 0..<3 { try store.increment("n") }
            try loss.apply(to: JournalFile(of: path))
            try store.increment("n")
            // An empty file is a journal that a process has not finished creating.
            if case .truncated(let length) = loss, length > 0 { #expect(!catcher.errors.isEmpty) }
            #expect(catcher.errors.allSatisfy { $0.code == .malformedJournal })
            try expect(["n": 5], in: store, path)
        }
    }

    @Test("what another process knows beyond the first to come is merged", arguments: Loss.all.sampled(6))
    fileprivate func laterProcess(loss: Loss) async throws {
        try await withSettingsPath { path in
            let stores = (0..<3).map { _ in makeStore(path) }
            try stores[0].commit { $0["n"] = 1 }
            for store in stores { #expect(store.value(forKey: "n") == 1) }
            // The first to come after the loss has not read these.
            try stores[1].commit { $0["k"] = 1 }
            try stores[2].commit { $0["m"] = 1 }
            try loss.apply(to: JournalFile(of: path))
            try stores[0].commit { $0["other"] = 1 }
            try stores[2].commit { $0["last"] = 1 }
            try stores[1].commit { $0["end"] = 1 }
            let expected: [String: StoredValue] = ["n": 1, "k": 1, "m": 1, "other": 1, "last": 1, "end": 1]
            for store in stores { #expect(store.contents() == expected) }
            try expect(expected, in: stores[0], path)
        }
    }
}
