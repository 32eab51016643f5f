// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

/// What a callback does the next time it is called, and not again.
final class NextAction: Sendable {
    private let action = Mutex<(@Sendable () throws -> Void)?>(nil)

    func set(_ action: @escaping @Sendable () throws -> Void) { self.action.withLock { $0 = action } }

    func perform() throws {
        let action = action.withLock { $0.take() }
        try action?()
    }
}
