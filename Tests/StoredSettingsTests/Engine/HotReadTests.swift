// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Concurrent reads")
struct HotReadTests {
    /// A value with two equal halves, which differ after a torn read.
    struct Pair: Equatable, Sendable, StoredValueConvertible {
        var left: Int32
        var right: Int32

        init(_ number: Int) {
            (left, right) = (Int32(truncatingIfNeeded: number), Int32(truncatingIfNeeded: number))
        }

        /// The number in both halves; `nil` when they differ.
        var number: Int? { left == right ? Int(left) : nil }

        init(storedValue: StoredValue) throws {
            self.init(try Int(storedValue: storedValue))
        }

        func storedValue() throws -> StoredValue { Int(left).storedValue() }
    }

    enum Location: String, CaseIterable, Sendable {
        case memory, observable, file

        func suite(in directory: String) -> SettingsSuite {
            switch self {
            case .memory: .inMemory()
            case .observable: .inMemory().observable()
            case .file: SettingsSuite(fileAt: directory + "/settings.json", reporter: RecordingReporter())
            }
        }
    }

    /// The progress of the sets, which readers see without a lock.
    private final class Progress: Sendable {
        /// The number of the last set that has started, and of the last set that has returned.
        let started = Atomic(0)
        let returned = Atomic(0)
        /// The number of the final set, once it is known.
        let final = Atomic(Int.max)
    }

    /// The findings of one reader.
    private final class Reader: Sendable {
        /// The number of reads that overlapped a set.
        let overlapping = Atomic(0)
        /// The number of reads that returned another number than the read before.
        let changes = Atomic(0)
        let stale = Atomic(0)
        let premature = Atomic(0)
        let torn = Atomic(0)
        let isDone = Atomic(false)

        /// Whether enough reads overlapped a set to make the test meaningful.
        var hasOverlappedSets: Bool {
            overlapping.load(ordering: .relaxed) >= 100 && changes.load(ordering: .relaxed) >= 10
        }

        func expectNoFault(_ name: Comment) {
            #expect(stale.load(ordering: .relaxed) == 0, name)
            #expect(premature.load(ordering: .relaxed) == 0, name)
            #expect(torn.load(ordering: .relaxed) == 0, name)
        }
    }

    private static let minimumSets = 300

    @Test(
        "a read is whole, never older than a set that has returned, and never newer than a set that has started",
        .deadlockLimit,
        arguments: Location.allCases
    )
    func stress(location: Location) async throws {
        try await withTemporaryDirectory { directory in
            let suite = location.suite(in: directory)
            let number = Setting("number", default: 0, suite: suite)
            let pair = Setting("pair", default: Pair(0), suite: suite)
            let text = Setting("text", default: "0", suite: suite)
            let progress = Progress()
            // Stop all readers, even after an error.
            defer { progress.final.store(.min, ordering: .sequentiallyConsistent) }
            // Two readers for each setting share a cache, which both fill.
            var readers: [(name: Comment, Reader)] = []
            for _ in 1...2 {
                readers.append(("number", read(progress) { number.value }))
                readers.append(("pair", read(progress) { pair.value.number }))
                readers.append(("text", read(progress) { Int(text.value) }))
            }
            var last = 0
            // Continue until the sets have overlapped enough reads.
            while last < Self.minimumSets || !readers.allSatisfy(\.1.hasOverlappedSets) {
                last += 1
                progress.started.store(last, ordering: .sequentiallyConsistent)
                try await suite.transaction { settings in
                    settings[number] = last
                    settings[pair] = Pair(last)
                    settings[text] = "\(last)"
                }
                progress.returned.store(last, ordering: .sequentiallyConsistent)
                if last % 10 == 0 { await Task.yield() }
                try Task.checkCancellation()
            }
            progress.final.store(last, ordering: .sequentiallyConsistent)
            await eventually("every reader has read the last value") {
                readers.allSatisfy { $0.1.isDone.load(ordering: .acquiring) }
            }
            for (name, reader) in readers { reader.expectNoFault(name) }
            // Finish, so that no checkpoint runs while the directory is removed.
            await suite.finish()
        }
    }

    /// Reads on its own thread until the final number arrives, and counts the faults.
    private func read(_ progress: Progress, _ number: @escaping @Sendable () -> Int?) -> Reader {
        let reader = Reader()
        Thread.detachNewThread {
            var last = 0
            while last < progress.final.load(ordering: .sequentiallyConsistent) {
                let returned = progress.returned.load(ordering: .sequentiallyConsistent)
                let found = number()
                let started = progress.started.load(ordering: .sequentiallyConsistent)
                if started > returned { reader.overlapping.add(1, ordering: .relaxed) }
                guard let found else {
                    reader.torn.add(1, ordering: .relaxed)
                    continue
                }
                if found < max(returned, last) { reader.stale.add(1, ordering: .relaxed) }
                if found > started { reader.premature.add(1, ordering: .relaxed) }
                if found != last { reader.changes.add(1, ordering: .relaxed) }
                last = found
                // On a machine with fewer cores than readers, let the other threads run.
                sched_yield()
            }
            reader.isDone.store(true, ordering: .releasing)
        }
        return reader
    }

