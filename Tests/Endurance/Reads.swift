// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// One thread sets values with internal consistency, while others read them.
///
/// No value may be torn, and none may be older than a set that returned before the read started.
struct Reads {
    struct Result {
        var sets = 0
        var reads = 0
        var torn = 0
        var stale = 0
        var seconds = 0.0

        var description: String {
            """
            reads: \(reads) during \(sets) sets: \(torn) torn, \(stale) stale
              \(Format.number(seconds)) s, 1 writing thread and \(Reads.readers) reading threads
            """
        }
    }

    /// More than the number of cache slots, so that some threads share one.
    static let readers = 12

    /// A value with two equal halves.
    private struct Pair: Sendable, StoredValueConvertible {
        var (left, right): (Int32, Int32)

        init(_ number: Int) { (left, right) = (Int32(truncatingIfNeeded: number), Int32(truncatingIfNeeded: number)) }
        init(storedValue: StoredValue) throws { self.init(try Int(storedValue: storedValue)) }
        func storedValue() throws -> StoredValue { Int(left).storedValue() }
    }

    /// The state shared by the threads.
    private final class Progress: Sendable {
        let acknowledged = Atomic(0)
        let isOver = Atomic(false)
        let result = Mutex(Result())
        let end = DispatchSemaphore(value: 0)
    }

    private let duration: Duration
    private let findings: Findings
    private let number: Setting<Int>
    private let pair: Setting<Pair>
    private let text: Setting<String>
    private let list: Setting<[Int]>

    init(seconds: Int, in workspace: Workspace) {
        duration = .seconds(seconds)
        findings = workspace.findings
        let suite = SettingsSuite(fileAt: workspace.path("reads/settings.json"), reporter: findings)
        number = Setting("number", default: 0, suite: suite)
        pair = Setting("pair", default: Pair(0), suite: suite)
        text = Setting("text", default: Self.text(0), suite: suite)
        list = Setting("list", default: Self.list(0), suite: suite)
    }

    func run() throws -> Result {
        let progress = Progress()
        for _ in 0..<Self.readers {
            Thread.detachNewThread {
                read(progress)
                progress.end.signal()
            }
        }
        let start = ContinuousClock.now
        var sets = 0
        while ContinuousClock.now - start < duration {
            sets += 1
            try number.suite.transaction { settings in
                settings[number] = sets
                settings[pair] = Pair(sets)
                settings[text] = Self.text(sets)
                settings[list] = Self.list(sets)
            }
            progress.acknowledged.store(sets, ordering: .releasing)
        }
        progress.isOver.store(true, ordering: .releasing)
        for _ in 0..<Self.readers { progress.end.wait() }
        var result = progress.result.withLock(\.self)
        result.sets = sets
        result.seconds = (ContinuousClock.now - start).seconds
        number.suite.finish()
        if result.torn > 0 { findings.record("reads: \(result.torn) values were torn") }
        if result.stale > 0 { findings.record("reads: \(result.stale) values were older than a set that had returned") }
        if result.reads < result.sets { findings.record("reads: there were fewer reads than sets") }
        return result
    }

    private func read(_ progress: Progress) {
        var result = Result()
        while !progress.isOver.load(ordering: .acquiring) {
            let known = progress.acknowledged.load(ordering: .acquiring)
            let (number, pair, text, list) = (number.value, pair.value, text.value, list.value)
            let values = [
                number,
                pair.left == pair.right ? Int(pair.left) : nil,
                Int(text.prefix { $0 != "," }).flatMap { text == Self.text($0) ? $0 : nil },
                list.first.flatMap { list == Self.list($0) ? $0 : nil },
            ]
            result.reads += values.count
            result.torn += values.count { $0 == nil }
            result.stale += values.count { $0.map { $0 < known } ?? false }
        }
        progress.result.withLock { [result] all in
            all.reads += result.reads
            all.torn += result.torn
            all.stale += result.stale
        }
    }

    /// Too long to be stored inline in a `String`.
    private static func text(_ number: Int) -> String { "\(number), \(number) and again \(number)" }

    private static func list(_ number: Int) -> [Int] { Array(repeating: number, count: 4) }
}
