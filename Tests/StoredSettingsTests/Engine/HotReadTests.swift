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

    /// What readers found, from threads that must not wait for anything.
    private final class Verdict: Sendable {
        /// The number whose set has returned last.
        let acknowledged = Atomic(0)
        let isOver = Atomic(false)
        let reads = Atomic(0)
        let stale = Atomic(0)
        let torn = Atomic(0)
        let readersLeft = Atomic(0)
    }

    private static let sets = 3_000

    @Test("are whole and never older than a set that has returned, on other threads too", arguments: Place.allCases)
    func stress(place: Place) async throws {
        try await withTemporaryDirectory { directory in
            let suite = place.suite(in: directory)
            let number = Setting("number", default: 0, suite: suite)
            let pair = Setting("pair", default: Pair(0), suite: suite)
            let text = Setting("text", default: "0", suite: suite)
            let verdict = Verdict()
            read(verdict) {
                number.value
            } number: {
                $0
            }
            read(verdict) {
                pair.value
            } number: {
                $0.left == $0.right ? Int($0.left) : nil
            }
            read(verdict) {
                text.value
            } number: {
                Int($0)
            }
            for value in 1...Self.sets {
                try suite.transaction { settings in
                    settings[number] = value
                    settings[pair] = Pair(value)
                    settings[text] = "\(value)"
                }
                verdict.acknowledged.store(value, ordering: .sequentiallyConsistent)
            }
            await eventually("every reader has read the last value", within: .seconds(60)) {
                verdict.readersLeft.load(ordering: .acquiring) == 0
            }
            #expect(verdict.stale.load(ordering: .relaxed) == 0)
            #expect(verdict.torn.load(ordering: .relaxed) == 0)
            #expect(verdict.reads.load(ordering: .relaxed) > 3)
            // Nothing is folded any more when the directory is removed.
            suite.finish()
        }
    }

    /// Reads on a thread of its own until the last value comes, and notes what is wrong.
    private func read<Value: Sendable>(
        _ verdict: Verdict,
        _ value: @escaping @Sendable () -> Value,
        number: @escaping @Sendable (Value) -> Int?
    ) {
        verdict.readersLeft.add(1, ordering: .relaxed)
        Thread.detachNewThread {
            var last = 0
            while last < Self.sets {
                let least = verdict.acknowledged.load(ordering: .sequentiallyConsistent)
                let found = number(value())
                verdict.reads.add(1, ordering: .relaxed)
                if found == nil { verdict.torn.add(1, ordering: .relaxed) }
                if let found, found < max(least, last) { verdict.stale.add(1, ordering: .relaxed) }
                last = found ?? last
            }
            verdict.readersLeft.subtract(1, ordering: .releasing)
        }
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
            let other = FileStore(path: path, foldsInBackground: false)
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
            try other.fold()
            try path.replaceFile(with: #"{"n": 100, "t": "edited"}"#)
            await eventually("the edit is read") { n.value == 100 && text.value == "edited" }
            isFull.store(true, ordering: .relaxed)
            n.value = 101
            text.value = "unsaved"
            #expect(n.value == 101 && text.value == "unsaved")
            isFull.store(false, ordering: .relaxed)
            try suite.synchronize()
            #expect(n.value == 101 && text.value == "unsaved")
            n.reset()
            #expect(n.value == 0)
            suite.finish()
        }
    }
}
