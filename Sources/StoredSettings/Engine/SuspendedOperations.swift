// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Nothing blocks a cooperative thread on another process".

import Synchronization

/// Carries out the operations of one engine that have to wait, while their tasks are suspended.
///
/// One thread does this, in the order of the calls, and exists while there are such operations. So any number of tasks can
/// wait, and those of one suite do not delay another suite.
package final class SuspendedOperations: Sendable {
    private struct State {
        /// The operations that have not begun.
        var waiting: [SuspendedOperation] = []
        var hasThread = false
        let forks = Forks.count
    }

    private let state = Locked(State())

    fileprivate func add(_ operation: SuspendedOperation) {
        let isFirst = state.withLock { state in
            // A forked child has neither the thread nor the tasks of its parent.
            if state.forks != Forks.count { state = State() }
            state.waiting.append(operation)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        guard isFirst else { return }
        let carryOut: @Sendable () -> Void = { [self] in
            while let next = next() { next.run() }
        }
        do {
            try BackgroundThread.start(SystemCalls(), carryOut)
        } catch {
            // The system starts no thread, so this one has to wait.
            carryOut()
        }
    }

    private func next() -> SuspendedOperation? {
        state.withLock { state in
            if state.waiting.isEmpty { state.hasThread = false }
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
    }

    /// Lets a canceled operation end, if it has not begun.
    fileprivate func remove(_ operation: SuspendedOperation) {
        let isWaiting = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === operation }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
        if isWaiting { operation.run() }
    }
}

/// One operation, as the executor of a task of its own.
///
/// The task has the task-local values, the priority and the cancellation of the task that waits for it.
private final class SuspendedOperation: TaskExecutor {
    private let operations: SuspendedOperations
    private let job = Locked<UnownedJob?>(nil)

    init(_ operations: SuspendedOperations) {
        self.operations = operations
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.job.withLock { $0 = job }
        operations.add(self)
    }

    func run() {
        let job = job.withLock { $0.take() }
        job?.runSynchronously(on: asUnownedTaskExecutor())
    }

    func cancel(_ task: Task<some Sendable, some Error>) {
        task.cancel()
        operations.remove(self)
    }

    /// Starts the task of the operation, which is isolated to no actor.
    func start<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) -> Task<Result, any Error> {
        Task(executorPreference: self) { try body() }
    }

    /// Carries out the operation in its task.
    ///
    /// - Throws: `CancellationError` if the task is canceled before the operation has changed anything; the error of the
    ///   operation.
    func perform<Result>(_ operation: () throws -> Result) throws -> Result {
        try Task.checkCancellation()
        do {
            return try WaitLimit.runCancelably(operation)
        } catch  where error.isCaused(by: CancellationError.self) {
            throw CancellationError()
        }
    }
}

// MARK: - Operations

extension SettingsEngine {
    /// Carries out an operation at once, or while the task is suspended if it has to wait for another writer.
    ///
    /// - Parameter operation: Changes values, and has changed nothing if it throws.
    /// - Returns: The result of the operation.
    /// - Throws: `CancellationError` if the task is canceled before the operation has changed anything; the error of the
    ///   operation.
    package nonisolated(nonsending) func suspending<Result: Sendable>(
        _ operation: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        if let result = try withoutWaiting(operation) { return result }
        return try await onThread(operation)
    }

    /// Carries out an operation that waits for the disk or the network, while the task is suspended.
    ///
    /// - Parameter operation: The operation.
    /// - Returns: The result of the operation.
    /// - Throws: `CancellationError` if the task is canceled before the operation has changed anything; the error of the
    ///   operation.
    package nonisolated(nonsending) func onThread<Result: Sendable>(
        _ operation: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        let suspended = SuspendedOperation(operations)
        let task = suspended.start { try suspended.perform(operation) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            suspended.cancel(task)
        }
    }

    /// Begins to carry out an operation that waits, for no task.
    func inBackground(_ operation: @escaping @Sendable () -> Void) {
        _ = SuspendedOperation(operations).start(operation)
    }

    /// Runs a body unless it has to wait for another writer.
    ///
    /// - Returns: The result; `nil` if it would have had to wait. Then the body has not run.
    fileprivate func withoutWaiting<Result>(_ body: () throws -> Result) throws -> Result? {
        // A store of an application may wait all the same.
        guard versionStamp != nil else { return nil }
        do {
            return try WaitLimit.run(for: .zero, body)
        } catch  where error.isCaused(by: WaitLimitError.self) {
            return nil
        }
    }
}

