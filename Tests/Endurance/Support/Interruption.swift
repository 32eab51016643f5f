// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The wish of somebody else that the run ends, which it does after it has cleaned up.
enum Interruption {
    private static let isWanted = Atomic<Bool>(false)

    static func listen() {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // A handler may do little: it stores to memory that is there already.
            signal(number) { _ in Interruption.isWanted.store(true, ordering: .relaxed) }
        }
        isWanted.store(false, ordering: .relaxed)
    }

    static func check() throws {
        if isWanted.load(ordering: .relaxed) { throw Failure("interrupted") }
    }
}

/// Waits until a condition holds, or a time has passed.
///
/// - Returns: Whether it held.
func wait(_ limit: Duration = .seconds(60), until condition: () throws -> Bool) throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        try Interruption.check()
        guard ContinuousClock.now < deadline else { return false }
        pause(.microseconds(200))
    }
    return true
}
