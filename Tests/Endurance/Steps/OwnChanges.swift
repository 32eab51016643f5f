// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import Foundation
import StoredSettings
import Synchronization

/// The changes that this process makes beside those of a ``Stepper``, and the checks of both.
struct OwnChanges {
    /// How long a change waits for a stopped process before it is canceled.
    private static let timeout = Duration.milliseconds(30)
    /// The time within which a canceled change has to return.
    ///
    /// On a busy machine, its thread may have to wait.
    private static let cancellationLimit = Duration.seconds(60)

    let suite: SettingsSuite
    private let ledger: Ledger
    private let findings: Findings

    init(_ suite: SettingsSuite, _ ledger: Ledger, _ findings: Findings) {
        (self.suite, self.ledger, self.findings) = (suite, ledger, findings)
    }

    /// The changes of this process have the same form as those of the other one.
    ///
    /// Sets have their own key, so that the stored numbers show which process has set them.
    private func setting(_ change: Stepper.Change) -> Setting<Int> {
        Setting(change == .set ? "own" : change.key, default: 0, suite: suite)
    }

    private func tally(_ change: Stepper.Change) -> Tally {
        ledger.tally(Stepper.Change.allCases.count + change.rawValue)
    }

    func make(_ change: Stepper.Change) {
        do {
            try change.make(setting(change), tally(change))
        } catch {
            record("a change failed: \(error)", change)
        }
    }

    /// Makes a change, and cancels it if it has to wait.
    ///
    /// - Returns: Whether the change is made.
    func makeWithoutWaiting(_ change: Stepper.Change) throws -> Bool {
        let (setting, tally) = (setting(change), tally(change))
        let end = DispatchSemaphore(value: 0)
        let outcome = Mutex<Result<Void, any Error>?>(nil)
        let number = tally.begun.value + 1
        tally.begun.value = number
        let task = Task {
            do {
                switch change {
                case .set: try await setting.set(number)
                case .update: try await setting.update { $0 += 1 }
                }
                outcome.withLock { $0 = .success(()) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
            end.signal()
        }
        if end.wait(timeout: .now() + Self.timeout.seconds) == .timedOut {
            task.cancel()
            guard end.wait(timeout: .now() + Self.cancellationLimit.seconds) == .success else {
                throw Failure("a canceled change does not return")
            }
        }
        switch outcome.withLock({ $0 }) {
        case .success:
            tally.acknowledged.value = number
            return true
        case .failure(let error):
            tally.begun.value = number - 1
            if !(error is CancellationError) { record("a change beside a stopped process failed: \(error)", change) }
            return false
        case nil:
            throw Failure("a change has no outcome")
        }
    }

    // MARK: - Checks

    /// Compares the stored numbers with those that the processes have acknowledged.
    ///
    /// - Returns: The number of changes of the other process that are stored.
    func check(_ change: Stepper.Change, _ place: String) throws -> Int {
        let (child, own) = (ledger.tally(change.rawValue), tally(change))
        let stored = try Setting(change.key, default: 0, suite: suite).load() ?? 0
        let others = change == .set ? stored : stored - own.acknowledged.value
        // The last change of a process that is stopped or killed may be stored or not.
        let range = child.acknowledged.value...child.begun.value
        if !range.contains(others) {
            record("\(others) changes of the other process are stored instead of \(range), after \(place)", change)
        }
        if change == .set {
            let number = try setting(change).load() ?? 0
            if number != own.acknowledged.value {
                record("\(number) is stored instead of \(own.acknowledged.value), after \(place)", change)
            }
        }
        return others
    }

    /// Does the same for a process that pauses or was killed, and notes how many of its changes are stored.
    func checkAndCorrect(_ change: Stepper.Change, _ place: String) throws {
        let number = try check(change, place)
        let child = ledger.tally(change.rawValue)
        (child.acknowledged.value, child.begun.value) = (number, number)
    }

    func record(_ text: String, _ change: Stepper.Change) {
        findings.record("steps, \(change): \(text)")
    }
}
#endif
