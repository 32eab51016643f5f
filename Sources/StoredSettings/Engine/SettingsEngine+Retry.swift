// SPDX-License-Identifier: Apache-2.0

import Dispatch
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

    /// Sees to it that ``retry()`` is called, as long as something is unsaved and can still be saved.
    func scheduleRetry() {
        guard let delay = state.withLock({ $0.isFinished ? nil : $0.unsaved.nextRetry() }) else { return }
        // The engine is kept alive until then: it alone has the values, and whoever assigned them may be gone.
        DispatchQueue.global(qos: .utility)
            .asyncAfter(deadline: .now() + delay) {
                self.state.withLock { $0.unsaved.isRetryScheduled = false }
                self.retry()
            }
    }
}

extension SettingsError.Code {
    /// Whether the same write may succeed later.
    var mayPass: Bool {
        ![.unstorable, .invalidKey, .validationFailed, .typeMismatch, .invalidValue, .suiteFinished].contains(self)
    }
}
