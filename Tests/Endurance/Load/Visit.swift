// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Synchronization

/// Counts the finished suites of one process, which all its threads share.
final class Finishes: Sendable {
    let begun = Atomic<Int>(0)
    let ended = Atomic<Int>(0)

    func finish(_ suite: SettingsSuite) {
        begun.add(1, ordering: .sequentiallyConsistent)
        suite.finish()
        ended.add(1, ordering: .sequentiallyConsistent)
    }
}

/// The use of a suite by one thread.
final class Visit: Sendable {
    private let finishes: Finishes
    private let child: Child
    private let opened = Mutex<SettingsSuite?>(nil)
    private let finishesBefore = Atomic<Int>(0)

    init(_ child: Child, _ finishes: Finishes) {
        (self.child, self.finishes) = (child, finishes)
    }

    /// Returns the open suite, or opens one.
    ///
    /// - Returns: The suite, and whether it is new.
    func enter() -> (SettingsSuite, isNew: Bool) {
        if isOver { leave() }
        return opened.withLock { opened in
            if let opened { return (opened, false) }
            // A finish in progress may still affect the new suite.
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

    /// Whether the suite may have been finished.
    ///
    /// It then returns its last contents and rejects changes.
    var isOver: Bool {
        finishes.begun.load(ordering: .sequentiallyConsistent)
            != finishesBefore.load(ordering: .sequentiallyConsistent)
    }

    func finish(_ suite: SettingsSuite) {
        finishes.finish(suite)
    }
}
