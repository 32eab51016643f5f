// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// One thread sets values with internal consistency, while others read them.
///
/// No value may be torn, none may be older than a set that returned before the read started, and none newer than the last
/// set that has begun. The suites are in memory, observable, and in a file.
struct Reads {
    struct Result {
        var sets = 0
        var reads = 0
        var torn = 0
        var stale = 0
        var premature = 0
        var seconds = 0.0

        mutating func add(_ other: Result) {
            reads += other.reads
            torn += other.torn
            stale += other.stale
            premature += other.premature
        }

        var description: String {
            """
            reads: \(reads) during \(sets) sets: \(torn) torn, \(stale) stale, \(premature) premature
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
        let begun = Atomic(0)
        let acknowledged = Atomic(0)
        let isOver = Atomic(false)
        let result = Mutex(Result())
        let end = DispatchSemaphore(value: 0)
    }

    private struct Settings: Sendable {
        let number: Setting<Int>
        let pair: Setting<Pair>
        let text: Setting<String>
        let list: Setting<[Int]>

        init(_ suite: SettingsSuite) {
            number = Setting("number", default: 0, suite: suite)
            pair = Setting("pair", default: Pair(0), suite: suite)
            text = Setting("text", default: Reads.text(0), suite: suite)
            list = Setting("list", default: Reads.list(0), suite: suite)
        }
    }

    private let duration: Duration
    private let findings: Findings
    private let suites: [SettingsSuite]

    init(seconds: Int, in workspace: Workspace) {
        findings = workspace.findings
        suites = [
            .inMemory(reporter: findings),
            SettingsSuite.inMemory(reporter: findings).observable(),
            SettingsSuite(fileAt: workspace.path("reads/settings.json"), reporter: findings),
        ]
        duration = .seconds(seconds) / suites.count
    }

    func run() throws -> Result {
        var result = Result()
        let start = ContinuousClock.now
        for suite in suites {
            try run(Settings(suite), in: suite, &result)
            suite.finish()
        }
        result.seconds = (ContinuousClock.now - start).seconds
        if result.torn > 0 { findings.record("reads: \(result.torn) values were torn") }
        if result.stale > 0 { findings.record("reads: \(result.stale) values were older than a set that had returned") }
        if result.premature > 0 { findings.record("reads: \(result.premature) values were newer than the last set") }
        if result.reads < result.sets { findings.record("reads: there were fewer reads than sets") }
        return result
    }

    private func run(_ settings: Settings, in suite: SettingsSuite, _ result: inout Result) throws {
        let progress = Progress()
        for _ in 0..<Self.readers {
            Thread.detachNewThread {
                read(settings, progress)
                progress.end.signal()
            }
        }
        let start = ContinuousClock.now
        var sets = 0
        while ContinuousClock.now - start < duration {
            sets += 1
            progress.begun.store(sets, ordering: .sequentiallyConsistent)
            try suite.transaction { transaction in
                transaction[settings.number] = sets
                transaction[settings.pair] = Pair(sets)
                transaction[settings.text] = Self.text(sets)
                transaction[settings.list] = Self.list(sets)
            }
            progress.acknowledged.store(sets, ordering: .sequentiallyConsistent)
        }
        progress.isOver.store(true, ordering: .releasing)
        for _ in 0..<Self.readers { progress.end.wait() }
        result.add(progress.result.withLock(\.self))
        result.sets += sets
    }

    private func read(_ settings: Settings, _ progress: Progress) {
        var result = Result()
        while !progress.isOver.load(ordering: .acquiring) {
            let known = progress.acknowledged.load(ordering: .sequentiallyConsistent)
            let (number, pair) = (settings.number.value, settings.pair.value)
            let (text, list) = (settings.text.value, settings.list.value)
            let begun = progress.begun.load(ordering: .sequentiallyConsistent)
            let values = [
                number,
                pair.left == pair.right ? Int(pair.left) : nil,
                Int(text.prefix { $0 != "," }).flatMap { text == Self.text($0) ? $0 : nil },
                list.first.flatMap { list == Self.list($0) ? $0 : nil },
            ]
            result.reads += values.count
            result.torn += values.count { $0 == nil }
            result.stale += values.count { $0.map { $0 < known } ?? false }
            result.premature += values.count { $0.map { $0 > begun } ?? false }
        }
        progress.result.withLock { [result] in $0.add(result) }
    }

    /// Too long to be stored inline in a `String`.
    private static func text(_ number: Int) -> String { "\(number), \(number) and again \(number)" }

    private static func list(_ number: Int) -> [Int] { Array(repeating: number, count: 4) }
}
