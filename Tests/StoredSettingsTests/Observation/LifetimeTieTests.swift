// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// An object that observations are tied to, or that counts calls.
private final class Owner: Sendable {
    let calls = Atomic(0)

    var count: Int { calls.load(ordering: .relaxed) }

    func call() { calls.add(1, ordering: .relaxed) }
}

// Serialized: all tests use one table of ties, and iterating over it holds its objects briefly. Tests of other suites
// iterate over it as well, so these tests wait for each release.
@Suite("Observations tied to an object", .serialized)
struct LifetimeTieTests {
    private let suite = SettingsSuite.inMemory()
    private let port: Setting<Int>

    init() {
        port = Setting("port", default: 1, suite: suite)
    }

    @Test("Row 29: a tied observation is not called after its object is released, and is released with the next change")
    func release() async {
        let counter = Owner()
        weak var captured: Owner?
        weak var observation: SettingObservation?
        var owner: Owner? = Owner()
        do {
            let capturedOwner = Owner()
            captured = capturedOwner
            observation =
                port.observe { _ in
                    capturedOwner.call()
                    counter.call()
                }
                .tieToLifetime(of: owner!)
        }
        port.value = 2
        #expect(counter.count == 1)
        weak var weakOwner: Owner?
        weakOwner = owner
        owner = nil
        await eventually("the object is released") { weakOwner == nil }
        port.value = 3
        #expect(counter.count == 1)
        await eventually("the observation is released") {
            captured == nil && observation == nil && suite.engine.subscriberCount == 0
        }
    }

    @Test("a tie does not retain the object, and the object is not released while the callback runs")
    func objectNotRetained() async {
        weak var object: Owner?
        let wasAlive = Mutex<Bool?>(nil)
        do {
            let owner = Owner()
            object = owner
            let lastReference = Mutex<Owner?>(owner)
            let weakReference = Weak(owner)
            port.observe { _ in
                lastReference.withLock { $0 = nil }
                let isAlive = weakReference.object != nil
                wasAlive.withLock { $0 = isAlive }
            }
            .tieToLifetime(of: owner)
        }
        #expect(object != nil)
        port.value = 2
        #expect(wasAlive.withLock { $0 } == true)
        await eventually("the object is released") { object == nil }
    }

    @Test("Row 29: a tied observation lives on with its references when the tie is removed, or with another tie")
    func removing() async {
        let counter = Owner()
        var owner: Owner? = Owner()
        let observation = port.observe { _ in counter.call() }.tieToLifetime(of: owner!)
        observation.removeLifetimeTie()
        owner = nil
        port.value = 2
        #expect(counter.count == 1)

        let (first, second) = (Owner(), Owner())
        do {
            var first: Owner? = first
            observation.tieToLifetime(of: first!)
            observation.tieToLifetime(of: second)
            first = nil
        }
        port.value = 3
        #expect(counter.count == 2)
        observation.removeLifetimeTie()
        observation.removeLifetimeTie()
        _ = (consume observation, first)
        await eventually("the observation is released") { suite.engine.subscriberCount == 0 }
        port.value = 4
        #expect(counter.count == 2)
    }

    @Test("an observation ends when its tie is removed after the object is released")
    func removingAfterRelease() async {
        let counter = Owner()
        var owner: Owner? = Owner()
        let observation = port.observe { _ in counter.call() }.tieToLifetime(of: owner!)
        weak var weakOwner: Owner?
        weakOwner = owner
        owner = nil
        await eventually("the object is released") { weakOwner == nil }
        observation.removeLifetimeTie()
        await eventually("the observation has ended") { suite.engine.subscriberCount == 0 }
        port.value = 2
        #expect(counter.count == 0)
    }

    @Test("a tied observation that is invalidated is not retained, even if it is tied again")
    func invalidating() async {
        let (owner, counter) = (Owner(), Owner())
        weak var observation: SettingObservation?
        do {
            let strongReference = port.observe { _ in counter.call() }.tieToLifetime(of: owner)
            observation = strongReference
            strongReference.invalidate()
            strongReference.tieToLifetime(of: owner)
        }
        port.value = 2
        #expect(counter.count == 0)
        await eventually("the observation is released") { observation == nil }
        #expect(suite.engine.subscriberCount == 0)
        withExtendedLifetime(owner) {}
    }

    @Test("a tied observation retains its suite until its object is released")
    func suites() async {
        weak var engine: SettingsEngine?
        var owner: Owner? = Owner()
        do {
            let suite = SettingsSuite.inMemory()
            engine = suite.engine
            Setting("port", default: 1, suite: suite).observe { _ in }.tieToLifetime(of: owner!)
        }
        #expect(engine != nil)
        owner = nil
        LifetimeTies.shared.sweep()
        // A thread that iterates over the open engines may hold it briefly.
        await eventually("the engine is released") { engine == nil }
    }

    @Test("observations can be tied, untied and invalidated concurrently", .deadlockLimit)
    func threads() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [port] in
                    for number in 0..<200 {
                        let owner = Owner()
                        let observation = port.observe { _ in }.tieToLifetime(of: owner)
                        port.value = number
                        if number.isMultiple(of: 2) { observation.removeLifetimeTie() }
                        if number.isMultiple(of: 3) { observation.invalidate() }
                    }
                }
            }
        }
        await eventually("all observations have ended") {
            LifetimeTies.shared.sweep()
            return suite.engine.subscriberCount == 0
        }
    }
}

/// Unchecked, because the property is only set in the initializer and is a variable only because it is weak.
private final class Weak: @unchecked Sendable {
    private(set) weak var object: Owner?

    init(_ object: Owner) { self.object = object }
}