    /// A value that calls a closure when it is released.
    private final class Releasing: Sendable {
        let onRelease: @Sendable () -> Void

        init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

        deinit { onRelease() }
    }

    private struct ReleasingBridge: StoredValueBridge {
        let onRelease: @Sendable () -> Void

        func value(from storedValue: StoredValue) throws -> Releasing { Releasing(onRelease) }

        func storedValue(from value: Releasing) throws -> StoredValue { .null }
    }

    @Test("a value is released under no lock, so its deinitializer may read the setting", .deadlockLimit)
    func release() {
        let suite = SettingsSuite.inMemory(["n": 1])
        let setting = Mutex<Setting<Releasing>?>(nil)
        let releases = Atomic(0)
        let bridge = ReleasingBridge {
            // Only once, because the value that is read here is also released.
            guard releases.add(1, ordering: .relaxed).oldValue == 0 else { return }
            _ = setting.withLock(\.self)?.value
        }
        let key = SettingKey("n", default: Releasing {}, as: bridge)
        setting.withLock { $0 = Setting(key, suite: suite) }
        for value in 2...4 {
            _ = setting.withLock(\.self)?.value
            suite.engine.assign(.integer(Int128(value)), forKey: "n") { Issue.record($0) }
        }
        _ = setting.withLock(\.self)?.value
        #expect(releases.load(ordering: .relaxed) > 0)
    }

    @Test("Row 34: reads return values of another store for the file, edits and values that could not be saved")
    func everyWay() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let other = FileStore(path: path, checkpointsInBackground: false)
            try other.commit { $0["n"] = 1 }
            let isFull = Atomic(false)
            let system = SystemCalls(fault: { call, called in
                call == .write && called == path + ".journal" && isFull.load(ordering: .relaxed) ? ENOSPC : nil
            })
            let store = FileStore(path: path, system: system)
            let suite = SettingsSuite(store: store, reporter: RecordingReporter())
            let (n, text) = (Setting("n", default: 0, suite: suite), Setting("t", default: "default", suite: suite))
            for round in 2...50 {
                #expect(n.value == round - 1)
                try other.commit {
                    $0["n"] = .integer(Int128(round))
                    $0["t"] = .string("\(round)")
                }
                #expect(n.value == round)
                #expect(text.value == "\(round)")
            }
            try other.checkpoint()
            try path.replaceFile(with: #"{"n": 100, "t": "edited"}"#)
            await eventually("the edit is read") { n.value == 100 && text.value == "edited" }
            isFull.store(true, ordering: .relaxed)
            n.value = 101
            text.value = "unsaved"
            #expect(n.value == 101 && text.value == "unsaved")
            isFull.store(false, ordering: .relaxed)
            try await suite.synchronize()
            #expect(n.value == 101 && text.value == "unsaved")
            try await n.reset()
            #expect(n.value == 0)
            await suite.finish()
        }
    }

    @Test("Row 34: reading a value that is known makes no system call")
    func noSystemCall() async throws {
        try await withTemporaryDirectory { directory in
            let calls = Atomic(0)
            let system = SystemCalls { _, _ in
                calls.add(1, ordering: .relaxed)
                return nil
            }
            let path = directory + "/settings.json"
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            let suite = SettingsSuite(store: store)
            let (port, name) = (Setting("port", default: 1, suite: suite), Setting("name", default: "", suite: suite))
            try await port.set(2)
            try await name.set("a")
            #expect(port.value == 2 && name.value == "a")
            let before = calls.load(ordering: .relaxed)
            for _ in 0..<100 { #expect(port.value == 2 && name.value == "a") }
            #expect(calls.load(ordering: .relaxed) == before)
            store.close()
        }
    }

    @Test("an assignment in a transaction, which is applied after it, leaves no look due in a store without a file")
    func keptAssignment() throws {
        let store = InMemoryStore()
        let suite = SettingsSuite(store: store)
        let port = Setting("port", default: 1, suite: suite)
        try suite.transaction { _ in port.value = 2 }
        #expect(port.value == 2)
        #expect(store.storeVersion.isCurrent(store.storeVersion.version))
    }

    @Test(
        "threads whose stacks are neighbors read different copies of a value, whatever the size of a page",
        arguments: [4, 16, 64]
    )
    func neighboringThreads(pageSize: Int) {
        // As on Linux: 8 MiB and one page to guard them.
        let distance = UInt(8_192 + pageSize) << 10
        for _ in 0..<100 {
            let first = UInt.random(in: 1 << 40..<1 << 46) & ~0xFFF
            let indices = (0..<8).map { CacheSlots.index(ofThread: first + $0 * distance) }
            #expect(zip(indices, indices.dropFirst()).allSatisfy { $0 != $1 })
            #expect(Set(indices).count >= (pageSize == 16 ? 4 : 7))
        }
    }
}
