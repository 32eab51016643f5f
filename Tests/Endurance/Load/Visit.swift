// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

/// How often the threads of one process have finished its suites, which all of them share.
final class Finishes: Sendable {
    let begun = Atomic<Int>(0)
    let ended = Atomic<Int>(0)

    func finish(_ suite: SettingsSuite) {
        begun.add(1, ordering: .sequentiallyConsistent)
        suite.finish()
        ended.add(1, ordering: .sequentiallyConsistent)
    }
}

/// One thread's time with a suite.
final class Visit: Sendable {
    private let finishes: Finishes
    private let child: Child
    private let opened = Mutex<SettingsSuite?>(nil)
    private let finishesBefore = Atomic<Int>(0)

    init(_ child: Child, _ finishes: Finishes) {
        (self.child, self.finishes) = (child, finishes)
    }

    /// Opens a suite where none is.
    ///
    /// - Returns: The suite, and whether it is a new one.
    func enter() -> (SettingsSuite, isNew: Bool) {
        if isOver { leave() }
        return opened.withLock { opened in
            if let opened { return (opened, false) }
            // What is under way may still hit the suite that is opened now.
            finishesBefore.store(
                finishes.ended.load(ordering: .sequentiallyConsistent),
                ordering: .sequentiallyConsistent
            )
            let suite = child.suite
            opened = suite
            return (suite, true)
        }
    }

    func leave() {
        opened.withLock { $0 = nil }
    }

    /// Whether the suite may have been finished: then it gives what it had last, and takes no change.
    var isOver: Bool {
        finishes.begun.load(ordering: .sequentiallyConsistent)
            != finishesBefore.load(ordering: .sequentiallyConsistent)
    }

    func finish(_ suite: SettingsSuite) {
        finishes.finish(suite)
    }
}
