// SPDX-License-Identifier: Apache-2.0

import Foundation
package import StoredSettings
import Synchronization

/// The result of work on a thread that may block.
package final class Outcome: Sendable {
    private struct State {
        var error: (any Error)?
        var isOver = false
    }

    private let state = Mutex(State())

    package init(_ work: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread {
            var error: (any Error)?
            do {
                try work()
            } catch let failure {
                error = failure
            }
            self.state.withLock { [error] in $0 = State(error: error, isOver: true) }
        }
    }

    package var isOver: Bool { state.withLock { $0.isOver } }
    package var hasSucceeded: Bool { state.withLock { $0.isOver && $0.error == nil } }
    /// The code of the error; `nil` if the error is not a `SettingsError`.
    package var code: SettingsError.Code? { state.withLock { ($0.error as? SettingsError)?.code } }
}
