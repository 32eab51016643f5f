// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Only the transaction writes inside a transaction".

import Synchronization

/// The transaction that the current task is inside of.
///
/// A transaction runs alone among writers, so one that began another, or a plain set, would wait for itself, or for one
/// that waits for it. Those are refused at once; an assignment that is refused is made when the transaction has ended.
///
/// Tasks that a transaction's body starts inherit it. They run on other threads, or later, and may well wait for it; so
/// what counts is the thread, and whether the body is still running.
final class TransactionScope: Sendable {
    @TaskLocal private static var inherited: TransactionScope?

    /// The transaction whose body is the caller.
    static var current: TransactionScope? {
        guard let inherited, inherited.thread == SystemCalls.currentThread() else { return nil }
        return inherited.isRunning.load(ordering: .relaxed) ? inherited : nil
    }

    private let thread = SystemCalls.currentThread()
    private let isRunning = Atomic(false)
    private let postponed = Locked<[@Sendable () -> Void]>([])

    /// Runs a body inside of this transaction.
    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        isRunning.store(true, ordering: .relaxed)
        defer { isRunning.store(false, ordering: .relaxed) }
        return try Self.$inherited.withValue(self, operation: body)
    }

    /// Notes what is to be done when the transaction has ended.
    func postpone(_ work: @escaping @Sendable () -> Void) {
        postponed.withLock { $0.append(work) }
    }

    func performPostponed() {
        let works = postponed.withLock { works in
            defer { works = [] }
            return works
        }
        for work in works {
            work()
        }
    }
}
