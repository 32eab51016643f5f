// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import StoredSettings
import Synchronization

extension UserDefaultsStore {
    #if canImport(ObjectiveC)
    /// Starts to receive external changes: on Apple platforms, `UserDefaults` posts notifications.
    public func watch() {
        state.withLock { state in
            guard state.observation == nil else { return }
            let token = domain.observe { [weak self] in
                // Asynchronously, because this thread may be in the middle of a commit.
                DispatchQueue.global(qos: .utility).async { [weak self] in self?.detectExternalChanges() }
            }
            state.observation = Observation(token: token)
        }
    }

    private func detectExternalChanges() {
        state.withLock { detectChanges(&$0) }.perform()
    }
    #else
    /// Does nothing, because `UserDefaults` posts no notifications on this platform.
    ///
    /// The next read, commit or synchronization through this library detects external changes.
    public func watch() {}
    #endif

    /// Stops receiving notifications.
    public func close() {
        let observation = state.withLock { state in
            defer { state.observation = nil }
            return state.observation
        }
        _ = consume observation
    }
}

/// Notifications that end when this object is deallocated.
///
/// Unchecked: the token is set once and used once, in `deinit`.
final class Observation: @unchecked Sendable {
    private let token: any NSObjectProtocol

    init(token: any NSObjectProtocol) {
        self.token = token
    }

    deinit {
        NotificationCenter.default.removeObserver(token)
    }
}
