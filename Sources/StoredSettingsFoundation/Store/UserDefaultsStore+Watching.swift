// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import StoredSettings
import Synchronization

extension UserDefaultsStore {
    #if canImport(ObjectiveC)
    /// Begins to hear of what others change: on Apple systems `UserDefaults` tells of it.
    public func watch() {
        state.withLock { state in
            guard state.observation == nil else { return }
            let token = domain.observe { [weak self] in
                // Not here: this thread may be in the middle of a commit.
                DispatchQueue.global(qos: .utility).async { self?.notice() }
            }
            state.observation = Observation(token: token)
        }
    }

    private func notice() {
        state.withLock { look(&$0) }.perform()
    }
    #else
    /// Does nothing: `UserDefaults` tells nobody of changes here.
    ///
    /// What others have changed is noticed by the next read, commit or synchronization through this library.
    public func watch() {}
    #endif

    /// Lets go of the notifications.
    public func close() {
        let observation = state.withLock { state in
            defer { state.observation = nil }
            return state.observation
        }
        _ = consume observation
    }
}

/// Notifications that end with this object.
///
/// Unchecked: the token is made once and used once, at the end.
final class Observation: @unchecked Sendable {
    private let token: any NSObjectProtocol

    init(token: any NSObjectProtocol) {
        self.token = token
    }

    deinit {
        NotificationCenter.default.removeObserver(token)
    }
}
