// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Hot reads")
struct HotReadTests {
    /// Makes sense only whole: both halves are equal.
    struct Pair: Equatable, Sendable, StoredValueConvertible {
        var left: Int32
        var right: Int32

        init(_ number: Int) {
            (left, right) = (Int32(truncatingIfNeeded: number), Int32(truncatingIfNeeded: number))
        }

        /// The number that both halves are; `nil` when they differ.
        var number: Int? { left == right ? Int(left) : nil }

        init(storedValue: StoredValue) throws {
            self.init(try Int(storedValue: storedValue))
        }

        func storedValue() throws -> StoredValue { Int(left).storedValue() }
    }

    enum Place: String, CaseIterable, Sendable {
        case memory, file

        func suite(in directory: String) -> SettingsSuite {
            switch self {
            case .memory: .inMemory()
            case .file: SettingsSuite(fileAt: directory + "/settings.json", reporter: RecordingReporter())
            }
        }
    }

    /// The sets as the readers see them, without waiting for anything.
    private final class Progress: Sendable {
        /// The number whose set has begun last, and the one whose set has returned last.
        let begun = Atomic(0)
        let returned = Atomic(0)
        /// The number that is set last, once that is known.
        let final = Atomic(Int.max)
    }

    /// What one reader found.
    private final class Reader: Sendable {
        /// Reads that took place, in part at least, between the beginning of a set and its return.
        let overlapping = Atomic(0)
        /// How often a read returned another number than the one before.
        let changes = Atomic(0)
        let stale = Atomic(0)
        let premature = Atomic(0)
        let torn = Atomic(0)
        let isDone = Atomic(false)

        /// Whether it has read often enough while there were sets to have met the moments that matter.
        var hasMetSets: Bool {
            overlapping.load(ordering: .relaxed) >= 100 && changes.load(ordering: .relaxed) >= 10
        }

        func expectNoFault(_ name: Comment) {
            #expect(stale.load(ordering: .relaxed) == 0, name)
            #expect(premature.load(ordering: .relaxed) == 0, name)
            #expect(torn.load(ordering: .relaxed) == 0, name)
        }
    }

    private static let leastSets = 300

    @Test(
        "on other threads are whole, never older than a set that has returned, and never newer than one that has begun",
        .timeLimit(.minutes(3)),
        arguments: Place.allCases
    )
    func stress(place: Place) async throws {
        try await withTemporaryDirectory { directory in
            let suite = place.suite(in: directory)
            let number = Setting("number", default: 0, suite: suite)
            let pair = Setting("pair", default: Pair(0), suite: suite)
            let text = Setting("text", default: "0", suite: suite)
            let progress = Progress()
            // Whatever happens, no reader is left.
            defer { progress.final.store(.min, ordering: .sequentiallyConsistent) }
            // Two for each setting: they share a cache, which both of them fill.
            var readers: [(name: Comment, Reader)] = []
            for _ in 1...2 {
                readers.append(("number", read(progress) { number.value }))
                readers.append(("pair", read(progress) { pair.value.number }))
                readers.append(("text", read(progress) { Int(text.value) }))
            }
            var last = 0
            // As long as it takes: reads beside which nothing was set would prove nothing.
            while last < Self.leastSets || !readers.allSatisfy(\.1.hasMetSets) {
                last += 1
                progress.begun.store(last, ordering: .sequentiallyConsistent)
                try suite.transaction { settings in
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
            // Nothing is checkpointed any more when the directory is removed.
            suite.finish()
        }
    }

    /// Reads on a thread of its own until the last number comes, and notes what is wrong.
    private func read(_ progress: Progress, _ number: @escaping @Sendable () -> Int?) -> Reader {
        let reader = Reader()
        Thread.detachNewThread {
            var last = 0
            while last < progress.final.load(ordering: .sequentiallyConsistent) {
                let returned = progress.returned.load(ordering: .sequentiallyConsistent)
                let found = number()
                let begun = progress.begun.load(ordering: .sequentiallyConsistent)
                if begun > returned { reader.overlapping.add(1, ordering: .relaxed) }
                guard let found else {
                    reader.torn.add(1, ordering: .relaxed)
                    continue
                }
                if found < max(returned, last) { reader.stale.add(1, ordering: .relaxed) }
                if found > begun { reader.premature.add(1, ordering: .relaxed) }
                if found != last { reader.changes.add(1, ordering: .relaxed) }
                last = found
                // On a machine with fewer cores than readers, the others and the sets have their turn soon.
                sched_yield()
            }
            reader.isDone.store(true, ordering: .releasing)
        }
        return reader
    }

    /// Reads the setting that it is a value of when it ends.
    private final class Ending: Sendable {
        let onEnd: @Sendable () -> Void

        init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

        deinit { onEnd() }
    }

    private struct EndingBridge: StoredValueBridge {
        let onEnd: @Sendable () -> Void

        func value(from storedValue: StoredValue) throws -> Ending { Ending(onEnd) }

        func storedValue(from value: Ending) throws -> StoredValue { .null }
    }

    @Test("let go of a value under no lock: its end may read the setting", .timeLimit(.minutes(1)))
    func ending() {
        let suite = SettingsSuite.inMemory(["n": 1])
        let setting = Mutex<Setting<Ending>?>(nil)
        let ends = Atomic(0)
        let bridge = EndingBridge {
            // Once: what is read here ends as well.
            guard ends.add(1, ordering: .relaxed).oldValue == 0 else { return }
            _ = setting.withLock(\.self)?.value
        }
        let key = SettingKey("n", default: Ending {}, as: bridge)
        setting.withLock { $0 = Setting(key, suite: suite) }
        for value in 2...4 {
            _ = setting.withLock(\.self)?.value
            suite.engine.assign(.integer(Int128(value)), forKey: "n") { Issue.record($0) }
        }
        _ = setting.withLock(\.self)?.value
        #expect(ends.load(ordering: .relaxed) > 0)
    }

    @Test("see what another store of the same file has set, and hand edits, and what could not be saved")
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
            text.value = "pendingWrites"
            #expect(n.value == 101 && text.value == "pendingWrites")
            isFull.store(false, ordering: .relaxed)
            try suite.synchronize()
            #expect(n.value == 101 && text.value == "pendingWrites")
            n.reset()
            #expect(n.value == 0)
            suite.finish()
        }
    }
}
