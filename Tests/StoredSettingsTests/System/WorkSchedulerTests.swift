// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("WorkScheduler")
struct WorkSchedulerTests {
    @Test("work runs in the order of its due time, immediately or after its delay")
    func order() async {
        let log = CallLog<String>()
        var queue = WorkQueue(mostThreads: 1)
        let start = SuspendingClock.Instant.now
        for (delay, name) in [(2, "third"), (1, "second"), (0, "first")] {
            _ = queue.add(at: start + .milliseconds(delay)) { log.add(name) }
        }
        while let work = queue.takeDue(now: start + .seconds(1)) { work() }
        #expect(log.all == ["first", "second", "third"])
    }

    @Test("no more threads run than the limit, and waiting work runs eventually")
    func limit() async {
        let scheduler = WorkScheduler(mostThreads: 3)
        let running = Atomic(0)
        let most = Atomic(0)
        let done = Atomic(0)
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<200 {
            scheduler.soon {
                most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
                // All work waits until every thread has some.
                gate.wait()
                gate.signal()
                running.subtract(1, ordering: .relaxed)
                done.add(1, ordering: .relaxed)
            }
        }
        await eventually("each thread runs work") { most.load(ordering: .relaxed) >= 3 }
        gate.signal()
        await eventually("all work has run") { done.load(ordering: .relaxed) == 200 }
        #expect(most.load(ordering: .relaxed) == 3)
    }

    @Test("threads block the application's signals and receive the signals of their own faults")
    func signals() async throws {
        let mask = Mutex<[CInt: Bool]>([:])
        WorkScheduler.shared.soon {
            var signals = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &signals)
            let blocked = [SIGTERM, SIGINT, SIGUSR1, SIGCHLD, SIGBUS, SIGSEGV]
                .map { ($0, sigismember(&signals, $0) == 1) }
            mask.withLock { $0 = Dictionary(uniqueKeysWithValues: blocked) }
        }
        await eventually("the thread has read its signal mask") { mask.withLock { !$0.isEmpty } }
        #expect(
            mask.withLock { $0 }
                == [SIGTERM: true, SIGINT: true, SIGUSR1: true, SIGCHLD: true, SIGBUS: false, SIGSEGV: false]
        )
    }

    @Test("work that no thread could be started for runs when one can be", arguments: [0, 0.05])
    func starvation(delay: Double) async {
        let isFailing = Atomic(true)
        let system = SystemCalls { call, _ in call == .thread && isFailing.load(ordering: .relaxed) ? EAGAIN : nil }
        let scheduler = WorkScheduler(system)
        let log = CallLog<String>()
        scheduler.after(delay) { log.add("in the background") }
        scheduler.startThreadIfStarved()
        #expect(scheduler.isStarved)
        #expect(log.all == [])
        isFailing.store(false, ordering: .relaxed)
        scheduler.startThreadIfStarved()
        #expect(!scheduler.isStarved)
        await eventually("a thread has run the work") { log.all == ["in the background"] }
    }

    @Test("work that is added later starts the thread of work that is waiting")
    func laterWork() async {
        let isFailing = Atomic(true)
        let system = SystemCalls { call, _ in call == .thread && isFailing.load(ordering: .relaxed) ? EAGAIN : nil }
        let scheduler = WorkScheduler(system)
        let log = CallLog<String>()
        scheduler.soon { log.add("first") }
        isFailing.store(false, ordering: .relaxed)
        scheduler.soon { log.add("second") }
        await eventually("a thread has run both") { log.all.sorted() == ["first", "second"] }
    }

    @Test("idle threads end, except one that waits for pending work")
    func idleThreads() {
        var queue = WorkQueue(mostThreads: 2)
        let start = SuspendingClock.Instant.now
        let late = start + WorkQueue.idleTime * 2
        #expect(queue.add(at: start) {} == .thread)
        queue.stopWaiting(isTimekeeper: false)
        // The first thread is busy when more work is added.
        guard case (_?, .none) = work(of: queue.next(now: start, idleSince: start)) else {
            Issue.record("the work does not run")
            return
        }
        #expect(queue.add(at: start + .seconds(60)) {} == .thread)
        queue.stopWaiting(isTimekeeper: false)
        let (step, isTimekeeper) = queue.next(now: start, idleSince: start)
        guard case .wait(let time) = step, isTimekeeper else {
            Issue.record("the second thread does not wait until the work is due")
            return
        }
        #expect(time == start + .seconds(60))
        // The other thread still waits.
        guard case (.end, _) = queue.next(now: late, idleSince: start) else {
            Issue.record("the first thread does not end")
            return
        }
        queue.stopWaiting(isTimekeeper: true)
        #expect(queue.takeDue(now: start + .seconds(61)) != nil)
        guard case (.wait, false) = queue.next(now: late, idleSince: start) else {
            Issue.record("the last thread does not wait")
            return
        }
        #expect(queue.threads == 1)
    }

    private func work(of next: (WorkQueue.Step, isTimekeeper: Bool)) -> (WorkQueue.Work?, WorkQueue.Help) {
        guard case .run(let work, let help) = next.0 else { return (nil, .none) }
        return (work, help)
    }
}
