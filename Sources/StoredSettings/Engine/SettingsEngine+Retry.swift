// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension SettingsEngine {
    /// Tries to save what could not be saved, and goes on trying while there is any.
    func retry() {
        do {
            try flush()
        } catch {
            // It was reported when it failed first, and `synchronize()` throws while it lasts.
        }
        scheduleRetry()
    }

    /// Sees to it that ``retry()`` is called, as long as something is pendingWrites and can still be saved.
    func scheduleRetry() {
        guard let delay = state.withLock({ $0.isFinished ? nil : $0.pendingWrites.nextRetry() }) else { return }
        // The engine is kept alive until then: it alone has the values, and whoever assigned them may be gone.
        WorkScheduler.shared.after(delay) {
            self.state.withLock { $0.pendingWrites.isRetryScheduled = false }
            self.retry()
        }
    }
}

// MARK: - What is refused for good

extension SettingsEngine {
    /// Runs a commit, and once more when it failed for an pendingWrites value that the store will never take.
    func retryingWithoutRefused(_ commit: () throws -> Void) throws {
        do {
            try commit()
        } catch let error as SettingsError where error.code.isRefusal {
            guard giveUpRefused() else { throw error }
            try commit()
        }
    }

    /// Tries what is pendingWrites value by value, and gives up those that the store refuses for good, so that they do not
    /// spoil every commit that would take them along.
    ///
    /// - Returns: Whether there was one.
    private func giveUpRefused() -> Bool {
        var isAnyGivenUp = false
        let versions = state.withLock { $0.pendingWrites.versions }
        for (key, version) in versions.sorted(by: { $0.key < $1.key }) {
            do {
                try commitPending(isBlind: true, only: key) { _ in }
            } catch let error as SettingsError where error.code.isRefusal {
                isAnyGivenUp = true
                forget(key, upTo: version)
                giveUp(key, because: error)
            } catch {
                // It may be saved later.
            }
        }
        return isAnyGivenUp
    }

    private func giveUp(_ key: String, because cause: SettingsError) {
        var error = cause
        error.key = key
        error.consequence = "a value that was kept in memory is given up, and what was stored before serves"
        report(error)
    }
}

extension SettingsError.Code {
    /// Whether the same write may succeed later.
    var isRetryable: Bool { !isRefusal && self != .suiteFinished }

    /// Whether the store will never take the value.
    var isRefusal: Bool {
        [.unstorable, .invalidKey, .validationFailed, .typeMismatch, .invalidValue].contains(self)
    }
}
