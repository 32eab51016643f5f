// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("SettingObservation")
struct SettingObservationTests {
    private let suite = SettingsSuite.inMemory()
    private let log = CallLog<SettingChange<Int>>()
    private let port: Setting<Int>

    init() {
        port = Setting("port", default: 1, suite: suite)
    }

    @Test("Row 28: an observer receives the old and the new value of each change before the assignment returns")
    func observing() {
        let observation = port.observe { [log] in log.add($0) }
        port.value = 2
        port.value = 2
        port.value = 3
        #expect(
            log.all == [SettingChange(old: 1, new: 2, origin: .local), SettingChange(old: 2, new: 3, origin: .local)]
        )
        observation.invalidate()
        port.value = 4
        #expect(log.all.count == 2)
    }

    @Test("an observer receives a change from outside on another thread than the one that notices the change")
    func thread() async {
        let threads = Mutex<[UInt]>([])
        let observations = [
            port.observe { _ in threads.withLock { $0.append(SystemCalls.currentThread()) } },
            suite.observe(port) { threads.withLock { $0.append(SystemCalls.currentThread()) } },
        ]
        // The store has the value, as after a change by another process.
        suite.withoutPropagation { port.value = 2 }
        let change = StoreChange(key: "port", old: nil, new: 2)
        let delivery = suite.engine.record(StoreCommit(changes: [change], origin: .external))
        // Its own thread, because a task may continue on any thread.
        let noticing = Mutex<UInt?>(nil)
        let mayEnd = DispatchSemaphore(value: 0)
        async let end: Void = blocking {
            noticing.withLock { $0 = SystemCalls.currentThread() }
            delivery.perform()
            // No other thread can have the same identifier while this one exists.
            mayEnd.wait()
        }
        await eventually("both observers are called") { threads.withLock { $0.count } == 2 }
        mayEnd.signal()
        await end
        #expect(!threads.withLock { $0 }.contains { $0 == noticing.withLock { $0 } })
        withExtendedLifetime(observations) {}
    }

    @Test("Row 28: an observer receives the current value at once on request")
    func initial() {
        let observation = port.observe(initial: true) { [log] in log.add($0) }
        #expect(log.all == [SettingChange(old: 1, new: 1, origin: .local)])
        port.value = 2
        #expect(log.all.count == 2)
        withExtendedLifetime(observation) {}
    }

    @Test("an observation ends when its last reference is released")
    func lifetime() {
        do {
            let observation = port.observe { [log] in log.add($0) }
            _ = observation
        }
        port.value = 2
        #expect(log.all.isEmpty)
        #expect(suite.engine.subscriberCount == 0)
    }

    @Test("a callback may set, reset, observe and cancel without a deadlock", .deadlockLimit)
    func reentrancy() throws {
        let inner = Mutex<SettingObservation?>(nil)
        let other = Setting("other", default: 0, suite: suite)
        let observation = port.observe { [log, port] change in
            log.add(change)
            let nested = other.observe { _ in }
            inner.withLock { $0 = nested }
            other.value = change.new
            switch change.new {
            case 2...4: port.value = change.new + 1
            case 5: #expect(throws: Never.self) { try port.reset() }
            default: break
            }
        }
        port.value = 2
        #expect(log.all.map(\.new) == [2, 3, 4, 5, 1])
        observation.invalidate()
        try port.set(9)
        _ = inner.withLock { $0 }
    }

    @Test("an observer receives concurrent changes in order, one at a time, including the last")
    func order() async {
        let inside = Atomic(0)
        let setting = Setting("n", default: 0, suite: suite)
        let observation = setting.observe { [log] change in
            #expect(inside.add(1, ordering: .relaxed).newValue == 1)
            log.add(change)
            inside.subtract(1, ordering: .relaxed)
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<500 {
                        do {
                            try await setting.update { $0 += 1 }
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
            }
        }
        await eventually("the last change is received") { log.all.last?.new == 2_000 }
        for (one, next) in zip(log.all, log.all.dropFirst()) {
            #expect(one.new == next.old)
            #expect(one.new < next.new)
        }
        withExtendedLifetime(observation) {}
    }

    @Test("reporters, validators, bridges and conversions run under no lock", .deadlockLimit)
    func userCodeUnderNoLock() throws {
        struct ChangingBridge: StoredValueBridge {
            let other: Setting<Int>
            func value(from storedValue: StoredValue) throws -> Int {
                other.value += 1
                return try Int(storedValue: storedValue)
            }
            func storedValue(from value: Int) throws -> StoredValue {
                other.value += 1
                return .integer(Int128(value))
            }
        }
        let reports = Mutex<Setting<Int>?>(nil)
        let suite = SettingsSuite.inMemory(reporter: CallingReporter { _ in reports.withLock(\.self)?.value += 1 })
        reports.withLock { $0 = Setting("reports", default: 0, suite: suite) }
        let other = Setting("other", default: 0, suite: suite)
        let bridged = Setting(
            SettingKey("bridged", default: 1, as: ChangingBridge(other: other)) { _ in
                other.value += 1
                return true
            },
            suite: suite
        )
        let observation = bridged.observe { _ in other.value += 1 }
        bridged.value = 2
        #expect(bridged.value == 2)
        try suite.setStoredValue("x", forKey: "bridged")
        #expect(bridged.value == 2)
        #expect(other.value > 4)
        #expect(Setting("reports", default: 0, suite: suite).value > 0)
        observation.invalidate()
    }

    @Test("a change in delivery when the suite is finished is received")
    func lastChange() async {
        let suite = SettingsSuite.inMemory(["port": 1])
        let received = ObservedChanges(of: Setting("port", default: 0, suite: suite))
        let change = StoreChange(key: "port", old: 1, new: 2)
        let delivery = suite.engine.record(StoreCommit(changes: [change], origin: .external))
        await suite.finish()
        delivery.perform()
        await eventually("the change is received") { received.new == [2] }
    }

    @Test("a failure is reported on the thread that finds it")
    func reportingThread() {
        let threads = CallLog<UInt>()
        let reporter = CallingReporter { _ in threads.add(SystemCalls.currentThread()) }
        let suite = SettingsSuite.inMemory(["port": "x"], reporter: reporter)
        let port = Setting("port", default: 1, suite: suite, in: 1...9)
        #expect(port.value == 1)
        port.value = 10
        let thread = SystemCalls.currentThread()
        #expect(threads.all == [thread, thread])
    }
}
