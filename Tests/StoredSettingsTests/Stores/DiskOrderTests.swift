// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// Files as a power loss may leave them: some pages are new and others old.
@Suite("The order of journal writes on disk")
struct DiskOrderTests {
    /// Simulates a power loss: copies a settings file to another directory, with the journal that the disk has.
    ///
    /// - Returns: The path of the copy.
    private func image(
        of path: String,
        journal: some Collection<UInt8>,
        named name: String = "image"
    ) throws -> String {
        let directory = FilePath(path).directory.description + "/" + name
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: path, toPath: directory + "/settings.json")
        try Data(journal).write(to: URL(fileURLWithPath: directory + "/settings.json.journal"))
        return directory + "/settings.json"
    }

    @Test("moved records are on disk before the header that refers to them")
    func movedRecords() async throws {
        try await withSettingsPath { path in
            let other = makeStore(path)
            let syncs = Mutex(0)
            let safe = Mutex<[UInt8]>([])
            let system = SystemCalls(witness: { call, called in
                guard call == .sync, called == path + ".journal" else { return }
                let number = syncs.withLock {
                    $0 += 1
                    return $0
                }
                do {
                    // Between the checkpoint of the file and the reuse of the journal's space.
                    if number == 2 {
                        try other.commit { $0["late"] = 1 }
                        try other.synchronize()
                    }
                    let bytes = try JournalFile(of: path).bytes
                    safe.withLock { $0 = bytes }
                } catch { Issue.record(error) }
            })
            let store = FileStore(path: path, system: system, checkpointsInBackground: false, journalBound: 20_000)
            for number in 0..<10 {
                try store.commit { $0["big\(number)"] = .string(String(repeating: "x", count: 3_000)) }
            }
            try store.checkpoint()
            let now = try JournalFile(of: path).bytes
            let before = safe.withLock { $0 }
            #expect(now[..<4_096] != before[..<4_096], "the late record started a new epoch")
            #expect(store.contents()["late"] == 1)
            // The disk has the new header, but nothing written after it.
            let image = try image(of: path, journal: now[..<4_096] + before[4_096...])
            let found = makeStore(image).contents()
            #expect(found.count == 11)
            #expect(found["late"] == 1, "the late record was synchronized")
        }
    }

    @Test("a renamed file is synchronized itself where its directory cannot be", arguments: [EINVAL, EACCES])
    func directoryWithoutSync(number: CInt) async throws {
        try await withSettingsPath { path in
            try makeStore(path).commit { $0["a"] = 1 }
            let calls = Mutex<[(call: SystemCalls.Name, path: String)]>([])
            let system = SystemCalls { call, called in
                let isSibling = called.hasSuffix(".journal") || called.hasSuffix(".new")
                if call == .sync, !isSibling { return number }
                calls.withLock { $0.append((call, called)) }
                return nil
            }
            try makeStore(path, system).checkpoint()
            let made = calls.withLock { $0 }
            let rename = try #require(made.lastIndex { $0.call == .rename })
            #expect(made[rename...].contains { $0.call == .sync && $0.path.hasSuffix(".new") })
        }
    }

    @Test("records are not moved over others that the header on the disk counts on")
    func longTail() async throws {
        try await withSettingsPath { path in
            let other = makeStore(path)
            let safe = Mutex<[UInt8]>([])
            // Longer than half of the space before it, which may be reused, and shorter than all of that space. The journal
            // stays below twice its bound, so that it is not replaced.
            let late = StoredValue.string(String(repeating: "l", count: 32_000))
            let synchronized = Interruption(after: .sync) { $0 == path + ".journal" }
            synchronized.run(atCall: 2) {
                try other.commit { $0["late"] = late }
                try other.synchronize()
                let bytes = try JournalFile(of: path).bytes
                safe.withLock { $0 = bytes }
            }
            let system = synchronized.system
            let store = FileStore(path: path, system: system, checkpointsInBackground: false, journalBound: 34_000)
            for number in 0..<10 {
                try store.commit { $0["big\(number)"] = .string(String(repeating: "x", count: 3_000)) }
            }
            try store.checkpoint()
            #expect(store.value(forKey: "late") == late)
            // The disk has the header from before, and what was written behind it since.
            let (before, now) = (safe.withLock { $0 }, try JournalFile(of: path).bytes)
            let image = try image(of: path, journal: before[..<4_096] + now[4_096...])
            let found = makeStore(image).contents()
            #expect(found.count == 11)
            #expect(found["late"] == late, "it was synchronized")
        }
    }

    @Test("the disk gets the header before a record is written over one that the old header counts on")
    func limit() async throws {
        try await withSettingsPath { path in
            let other = makeStore(path)
            let calls = Mutex<[SystemCalls.Name]>([])
            let syncs = Mutex(0)
            let system = SystemCalls(witness: { call, called in
                guard [.sync, .write].contains(call), called == path + ".journal" else { return }
                calls.withLock { $0.append(call) }
                guard call == .sync else { return }
                let isSecond = syncs.withLock {
                    $0 += 1
                    return $0 == 2
                }
                do {
                    if isSecond { try other.commit { $0["late"] = 1 } }
                } catch { Issue.record(error) }
            })
            let store = FileStore(path: path, system: system, checkpointsInBackground: false, journalBound: 20_000)
            let big = StoredValue.string(String(repeating: "x", count: 3_000))
            for number in 0..<10 { try store.commit { $0["big\(number)"] = big } }
            let limit = try JournalFile(of: path).end
            try store.checkpoint()
            var end = try JournalFile(of: path).end
            #expect(end < limit, "the late record was moved to the front")
            for number in 0..<20 where end <= limit {
                calls.withLock { $0 = [] }
                try store.commit { $0["more\(number)"] = big }
                end = try JournalFile(of: path).end
                #expect(calls.withLock { $0 } == (end > limit ? [.sync, .write] : [.write]))
            }
            #expect(end > limit)
        }
    }

    @Test("journal space is not reused before the header that frees it is on disk")
    func reusedSpace() async throws {
        try await withSettingsPath { path in
            let syncs = Mutex(0)
            let old = Mutex<[UInt8]>([])
            let system = SystemCalls(
                fault: { call, called in
                    guard call == .sync, called == path + ".journal" else { return nil }
                    return syncs.withLock {
                        $0 += 1
                        return $0 == 2 ? EIO : nil
                    }
                },
                witness: { call, called in
                    guard call == .sync, called == path + ".journal" else { return }
                    do {
                        let bytes = try JournalFile(of: path).bytes
                        old.withLock { $0 = bytes }
                    } catch { Issue.record(error) }
                }
            )
            let store = makeStore(path, system)
            let big = StoredValue.string(String(repeating: "x", count: 5_000))
            try store.commit { $0["a"] = 1 }
            try store.commit { $0["big"] = big }
            try store.commit { $0["a"] = 2 }
            #expect(throws: SettingsError.self) { try store.checkpoint() }
            try store.commit { $0["big"] = .string(String(repeating: "y", count: 6_000)) }
            let now = try JournalFile(of: path).bytes
            let before = old.withLock { $0 }
            // Pages reach the disk in any order: here only the third.
            let image = try image(of: path, journal: before[..<8_192] + now[8_192...])
            #expect(try path.fileContents.contains("\"a\": 2"))
            let found = makeStore(image).contents()
            #expect(found["a"] == 2, "the value was checkpointed and synchronized")
        }
    }

    @Test("a record of an epoch undone by a power loss never returns under the epoch's number")
    func resurrection() async throws {
        try await withSettingsPath { path in
            let safe = Mutex<[UInt8]>([])
            let system = SystemCalls(witness: { call, called in
                guard call == .sync, called == path + ".journal" else { return }
                do {
                    let bytes = try JournalFile(of: path).bytes
                    safe.withLock { $0 = bytes }
                } catch { Issue.record(error) }
            })
            let store = makeStore(path, system)
            try store.commit { $0["b"] = 1 }
            try store.checkpoint()
            // A record as long as a page, and one after it, in an epoch whose header is not on disk.
            let page = 4_096
            func pageOf(_ letter: Character) -> StoredValue { .string(String(repeating: letter, count: page - 34)) }
            try store.commit { $0["a"] = pageOf("o") }
            try store.commit { $0["a"] = "stale" }
            // The disk has the records and the previous header.
            let stale = try safe.withLock { Array($0.prefix(page)) } + JournalFile(of: path).bytes.dropFirst(page)
            let first = try image(of: path, journal: stale, named: "first")
            // The epoch starts again under the same number, and its first record is synchronized.
            let next = makeStore(first)
            try next.commit { $0["b"] = 2 }
            try next.checkpoint()
            try next.commit { $0["a"] = pageOf("n") }
            try next.synchronize()
            try next.commit { $0["b"] = "other" }
            #expect(try JournalFile(of: first).bytes.count >= stale.count)
            // Another power loss, before the second record is on disk.
            let now = try JournalFile(of: first).bytes
            let (old, new) = (Array(stale.dropFirst(2 * page)), Array(now.dropFirst(2 * page)))
            #expect(old.count == new.count)
            #expect(old != new)
            let second = try image(of: first, journal: now.prefix(2 * page) + old, named: "second")
            let found = makeStore(second).contents()
            #expect(
                found == ["a": pageOf("n"), "b": 2],
                "synchronized values are present, and no older record overrides them"
            )
        }
    }
}
