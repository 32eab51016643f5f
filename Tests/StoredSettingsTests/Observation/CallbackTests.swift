// SPDX-License-Identifier: Apache-2.0

import Observation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// What a callback may do to the settings it is called for.
private enum Action: String, CaseIterable, Sendable {
    case set, reset, update, transact, observe, observeSeveral, invalidate, tie, track, stream, changeQuietly, finish

    /// Does it; `observation` is the one that the callback is of.
    func perform(_ port: Setting<Int>, _ observation: SettingObservation?) throws {
        let suite = port.suite
        switch self {
        case .set: port.value = 10
        case .reset: port.reset()
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
        case .stream: _ = (port.changes, port.values.makeAsyncIterator())
        case .changeQuietly: try suite.withoutPropagation { try port.set(15) }
        case .finish: suite.finish()
        }
    }
}

@Suite("A callback runs under no lock", .timeLimit(.minutes(1)))
struct CallbackTests {
    /// Runs an action the first time it is called; what it is called for by that is counted only.
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

        func keep(_ observation: SettingObservation?) { self.observation.withLock { $0 = observation } }

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
            let change = StoreChange(key: "port", old: nil, new: 2)
            suite.engine.record(StoreCommit(changes: [change], origin: .external)).perform()
        }
    }

    @Test(
        "an observer may do anything",
        arguments: Action.allCases,
        [SettingChangeOrigin.local, .external]
    )
    fileprivate func observer(action: Action, origin: SettingChangeOrigin) async {
        let callback = Callback(action, port)
        callback.keep(port.observe { _ in callback.call() })
        change(origin)
        await eventually("the callback has returned") { callback.isDone }
        callback.keep(nil)
    }

    @Test(
        "an observer of several settings may do anything",
        arguments: Action.allCases,
        [SettingChangeOrigin.local, .external]
    )
    fileprivate func observerOfSeveral(action: Action, origin: SettingChangeOrigin) async {
        let callback = Callback(action, port)
        callback.keep(suite.observe(port, Setting("other", default: "", suite: suite)) { callback.call() })
        change(origin)
        await eventually("the callback has returned") { callback.isDone }
        callback.keep(nil)
    }

    @Test("one that is told the value at once may do anything", arguments: Action.allCases)
    fileprivate func initial(action: Action) {
        let callback = Callback(action, port)
        let observation = port.observe(initial: true) { _ in callback.call() }
        #expect(callback.isDone)
        _ = consume observation
    }

    @Test(
        "one that tracks its reads may do anything",
        arguments: Action.allCases,
        [SettingChangeOrigin.local, .external]
    )
    fileprivate func tracking(action: Action, origin: SettingChangeOrigin) async {
        let callback = Callback(action, port)
        withObservationTracking {
            _ = port.value
        } onChange: {
            callback.call()
        }
        change(origin)
        await eventually("the callback has returned") { callback.isDone }
    }

    @Test("observers that end each other on two threads do not wait for each other")
    func endingEachOther() async {
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

    @Test("what ends with an observation, ends under no lock")
    func endOfCapturedValues() {
        final class Meddler: Sendable {
            let port: Setting<Int>
            init(_ port: Setting<Int>) { self.port = port }
            deinit { port.value += 1 }
        }
        do {
            let meddler = Meddler(port)
            let observation = port.observe { _ in _ = meddler }
            _ = observation
        }
        #expect(port.value == 2)
        final class Owner: Sendable {
            let port: Setting<Int>
            init(_ port: Setting<Int>) { self.port = port }
            deinit { port.value += 1 }
        }
        do {
            let meddler = Meddler(port)
            port.observe { _ in _ = meddler }.tieToLifetime(of: Owner(port))
        }
        #expect(port.value >= 3)
        LifetimeTies.shared.sweep()
        #expect(port.value == 4)
    }
}
