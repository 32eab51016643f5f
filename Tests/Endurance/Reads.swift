// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// One thread that sets values which make sense only whole, while others read them.
///
/// The laws: no value is torn, and none is older than a set that had returned before the read began.
struct Reads {
    struct Result: Encodable {
        var sets = 0
        var reads = 0
        var torn = 0
        var stale = 0
        var seconds = 0.0

        var description: String {
            """
            reads: \(Format.count(reads)) while \(Format.count(sets)) sets went on: \(torn) torn, \(stale) stale
              \(Format.number(seconds)) s, one thread that sets and \(Reads.readers) that read
            """
        }
    }

    /// More than there are slots for decoded values, so that some threads share one.
    static let readers = 12

    /// Two halves that are equal.
    private struct Pair: Sendable, StoredValueConvertible {
        var (left, right): (Int32, Int32)

        init(_ number: Int) { (left, right) = (Int32(truncatingIfNeeded: number), Int32(truncatingIfNeeded: number)) }
        init(storedValue: StoredValue) throws { self.init(try Int(storedValue: storedValue)) }
        func storedValue() throws -> StoredValue { Int(left).storedValue() }
    }

    /// What the threads tell each other.
    private final class Course: Sendable {
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
        let course = Course()
        for _ in 0..<Self.readers {
            Thread.detachNewThread {
                read(course)
                course.end.signal()
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
            course.acknowledged.store(sets, ordering: .releasing)
        }
        course.isOver.store(true, ordering: .releasing)
        for _ in 0..<Self.readers { course.end.wait() }
        var result = course.result.withLock(\.self)
        result.sets = sets
        result.seconds = (ContinuousClock.now - start).seconds
        number.suite.finish()
        if result.torn > 0 { findings.note("reads: \(result.torn) values were torn") }
        if result.stale > 0 { findings.note("reads: \(result.stale) values were older than a set that had returned") }
        if result.reads < result.sets { findings.note("reads: the reader was hardly at work") }
        return result
    }

    private func read(_ course: Course) {
        var result = Result()
        while !course.isOver.load(ordering: .acquiring) {
            let known = course.acknowledged.load(ordering: .acquiring)
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
        course.result.withLock { [result] all in
            all.reads += result.reads
            all.torn += result.torn
            all.stale += result.stale
        }
    }

    /// Longer than what a string holds in itself.
    private static func text(_ number: Int) -> String { "\(number), \(number) and once more \(number)" }

    private static func list(_ number: Int) -> [Int] { Array(repeating: number, count: 4) }
}
