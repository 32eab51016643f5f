// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Only the transaction writes inside a transaction".

import Synchronization

/// A part of the work of a thread, which counts only on that thread, and only while it runs.
///
/// A task-local value shows that something is part of it. Tasks that begin in it inherit the value, too, but run on other
/// threads, or later.
struct ThreadExtent: ~Copyable, Sendable {
    /// The thread on which the work is running; 0 while it is not.
    private let thread = Atomic<UInt>(0)

    /// Whether the caller, which has inherited the task-local value, is part of this.
    var isCurrent: Bool { thread.load(ordering: .relaxed) == SystemCalls.currentThread() }

    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        thread.store(SystemCalls.currentThread(), ordering: .relaxed)
        defer { thread.store(0, ordering: .relaxed) }
        return try body()
    }
}

/// The transaction whose body the current task is running.
///
/// A transaction excludes all other writers, so a second transaction or a plain set inside its body would wait for itself.
/// Both are refused at once. An assignment inside the body is applied after the transaction.
///
/// Tasks that the body starts may wait for the transaction, so the scope does not count there.
final class TransactionScope: Sendable {
    @TaskLocal private static var inherited: TransactionScope?

    /// The transaction whose body is the caller.
    static var current: TransactionScope? {
        guard let inherited, inherited.extent.isCurrent else { return nil }
        return inherited
    }

    private let extent = ThreadExtent()
    private let postponed = Locked<[@Sendable () -> Void]>([])

    /// Runs the body of this transaction.
    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        try extent.run { try WaitLimit.runWithout { try Self.$inherited.withValue(self, operation: body) } }
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
