// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// A thread that uses every operation, in a pseudorandom order.
struct LoadThread {
    let writer: Int
    let child: Child
    let history: History
    let claims: Claims
    let visit: Visit
    /// Whether the process retains a suite, so that this thread need not.
    let isResident: Bool
    var random: SeededRandom

    mutating func run() {
        // A process that only reads may notice a new file a little late. After the first set, every change is visible
        // at once.
        var hasSet = false
        while child.ledger[.run, 0].value == LoadPlan.Phase.loading.rawValue {
            let (suite, isNew) = visit.enter()
            if isNew { count(.opens) }
            do {
                try hasSet ? perform(random.below(10_000), in: suite) : set(.number, in: suite)
                hasSet = true
            } catch let error as SettingsError where error.code == .suiteFinished && visit.isOver {
                // Another thread of this process has finished the suite. The change was not made, so the thread
                // continues with a new suite.
            } catch {
                history.record("writer \(writer): \(error)")
            }
            if random.below(isResident ? 200 : 20) == 0 {
                visit.leave()
                // Sometimes long enough for the other threads to release the suite as well.
                if !isResident { pause(random.milliseconds(0...20)) }
            }
        }
        visit.leave()
    }

    private mutating func perform(_ choice: Int, in suite: SettingsSuite) throws {
        switch choice {
        case ..<4_000: readNumber(in: suite)
        case ..<4_800: try read(OwnKey.allCases[random.below(3)], in: suite)
        case ..<5_200: readSum(in: suite)
        case ..<5_400: snapshot(of: suite)
        case ..<7_400: try set(.number, in: suite)
        case ..<7_900: try set(.flag, in: suite)
        case ..<8_300: try set(.text, in: suite)
        case ..<9_300: try update(in: suite)
        case ..<9_850: try transact(in: suite)
        case ..<9_865: try checkpoint(suite)
        case ..<9_875: try synchronize(suite)
        case ..<9_885: try finish(suite)
        // Longer than the delay of a checkpoint.
        case ..<9_887: pause(random.milliseconds(200...300))
        default: pause(random.milliseconds(0...2))
        }
    }

    // MARK: - Reading

    private mutating func readNumber(in suite: SettingsSuite) {
        let other = random.below(LoadPlan.writers)
        let setting = Setting(OwnKey.number.name(other), default: 0, suite: suite)
        history.check(.number, of: other) { .integer(Int128(setting.value)) }
        count(.reads)
    }

    private mutating func read(_ key: OwnKey, in suite: SettingsSuite) throws {
        let other = random.below(LoadPlan.writers)
        history.check(key, of: other) { suite[storedValueFor: key.name(other)] }
        count(.reads)
    }

    private mutating func readSum(in suite: SettingsSuite) {
        let sum = random.below(LoadPlan.sums)
        let setting = Setting(LoadPlan.sumKey(sum), default: 0, suite: suite)
        history.check(sum: sum) { setting.value }
        count(.reads)
    }

    private func snapshot(of suite: SettingsSuite) {
        history.check { suite.snapshot() }
        count(.snapshots)
    }

    // MARK: - Writing

    private func set(_ key: OwnKey, in suite: SettingsSuite) throws {
        try timed {
            try history.ledger.tally(writer, key.rawValue)
                .next { number in
                    try suite.setStoredValue(key.stored(number), forKey: key.name(writer))
                }
        }
        count(.sets)
        // A thread also reads its own changes.
        history.check(key, of: writer) { suite[storedValueFor: key.name(writer)] }
    }

    private mutating func update(in suite: SettingsSuite) throws {
        let counter = random.below(LoadPlan.counters)
        try raise(counter) {
            try Setting(LoadPlan.sumKey(counter), default: 0, suite: suite).update { $0 += 1 }
        }
        count(.updates)
    }

    private func transact(in suite: SettingsSuite) throws {
        let (left, right) = LoadPlan.pairKeys
        try raise(LoadPlan.pair) {
            try suite.transaction { settings in
                history.expectWhole(settings[storedValueFor: left], settings[storedValueFor: right])
                let next = settings[Setting(left, default: 0, suite: suite)] + 1
                settings[storedValueFor: left] = .integer(Int128(next))
                settings[storedValueFor: right] = .integer(Int128(next))
                return next
            }
        }
        count(.transactions)
    }

    private func raise(_ sum: Int, _ change: () throws -> Int) throws {
        let value = try timed {
            try history.ledger.tally(writer, LoadPlan.column(ofSum: sum)).increment(change)
        }
        if let other = claims.claim(value, ofSum: sum, by: writer) {
            history.record("writers \(writer) and \(other) both set \(LoadPlan.sumKey(sum)) to \(value)")
        }
    }

    private func checkpoint(_ suite: SettingsSuite) throws {
        try suite.checkpoint()
        count(.checkpoints)
    }

    private func synchronize(_ suite: SettingsSuite) throws {
        try suite.synchronize()
        count(.synchronizations)
    }

    private func finish(_ suite: SettingsSuite) throws {
        if isResident { return }
        visit.finish(suite)
        count(.finishes)
    }

    // MARK: - Counting

    private func timed<Result>(_ body: () throws -> Result) rethrows -> Result {
        let start = ContinuousClock.now
        let result = try body()
        let microseconds = Int((ContinuousClock.now - start).seconds * 1e6)
        child.ledger[.done, writer, LoadPlan.Done.longest.rawValue].raise(to: microseconds)
        return result
    }

    private func count(_ done: LoadPlan.Done) {
        child.ledger[.done, writer, done.rawValue].add()
    }
}
