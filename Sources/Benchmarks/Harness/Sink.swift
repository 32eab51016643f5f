// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Where results go that nobody needs, so that the optimiser cannot leave out what made them.
enum Sink {
    private static let sum = Atomic(0)

    static func keep(_ value: Int) {
        sum.wrappingAdd(value, ordering: .relaxed)
    }
}
