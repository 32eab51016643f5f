// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettings

/// A store observer with one subscriber.
final class WokenObserver: StoreObserver, ChangeSubscriber {
    private let didWake: @Sendable (SettingChangeOrigin) -> Void

    init(didWake: @escaping @Sendable (SettingChangeOrigin) -> Void) {
        self.didWake = didWake
    }

    func record(_ commit: StoreCommit) -> StoreDelivery {
        StoreDelivery(subscribers: [self], origin: commit.origin, recorder: self)
    }

    func report(_ error: SettingsError) { Issue.record(error) }
    func offer(_ commit: StoreCommit) -> Bool { true }
    func wake(_ origin: SettingChangeOrigin) { didWake(origin) }
    func finish() {}
}
