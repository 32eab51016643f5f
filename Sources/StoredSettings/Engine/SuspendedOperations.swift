// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "Nothing blocks a cooperative thread on another process".

import Synchronization

/// Carries out operations that have to wait, while their tasks are suspended.
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

    package init() {}

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

    /// Carries out an operation while the task is suspended.
    ///
    /// - Throws: `CancellationError` if the task is canceled before the operation has changed anything; the error of the
    ///   operation.
    package nonisolated(nonsending) func run<Result: Sendable>(
        _ operation: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        let suspended = SuspendedOperation(self)
        let task = suspended.start { try suspended.perform(operation) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            suspended.cancel(task)
        }
    }

    /// Begins to carry out an operation that waits, for no task.
    func runInBackground(_ operation: @escaping @Sendable () -> Void) {
        Task.detached(executorPreference: SuspendedOperation(self)) { operation() }
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
/// The task has the task-local values and the priority of the task that waits for it.
private final class SuspendedOperation: TaskExecutor {
    private let operations: SuspendedOperations
    private let job = Locked<UnownedJob?>(nil)
    private let begin = ContinuousClock.now

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
            return try WaitLimit.runCancelably(since: begin, operation)
        } catch  where error.isCaused(by: CancellationError.self) {
            throw CancellationError()
        }
    }
}

// MARK: - Operations

extension SettingsEngine {
    /// Carries out an operation at once, or while the task is suspended if it has to wait for another writer.
    ///
    /// The operation has changed nothing if it throws.
    ///
    /// - Throws: `CancellationError` if the task is canceled before the operation has changed anything; the error of the
    ///   operation.
    package nonisolated(nonsending) func suspending<Result: Sendable>(
        _ operation: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        if let result = try withoutWaiting(operation) { return result }
        return try await suspendedWrites.run(operation)
    }

    /// Runs a body unless it has to wait for another writer.
    ///
    /// - Returns: The result; `nil` if it would have had to wait. Then the body has not run.
    fileprivate func withoutWaiting<Result>(_ body: () throws -> Result) throws -> Result? {
        // A store of an application may wait all the same.
        guard store is any LimitedStore else { return nil }
        do {
            return try WaitLimit.run(for: .zero, body)
        } catch  where error.isCaused(by: WaitLimitError.self) {
            return nil
        }
    }
}

// MARK: - Transactions

extension SettingsSuite {
    /// Changes several settings atomically, and suspends the task while it waits for another writer.
    ///
    /// - Parameter body: Reads and changes settings, in the task and on the actor of the caller. See ``transaction(_:)``.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure; ``SettingsError`` when a value is rejected or the changes cannot be saved;
    ///   `CancellationError` when the task is canceled before. Then nothing has changed.
    @discardableResult
    public nonisolated(nonsending) func transaction<Result>(
        _ body: (inout SettingsTransaction) throws -> Result
    ) async throws -> Result {
        var offer = TransactionLoan.shortestOffer
        while true {
            try Task.checkCancellation()
            if let result = try engine.withoutWaiting({ try transaction(isManaging: false, body) }) { return result }
            do {
                return try await transaction(lentFor: offer, body)
            } catch is MissedOffer {
                // The task could not run in time. Now it does.
                offer *= 2
            } catch is NoThread {
                return try transaction(isManaging: false, body)
            }
        }
    }

    /// Runs a transaction on the thread of the engine, but its body in the task.
    private nonisolated(nonsending) func transaction<Result>(
        lentFor offer: Double,
        _ body: (inout SettingsTransaction) throws -> Result
    ) async throws -> Result {
        let (loan, scope) = (TransactionLoan(for: offer), TransactionScope())
        let suspended = SuspendedOperation(engine.suspendedWrites)
        let task = suspended.start {
            defer { loan.end() }
            try suspended.perform { try self.transaction { try loan.lend(&$0) } }
        }
        defer { scope.performPostponed() }
        var outcome = Swift.Result<Result, any Error>.failure(MissedOffer())
        while true {
            // This closure leaves the actor of the caller, which has to be free before the task takes the transaction.
            await withTaskCancellationHandler {
                await loan.wait()
            } onCancel: {
                suspended.cancel(task)
            }
            guard var transaction = loan.take() else { break }
            outcome = Swift.Result { try scope.run { try body(&transaction) } }
            loan.giveBack(outcome.map { _ in transaction })
        }
        try await task.value
        return try outcome.get()
    }
}

/// A transaction that a thread, which has the locks of the store, lends to a task.
///
/// So the body runs in the task, isolated as its caller is.
///
/// Unchecked: the state is accessed only while the lock of `signal` is held.
private final class TransactionLoan: @unchecked Sendable {
    private enum State {
        /// The task runs the body, or the thread has not begun to lend.
        case kept
        case offered(SettingsTransaction)
        case returned(Result<SettingsTransaction, any Error>)
        /// The thread lends nothing anymore.
        case over
    }

    private let signal = ThreadSignal()
    private var state = State.kept
    /// The task, while it waits for the thread.
    private var task: CheckedContinuation<Void, Never>?
    /// How long the thread waits for the task to run, in seconds.
    private let offer: Double
    private let borrower = SystemCalls.currentThread()

    /// How long the thread first waits for the task to run, in seconds.
    ///
    /// The actor of the task may be waiting for the locks that the thread has. An actor that is only slow is offered twice as
    /// much the next time.
    static let shortestOffer = 0.1

    init(for offer: Double) {
        self.offer = offer
    }

    // MARK: The thread

    /// Lends the transaction to the task until its body has ended.
    ///
    /// - Throws: The error of the body; ``MissedOffer``; ``NoThread``.
    func lend(_ transaction: inout SettingsTransaction) throws {
        guard borrower != SystemCalls.currentThread() else { throw NoThread() }
        let end = SuspendingClock.Instant.now + .seconds(offer)
        change(to: .offered(transaction))
        transaction =
            try signal.withLock { () -> Result<SettingsTransaction, any Error> in
                while true {
                    switch state {
                    case .returned(let result):
                        state = .kept
                        return result
                    // A store may call the body again, whatever it has thrown.
                    case .over: return .failure(MissedOffer())
                    case .offered where .now >= end: state = .over
                    case .offered: signal.wait(until: end)
                    default: signal.wait(until: .now + .seconds(offer))
                    }
                }
            }
            .get()
    }

    func end() { change(to: .over) }

    private func change(to new: State) {
        let waiting = signal.withLock { () -> CheckedContinuation<Void, Never>? in
            if case .over = state { return nil }
            state = new
            return task.take()
        }
        waiting?.resume()
    }

    // MARK: The task

    /// Waits until the thread lends the transaction, or lends nothing anymore.
    nonisolated(nonsending) func wait() async {
        await withCheckedContinuation { continuation in
            let isWaiting = signal.withLock {
                switch state {
                case .offered, .over: return false
                case .kept, .returned: task = continuation
                }
                return true
            }
            if !isWaiting { continuation.resume() }
        }
    }

    /// Returns the transaction, unless the thread has stopped waiting for the task.
    func take() -> SettingsTransaction? {
        signal.withLock {
            guard case .offered(let transaction) = state else { return nil }
            state = .kept
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
private struct MissedOffer: Error {}

/// The system has refused to start a thread, so that the calling thread does its work.
private struct NoThread: Error {}
