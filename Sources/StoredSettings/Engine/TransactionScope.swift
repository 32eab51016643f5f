// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The transaction that the current task is inside of.
///
/// A transaction runs alone among writers, so one that began another, or a plain set, would wait for itself, or for one
/// that waits for it. Those are refused at once; an assignment that is refused is made when the transaction has ended.
final class TransactionScope: Sendable {
    @TaskLocal static var current: TransactionScope?

    private let postponed = Locked<[ObjectIdentifier: SettingsEngine]>([:])

    /// Notes an engine that has something to save when the transaction has ended.
    func postpone(_ engine: SettingsEngine) {
        postponed.withLock { $0[ObjectIdentifier(engine)] = engine }
    }

    func performPostponed() {
        let engines = postponed.withLock { engines in
            defer { engines = [:] }
            return Array(engines.values)
        }
        for engine in engines {
            engine.retry()
        }
    }
}
