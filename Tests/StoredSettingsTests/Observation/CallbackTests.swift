// SPDX-License-Identifier: Apache-2.0

import Observation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// An action that a callback may perform on the settings.
private enum Action: String, CaseIterable, Sendable {
    case set, reset, update, transact, observe, observeSeveral, invalidate, tie, track, stream, changeQuietly, finish

    /// Performs the action in a callback of the observation.
    func perform(_ port: Setting<Int>, _ observation: SettingObservation?) throws {
        let suite = port.suite
        switch self {
        case .set: port.value = 10
        case .reset: try port.reset()
        case .update: try port.update { $0 = 11 }
        case .transact: try suite.transaction { $0[port] = 12 }
        case .observe:
            let inner = port.observe(initial: true) { _ in port.value = 13 }
            inner.invalidate()
        case .observeSeveral: _ = suite.observe(port, initial: true) { port.value = 14 }
        case .invalidate: observation?.invalidate()
        case .tie:
            observation?.tieToLifetime(of: suite.engine)
            observation?.removeLifetimeTie()
        case .track:
            withObservationTracking {
                _ = port.value
            } onChange: {
            }
        case .stream: _ = (port.changes(), port.values.makeAsyncIterator())
        case .changeQuietly: try suite.withoutPropagation { try port.set(15) }
        case .finish: suite.finish()
        }
    }
}

@Suite("Callbacks run under no lock", .deadlockLimit)
struct CallbackTests {
    /// Performs an action in its first call, and only counts the calls that the action causes.
    private final class Callback: Sendable {
        private let action: Action
        private let port: Setting<Int>
        private let calls = Atomic(0)
        private let hasEnded = Atomic(false)
        private let observation = Mutex<SettingObservation?>(nil)

        init(_ action: Action, _ port: Setting<Int>) {
            self.action = action
            self.port = port
        }

        func setObservation(_ observation: SettingObservation?) { self.observation.withLock { $0 = observation } }

        func call() {
            guard calls.add(1, ordering: .relaxed).newValue == 1 else { return }
            do {
                try action.perform(port, observation.withLock { $0 })
            } catch {
                Issue.record(error)
            }
            hasEnded.store(true, ordering: .releasing)
        }

        var isDone: Bool { hasEnded.load(ordering: .acquiring) }
    }

    private let suite = SettingsSuite.inMemory().observable()
    private let port: Setting<Int>

    init() {
        port = Setting("port", default: 1, suite: suite)
    }

    private func change(_ origin: SettingChangeOrigin) {
        switch origin {
        case .local:
            port.value = 2
        case .external:
            // The store has the value, as after a change by another process.
            suite.withoutPropagation { port.value = 2 }
            let change = StoreChange(key: "port", old: nil, new: 2)
            suite.engine.record(StoreCommit(changes: [change], origin: .external)).perform()
        }
    }

    /// What calls a callback.
    fileprivate enum Kind: CaseIterable, Sendable {
        case observer, observerOfSeveral, trackedRead
    }

    private static let causes = Kind.allCases.flatMap { kind in
        [SettingChangeOrigin.local, .external].map { (kind, $0) }
    }

    @Test(
        "an observer of one setting or several, and a change handler of tracked reads, may do anything",
        arguments: Action.allCases,
        causes
    )
    fileprivate func callback(action: Action, cause: (kind: Kind, origin: SettingChangeOrigin)) async {
        let callback = Callback(action, port)
        switch cause.kind {
        case .observer:
            callback.setObservation(port.observe { _ in callback.call() })
        case .observerOfSeveral:
            let other = Setting("other", default: "", suite: suite)
            callback.setObservation(suite.observe(port, other) { callback.call() })
        case .trackedRead:
            withObservationTracking {
                _ = port.value
            } onChange: {
                callback.call()
            }
        }
        change(cause.origin)
        await eventually("the callback has returned") { callback.isDone }
        callback.setObservation(nil)
    }

    @Test("an observer that receives the initial value may do anything", arguments: Action.allCases)
    fileprivate func initial(action: Action) {
        let callback = Callback(action, port)
        let observation = port.observe(initial: true) { _ in callback.call() }
        #expect(callback.isDone)
        _ = consume observation
    }

    @Test("observers that invalidate each other on two threads do not deadlock")
    func invalidatingEachOther() async {
        let observations = Mutex<[SettingObservation]>([])
        let others = [port, Setting("other", default: 1, suite: suite)]
        for setting in others {
            let observation = setting.observe { _ in
                let all = observations.withLock { $0 }
                for observation in all { observation.invalidate() }
            }
            observations.withLock { $0.append(observation) }
        }
        await withTaskGroup(of: Void.self) { group in
            for setting in others {
                group.addTask {
                    for number in 0..<100 { setting.value = number }
                }
            }
        }
        #expect(suite.engine.subscriberCount == 0)
    }

    @Test("values captured by an observation are released under no lock")
    func releaseOfCapturedValues() async {
        final class ChangingOnRelease: Sendable {
            let port: Setting<Int>
            init(_ port: Setting<Int>) { self.port = port }
            deinit { port.value += 1 }
        }
        do {
            let captured = ChangingOnRelease(port)
            let observation = port.observe { _ in _ = captured }
            _ = observation
        }
        #expect(port.value == 2)
        final class Owner: Sendable {
            let port: Setting<Int>
            init(_ port: Setting<Int>) { self.port = port }
            deinit { port.value += 1 }
        }
        do {
            let captured = ChangingOnRelease(port)
            port.observe { _ in _ = captured }.tieToLifetime(of: Owner(port))
        }
        // Another thread that iterates over the ties may hold both briefly.
        await eventually("the owner is released") { port.value >= 3 }
        await eventually("the captured value is released") {
            LifetimeTies.shared.sweep()
            return port.value == 4
        }
    }

    @Test("reports in a transaction are made when its locks are released")
    func reportsInTransaction() throws {
        let store = InMemoryStore(["port": "x"])
        let (other, reports) = (Setting("other", default: 0, suite: SettingsSuite(store: store)), Counter())
        let reporter = CallingReporter { _ in
            reports.add()
            // In the transaction, it would fail.
            #expect(throws: Never.self) { try other.set(reports.count) }
        }
        let port = Setting("port", default: 1, suite: SettingsSuite(store: store, reporter: reporter), in: 1...9)
        try port.suite.transaction { _ in
            #expect(port.value == 1)
            port.value = 70
            #expect(reports.count == 0)
        }
        #expect(reports.count == 2)
        #expect(other.value == 2)
    }
}
