// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Nothing blocks a cooperative thread on another process".

/// Runs operations that wait for other processes and for the disk, on threads that do nothing else.
///
/// So neither the cooperative threads of the program nor the background work of the library wait.
package final class WaitingExecutor: TaskExecutor {
    /// The maximum number of operations that wait at the same time.
    ///
    /// Further ones begin when one of these has ended.
    private static let mostThreads = 64

    private static let executors = PerProcess { WaitingExecutor() }

    private let scheduler = WorkScheduler(mostThreads: mostThreads)

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        scheduler.soon { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        // If the system starts no thread, the calling thread has to do the work.
        scheduler.helpIfStarved()
    }

    /// Runs an operation while the current task is suspended.
    ///
    /// - Parameter operation: Waits until the current task is canceled, and no longer.
    /// - Returns: The result of the operation.
    /// - Throws: `CancellationError` if the task is canceled before the operation has changed anything; the error of the
    ///   operation.
    package static func run<Result: Sendable>(_ operation: @escaping @Sendable () throws -> Result) async throws
        -> Result
    {
        try Task.checkCancellation()
        return try await withTaskExecutorPreference(executors.current) {
            do {
                return try await perform(operation)
            } catch let error where error.isCaused(by: CancellationError.self) {
                throw CancellationError()
            }
        }
    }

    /// Runs work that waits, and that cannot be canceled, while the current task is suspended.
    static func runToEnd(_ work: @escaping @Sendable () -> Void) async {
        await withTaskExecutorPreference(executors.current) { await perform(work) }
    }

    /// Runs work that waits, outside of the current task.
    static func runInBackground(_ work: @escaping @Sendable () -> Void) {
        let scheduler = executors.current.scheduler
        scheduler.soon(work)
        scheduler.helpIfStarved()
    }

    /// Not isolated to an actor, so that it runs on the preferred executor.
    @concurrent
    private static func perform<Result: Sendable>(
        _ operation: @Sendable () throws -> Result
    ) async throws -> Result {
        try WaitLimit.runCancelably(operation)
    }

    @concurrent
    private static func perform(_ work: @Sendable () -> Void) async {
        work()
    }
}
