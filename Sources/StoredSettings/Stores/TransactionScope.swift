// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Only the transaction writes inside a transaction".

import Synchronization

/// The transaction whose body the current task is running.
///
/// A transaction excludes all other writers, so a second transaction or a plain set inside its body would wait for itself.
/// Both are refused at once. An assignment inside the body is applied after the transaction.
///
/// Tasks that the body starts inherit the scope. They run on other threads, or later, and may wait for the transaction. So
/// the scope counts only on the thread of the body, and only while the body runs.
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

    /// Runs the body of this transaction.
    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        isRunning.store(true, ordering: .relaxed)
        defer { isRunning.store(false, ordering: .relaxed) }
        return try WaitLimit.runWithout { try Self.$inherited.withValue(self, operation: body) }
    }

    /// Postpones work until the transaction has ended.
    func postpone(_ work: @escaping @Sendable () -> Void) {
        postponed.withLock { $0.append(work) }
    }

    /// Performs the postponed work, which may wait for longer than the transaction.
    func performPostponed() {
        let works = postponed.withLock { works in
            defer { works = [] }
            return works
        }
        guard !works.isEmpty else { return }
        WaitLimit.runWithout {
            for work in works {
                work()
            }
        }
    }
}