// MARK: - Transactions

extension SettingsSuite {
    /// Changes several settings atomically, in the task of the caller, which is suspended while it has to wait for another
    /// writer.
    ///
    /// - Parameter body: Reads and changes settings.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure; ``SettingsError``; `CancellationError`.
    nonisolated(nonsending) func suspendingTransaction<Result>(
        _ body: (inout SettingsTransaction) throws -> Result
    ) async throws -> Result {
        while true {
            try Task.checkCancellation()
            if let result = try engine.withoutWaiting({ try transaction(body) }) { return result }
            do {
                return try await lentTransaction(body)
            } catch is NotTaken {
                // The task could not run in time. Now it does.
            }
        }
    }

    private nonisolated(nonsending) func lentTransaction<Result>(
        _ body: (inout SettingsTransaction) throws -> Result
    ) async throws -> Result {
        let (loan, suspended, scope) = (TransactionLoan(), SuspendedOperation(engine.operations), TransactionScope())
        let task = suspended.start {
            loan.end(
                with: Swift.Result {
                    try suspended.perform { try self.transaction { try loan.lend(&$0) } }
                }
            )
        }
        defer { scope.performPostponed() }
        var outcome = Swift.Result<Result, any Error>.failure(NotTaken())
        var event = await withTaskCancellationHandler {
            await loan.nextEvent()
        } onCancel: {
            suspended.cancel(task)
        }
        while true {
            switch event {
            case .lent:
                guard var transaction = loan.take() else { throw NotTaken() }
                outcome = Swift.Result { try scope.run { try body(&transaction) } }
                loan.giveBack(outcome.map { _ in transaction })
                event = await loan.nextEvent()
            case .ended(let result):
                try result.get()
                return try outcome.get()
            }
        }
    }
}

/// A transaction that a thread, which has the locks of the store, lends to a task.
///
/// So the body runs in the task, isolated as its caller is.
///
/// Unchecked: the state is accessed only while the lock of `signal` is held.
private final class TransactionLoan: @unchecked Sendable {
    /// What the task has to do.
    enum Event {
        case lent
        case ended(Result<Void, any Error>)
    }

    private enum State {
        case kept
        case offered(SettingsTransaction)
        case taken
        case returned(Result<SettingsTransaction, any Error>)
    }

    private let signal = ThreadSignal()
    private var state = State.kept
    private var event: Event?
    private var task: CheckedContinuation<Event, Never>?

    /// How long the thread waits for the task to run, in seconds.
    ///
    /// The actor of the task may be waiting for the locks of the thread.
    private static let longestOffer = 0.1

    // MARK: The thread

    /// Lends the transaction to the task until its body has ended.
    ///
    /// - Throws: The error of the body; ``NotTaken``.
    func lend(_ transaction: inout SettingsTransaction) throws {
        let end = SuspendingClock.Instant.now + .seconds(Self.longestOffer)
        signal.withLock { state = .offered(transaction) }
        post(.lent)
        transaction =
            try signal.withLock { () -> Result<SettingsTransaction, any Error> in
                defer { state = .kept }
                while true {
                    switch state {
                    case .returned(let result): return result
                    case .offered where .now >= end: return .failure(NotTaken())
                    case .offered: signal.wait(until: end)
                    case .taken, .kept: signal.wait(until: .now + .seconds(Self.longestOffer))
                    }
                }
            }
            .get()
    }

    func end(with result: Result<Void, any Error>) {
        // The task knows that it came too late.
        if case .failure(let error) = result, error is NotTaken { return }
        post(.ended(result))
    }

    private func post(_ new: Event) {
        let waiting = signal.withLock {
            if task == nil { event = new }
            return task.take()
        }
        waiting?.resume(returning: new)
    }

    // MARK: The task

    nonisolated(nonsending) func nextEvent() async -> Event {
        await withCheckedContinuation { continuation in
            let known = signal.withLock {
                if event == nil { task = continuation }
                return event.take()
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    /// Returns the transaction, unless the thread has stopped waiting for the task.
    func take() -> SettingsTransaction? {
        signal.withLock {
            guard case .offered(let transaction) = state else { return nil }
            state = .taken
            return transaction
        }
    }

    func giveBack(_ result: Result<SettingsTransaction, any Error>) {
        signal.withLock {
            state = .returned(result)
            signal.signal()
        }
    }
}

/// The task did not run before the thread stopped waiting for it.
private struct NotTaken: Error {}
