// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import Synchronization

/// A request to end the run, which is fulfilled after cleanup.
enum Interruption {
    private static let isWanted = Atomic<Bool>(false)

    static func listen() {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // A signal handler may do little: this one stores to initialized memory.
            signal(number) { _ in Interruption.isWanted.store(true, ordering: .relaxed) }
        }
        isWanted.store(false, ordering: .relaxed)
    }

    static func check() throws {
        if isWanted.load(ordering: .relaxed) { throw Failure("interrupted") }
    }
}

/// Waits until a condition holds or a time limit has passed.
///
/// - Returns: Whether the condition held.
func wait(_ limit: Duration = Deadline.longest, until condition: () throws -> Bool) throws -> Bool {
    var deadline = Deadline(after: limit)
    while try !condition() {
        try Interruption.check()
        guard !deadline.hasPassed else { return false }
        deadline.pauseOnThread()
    }
    return true
}
