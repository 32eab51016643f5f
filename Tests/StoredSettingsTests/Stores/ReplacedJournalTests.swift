// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A removed or replaced journal")
struct ReplacedJournalTests {
    /// The last value that each of the two stores has set, and whether they stop.
    private final class Progress: Sendable {
        let isDone = Mutex(false)
        let last = Mutex([0, 0])
    }

    private static let removals = TestRun.count(quick: 200, exhaustive: 1_000)

    @Test("repeated removals of the journal lose no value and report no damage", .deadlockLimit)
    func removed() async throws {
        try await withSettingsPath(inMemory: true) { path in
            let recorders = (0..<2).map { _ in ErrorRecorder() }
            let stores = (0..<2).map { _ in makeStore(path) }
            for (store, recorder) in zip(stores, recorders) { store.setObserver(recorder) }
            let progress = Progress()
            await withTaskGroup(of: Void.self) { group in
                for (index, store) in stores.enumerated() {
                    group.addTask {
                        var number = 0
                        while !progress.isDone.withLock(\.self) {
                            number += 1
                            await Task.yield()
                            do {
                                try store.commit { $0["n\(index)"] = .integer(Int128(number)) }
                                progress.last.withLock { $0[index] = number }
                            } catch let error as SettingsError where [.writeFailed, .lockTimedOut].contains(error.code)
                            {
                                // The journal was removed repeatedly during locking, or the other thread was suspended
                                // while it held the lock. Nothing has changed.
                                number -= 1
                            } catch {
                                Issue.record(error)
                                return
                            }
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<Self.removals {
                        let before = progress.last.withLock(\.self)
                        await eventually("a value is set") { progress.last.withLock(\.self) != before }
                        unlink(path + ".journal")
                    }
                    progress.isDone.withLock { $0 = true }
                }
            }
            let numbers = progress.last.withLock(\.self)
            for store in stores {
                await eventually("all values are in one journal") {
                    do {
                        try store.commit { _ in }
                        return true
                    } catch {
                        return false
                    }
                }
            }
            for store in stores {
                for (index, number) in numbers.enumerated() {
                    #expect(store.value(forKey: "n\(index)") == .integer(Int128(number)))
                }
            }
            for recorder in recorders { #expect(recorder.errors.map(\.description) == []) }
            for store in stores { store.close() }
        }
    }

    @Test("a value that was cached before it was replaced is read again after it")
    func cached() async throws {
        try await withSettingsPath { path in
            let stores = (0..<2).map { _ in makeStore(path) }
            let (writer, reader) = (SettingsSuite(store: stores[0]), SettingsSuite(store: stores[1]))
            let (number, text) = (Setting("n", default: 0, suite: reader), Setting("text", default: "", suite: reader))
            for round in 1...3 {
                try await writer.setStoredValue(.integer(Int128(round)), forKey: "n")
                try await writer.setStoredValue(.string("\(round)"), forKey: "text")
                #expect(number.value == round && text.value == "\(round)")
                let old = try #require(stores[0].peek { $0.journal.journal })
                old.markUnreliable()
                try await writer.synchronize()
                #expect(stores[0].peek { $0.journal.journal } !== old)
                // Not in between, so that the reader has the old one still.
                try await writer.setStoredValue(.integer(Int128(-round)), forKey: "n")
                try await writer.setStoredValue("new", forKey: "text")
                #expect(number.value == -round && text.value == "new")
            }
            await writer.finish()
            await reader.finish()
        }
    }

    @Test("a checkpoint that begins while the journal is being replaced is announced in the new one")
    func holder() async throws {
        try await withSettingsPath { path in
            let other = makeStore(path)
            let system = SystemCalls { call, called in
                guard call == .sync, called.contains("settings.json.journal."), called.hasSuffix(".new"),
                    let page = other.peek({ $0.journal.journal?.page })
                else { return nil }
                LockHolder.current?.store(as: .checkpoint, in: page)
                return nil
            }
            let store = makeStore(path, system)
            try store.commit { $0["a"] = 1 }
            #expect(other.contents() == ["a": 1])
            let old = try #require(store.peek { $0.journal.journal })
            old.noteExposure()
            try store.commit { $0["a"] = 2 }
            let new = try #require(store.peek { $0.journal.journal })
            #expect(new !== old)
            #expect(LockHolder(of: .checkpoint, in: new.page) == LockHolder.current)
        }
    }

    @Test("its users look at the path from before the new one has its name")
    func announced() async throws {
        try await withSettingsPath { path in
            let known = Mutex<Journal?>(nil)
            let renames = Mutex(0)
            let system = SystemCalls(witness: { call, called in
                guard call == .rename, called == path + ".journal" else { return }
                renames.withLock { $0 += 1 }
                #expect(known.withLock { $0?.isBeingReplaced } == true)
            })
            let store = makeStore(path, system)
            let reader = makeStore(path)
            try store.commit { $0["a"] = 1 }
            #expect(reader.contents() == ["a": 1])
            let journal = try #require(reader.peek { $0.journal.journal })
            known.withLock { $0 = journal }
            journal.markUnreliable()
            try store.synchronize()
            #expect(renames.withLock { $0 } == 1)
            #expect(!journal.isBeingReplaced && journal.isRetired)
        }
    }

    @Test("a value that was removed does not return when a process has missed two replacements")
    func replacedTwice() async throws {
        try await withSettingsPath { path in
            let stores = (0..<2).map { _ in makeStore(path) }
            func replace() throws {
                let old = try #require(stores[0].peek { $0.journal.journal })
                old.markUnreliable()
                try stores[0].synchronize()
                #expect(stores[0].peek { $0.journal.journal } !== old)
            }
            try stores[0].commit { $0["n"] = 1 }
            #expect(stores[1].contents() == ["n": 1])
            try replace()
            try stores[0].commit { $0["n"] = nil }
            try stores[0].checkpoint()
            try replace()
            #expect(stores[1].contents() == [:])
            try stores[1].commit { $0["other"] = 1 }
            for store in stores { #expect(store.contents() == ["other": 1]) }
        }
    }

    @Test("a journal whose replacement has failed does not make its users look at the path")
    func failedReplacement() async throws {
        try await withTemporaryDirectory { directory in
            let (path, faults) = (directory + "/settings.json", Faults())
            let store = makeStore(path, faults.system)
            try store.commit { $0["a"] = 1 }
            let journal = try #require(store.peek { $0.journal.journal })
            journal.markUnreliable()
            faults.fail(.rename, with: ENOSPC) { $0 == path + ".journal" }
            expectError(.writeFailed) { try store.synchronize() }
            #expect(!journal.isBeingReplaced && !journal.isRetired)
            faults.stop()
            try store.synchronize()
            #expect(journal.isRetired)
            #expect(store.contents() == ["a": 1])
        }
    }

    @Test(
        "a change right after the path leads to another file takes the values of the old journal along",
        arguments: [false, true],
        [false, true]
    )
    func redirected(isDirectory: Bool, hasNewStore: Bool) async throws {
        try await withTemporaryDirectory { directory in
            for name in ["r1", "r2"] { #expect(mkdir("\(directory)/\(name)", 0o700) == 0) }
            try "\(directory)/r2/settings.json".overwriteFile(with: #"{"a": 10, "b": 20}"#)
            // A link on the path is replaced, or the file becomes one.
            #expect(symlink("r1", directory + "/current") == 0)
            let path = isDirectory ? directory + "/current/settings.json" : directory + "/r1/settings.json"
            var stores = (0..<2).map { _ in makeStore(path) }
            try stores[0].commit { $0["a"] = 1 }
            try stores[0].checkpoint()
            try stores[0].commit { $0["b"] = 2 }
            #expect(stores[1].contents() == ["a": 1, "b": 2])
            #expect(symlink(isDirectory ? "r2" : "../r2/settings.json", directory + "/new") == 0)
            #expect(rename(directory + "/new", isDirectory ? directory + "/current" : path) == 0)
            // The journal beside the target is created before any read has merged the file, also by a process that has
            // never read the old journal.
            if hasNewStore { stores.append(makeStore(path)) }
            try stores[hasNewStore ? 2 : 1].commit { $0["c"] = 3 }
            for store in stores.prefix(2) {
                store.look()
                #expect(store.contents() == ["a": 10, "b": 2, "c": 3])
            }
            try stores[0].synchronize()
            for store in stores { #expect(store.contents() == ["a": 10, "b": 2, "c": 3]) }
            guard isDirectory else { return }
            // What the link has led to is whole, and can be used again.
            let (left, reporter) = (makeStore(directory + "/r1/settings.json"), RecordingReporter())
            let suite = SettingsSuite(store: left, reporter: reporter)
            #expect(suite.snapshot() == ["a": 1, "b": 2])
            try await suite.setStoredValue(4, forKey: "d")
            #expect(makeStore(directory + "/r1/settings.json").contents() == ["a": 1, "b": 2, "d": 4])
            #expect(reporter.errors.isEmpty)
        }
    }

    @Test(
        "no mapping of a replaced journal remains",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/maps"), "the system does not show mappings")
    )
    func mappings() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let store = makeStore(path)
            let suite = SettingsSuite(store: store, reporter: RecordingReporter())
            let setting = Setting("n", default: 0, suite: suite)
            for number in 1...100 {
                try await setting.set(number)
                #expect(setting.value == number)
                try JournalFile(of: path).remove()
            }
            let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
            #expect(maps.split(separator: "\n").filter { $0.contains(directory) }.count <= 3)
            await suite.finish()
        }
    }
}
