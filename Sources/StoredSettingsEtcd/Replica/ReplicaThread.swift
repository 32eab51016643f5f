// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "A thread of its own".

import StoredSettings

/// The threads that run the tasks of all replicas.
///
/// So a program may block all threads of Swift concurrency in sets, which wait for these tasks. No code of the user runs here.
final class ReplicaThread: TaskExecutor {
    /// More than one, because a task may wait for the lock of a file.
    private static let mostThreads = 4

    private static let threads = PerProcess { ReplicaThread() }

    /// The threads of this process.
    static var shared: ReplicaThread { threads.current }

    /// Runs work after a delay, in seconds.
    typealias Timer = @Sendable (_ delay: Double, _ work: @escaping @Sendable () -> Void) -> Void

    private let scheduler = WorkScheduler(mostThreads: mostThreads)
    private let timer: Timer?

    /// - Parameter timer: The timers of waits; `nil` for those of the system.
    init(timer: Timer? = nil) {
        self.timer = timer
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        scheduler.soon { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Tries again to start a thread for the jobs that wait for one.
    func startThreadIfStarved() {
        scheduler.startThreadIfStarved()
    }

    /// Runs work after a delay, in seconds.
    func after(_ delay: Double, _ work: @escaping @Sendable () -> Void) {
        if let timer { timer(delay, work) } else { scheduler.after(delay, work) }
    }

    /// Starts a task, which inherits nothing from the caller.
    @discardableResult
    func start(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.detached(executorPreference: self, operation: operation)
    }

    /// The interval at which a caller with a limit checks it, in seconds.
    private static let pause = 0.002

    /// Runs a job of another executor on one of the threads.
    fileprivate func run(_ job: UnownedJob, of executor: some TaskExecutor) {
        scheduler.soon { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
    }

    /// Runs an operation on the calling thread, which waits for its end.
    ///
    /// - Parameters:
    ///   - isLimited: Whether the operation is canceled when the caller must not wait any longer.
    ///   - operation: The operation.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation, or that of `WaitLimit.check()`, or `SettingsError` if the system starts no
    ///   thread.
    func run<Result: Sendable>(
        limited isLimited: Bool = false,
        _ operation: @escaping @Sendable () async throws -> Result
    ) throws -> Result {
        // No other task would run, and no timer would end a wait.
        startThreadIfStarved()
        guard !scheduler.isStarved else { throw SettingsError.noThread }
        let caller = CallingThread(self)
        let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
        let task = Task.detached(executorPreference: caller) {
            let result: Swift.Result<Result, any Error>
            do {
                result = .success(try await operation())
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
            caller.finish()
        }
        let isPolling = isLimited && WaitLimit.isSet
        while true {
            caller.runJobs(for: isPolling ? Self.pause : 3_600)
            if let result = outcome.withLock({ $0 }) {
                caller.leave()
                return try result.get()
            }
            guard isPolling else { continue }
            do {
                try WaitLimit.check()
            } catch {
                task.cancel()
                caller.leave()
                throw error
            }
        }
    }
}

/// A thread that runs the jobs of the task for which it waits.
///
/// So the jobs of its task need no other thread.
///
/// Unchecked: the variables are accessed only while the lock of `signal` is held.
private final class CallingThread: TaskExecutor, @unchecked Sendable {
    private let others: ReplicaThread
    private let signal = ThreadSignal()
    private var jobs: [UnownedJob] = []
    private var isFinished = false
    private var hasLeft = false

    /// - Parameter others: The threads that run the jobs when the thread no longer waits.
    init(_ others: ReplicaThread) {
        self.others = others
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The caller may run the job as soon as it is in the list, and then release this object: nothing is accessed after that.
        let isAccepted = signal.withLock {
            guard !hasLeft else { return false }
            jobs.append(job)
            signal.signal()
            return true
        }
        if !isAccepted { others.run(job, of: self) }
    }

    /// Ends the wait, because the task has a result.
    func finish() {
        signal.withLock {
            isFinished = true
            signal.signal()
        }
    }

    /// Runs the jobs that have arrived, or waits for the next ones and for the result of the task.
    ///
    /// - Parameter seconds: The maximum time to wait.
    func runJobs(for seconds: Double) {
        signal.withLock {
            if jobs.isEmpty, !isFinished { signal.wait(until: .now + .seconds(seconds)) }
        }
        for job in takeJobs() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Leaves all further jobs to other threads.
    func leave() {
        signal.withLock { hasLeft = true }
        for job in takeJobs() { others.run(job, of: self) }
    }

    private func takeJobs() -> [UnownedJob] {
        var taken: [UnownedJob] = []
        signal.withLock { swap(&taken, &jobs) }
        return taken
    }
}

/// Wakes tasks when something has changed.
final class ChangeSignal: Sendable {
    /// A wait, whose task checks a condition whenever it is woken.
    private struct Wait {
        var continuation: CheckedContinuation<Void, Never>?
        /// Whether the time is over.
        var isOver = false

        mutating func takeContinuation() -> CheckedContinuation<Void, Never>? {
            defer { continuation = nil }
            return continuation
        }
    }

    private struct State {
        var count: UInt64 = 0
        var last: UInt64 = 0
        var waits: [UInt64: Wait] = [:]
    }

    private let state = Locked(State())

    /// The number of changes.
    var count: UInt64 { state.withLock { $0.count } }

    /// Wakes all waiting tasks.
    func signal() {
        let continuations = state.withLock { state in
            state.count += 1
            return state.waits.keys.compactMap { state.waits[$0]?.takeContinuation() }
        }
        for continuation in continuations { continuation.resume() }
    }

    /// Waits for a change, for the end of a time, or until the task is canceled.
    ///
    /// - Parameters:
    ///   - count: The number of changes that the caller knows.
    ///   - seconds: The time.
    ///   - thread: The thread that measures the time.
    func wait(after count: UInt64, for seconds: Double, on thread: ReplicaThread) async {
        _ = await wait(for: seconds, on: thread) { self.count != count }
    }

    /// Waits until a condition holds, which is checked after every change.
    ///
    /// The wait has one timer, whatever the number of changes.
    ///
    /// - Parameters:
    ///   - seconds: The maximum time.
    ///   - thread: The thread that measures the time.
    ///   - condition: The condition.
    /// - Returns: Whether it holds; `false` when the time is over or the task is canceled.
    func wait(for seconds: Double, on thread: ReplicaThread, until condition: () -> Bool) async -> Bool {
        let number = state.withLock { state in
            state.last += 1
            state.waits[state.last] = Wait()
            return state.last
        }
        defer { state.withLock { $0.waits[number] = nil } }
        var hasTimer = false
        while true {
            let count = self.count
            if condition() { return true }
            guard !Task.isCancelled, state.withLock({ $0.waits[number]?.isOver == false }) else { return false }
            if !hasTimer {
                hasTimer = true
                thread.after(seconds) { [weak self] in self?.wake(number, isOver: true) }
            }
            await suspend(number, after: count)
        }
    }

    private func suspend(_ number: UInt64, after count: UInt64) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isWaiting = state.withLock { state in
                    // The timer and the handler of the cancellation may already have run.
                    let isOver = state.waits[number]?.isOver != false
                    guard state.count == count, !isOver, !Task.isCancelled else { return false }
                    state.waits[number]?.continuation = continuation
                    return true
                }
                if !isWaiting { continuation.resume() }
            }
        } onCancel: {
            wake(number, isOver: false)
        }
    }

    private func wake(_ number: UInt64, isOver: Bool) {
        let continuation = state.withLock { state in
            if isOver { state.waits[number]?.isOver = true }
            return state.waits[number]?.takeContinuation()
        }
        continuation?.resume()
    }
}
