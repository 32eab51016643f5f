// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

/// The streams of one process, each of which records its last value in the ledger.
final class Watchers: Sendable {
    private let process: Int
    private let suite: SettingsSuite
    private let history: History
    private let tasks = Mutex<[Task<Void, Never>]>([])

    init(process: Int, of suite: SettingsSuite, _ history: History) {
        (self.process, self.suite, self.history) = (process, suite, history)
    }

    func start() {
        for watch in 0..<LoadPlan.watches { start(watch) }
        startPair()
    }

    func stop() {
        for task in tasks.withLock({ $0 }) { task.cancel() }
    }

    /// Watches one key, whose value only increases.
    private func start(_ watch: Int) {
        let (key, bound) =
            switch LoadPlan.watched(process: process, watch) {
            case .counter(let counter):
                (LoadPlan.sumKey(counter), bound(ofColumn: LoadPlan.column(ofSum: counter)))
            case .number(let writer):
                (OwnKey.number.name(writer), { [history] in history.ledger.tally(writer).begun.value })
            }
        let seen = history.ledger[.seen, process, watch]
        seen.value = -1
        let values = Setting(key, default: 0, suite: suite).values
        add {
            var last = -1
            for await value in values {
                self.expect(key, value, after: last, atMost: bound())
                (last, seen.value) = (value, value)
                self.count()
            }
        }
    }

    /// Watches both keys of the pair, which have to change together.
    private func startPair() {
        let (left, right) = LoadPlan.pairKeys
        let seen = history.ledger[.seen, process, LoadPlan.watches]
        let bound = bound(ofColumn: LoadPlan.column(ofSum: LoadPlan.pair))
        seen.value = -1
        add { [suite, history] in
            var changes = suite.changes(of: left, right).makeAsyncIterator()
            // The snapshot is taken after the stream has started, so that there is no gap.
            var last = suite.snapshot().integer(left)
            seen.value = last
            while let change = await changes.next() {
                history.expectWhole(change[left]?.new, change[right]?.new)
                guard case .integer(let integer)? = change[left]?.new, let value = Int(exactly: integer) else {
                    continue
                }
                // The snapshot may already contain the first change.
                self.expect(left, value, after: last - 1, atMost: bound())
                (last, seen.value) = (value, value)
                self.count()
            }
        }
    }

    private func bound(ofColumn column: Int) -> @Sendable () -> Int {
        { [history] in history.ledger.sum(.begun, column) }
    }

    private func expect(_ key: String, _ value: Int, after last: Int, atMost bound: Int) {
        if value <= last { history.record("a stream of \(key) delivered \(value) after \(last)") }
        if value > bound { history.record("a stream of \(key) delivered \(value), but only \(bound) were started") }
    }

    private func count() {
        history.ledger[.done, process, LoadPlan.Done.changes.rawValue].add()
    }

    private func add(_ body: @escaping @Sendable () async -> Void) {
        tasks.withLock { $0.append(Task.detached(operation: body)) }
    }
}
