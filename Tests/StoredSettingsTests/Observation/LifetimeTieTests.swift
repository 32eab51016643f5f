// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// An object that others may be tied to, and that counts what it is told.
private final class Owner: Sendable {
    let calls = Atomic(0)

    var count: Int { calls.load(ordering: .relaxed) }

    func call() { calls.add(1, ordering: .relaxed) }
}

// One at a time: all look through one table of ties, and who looks holds what is in it for a moment.
@Suite("An observation that is tied to an object", .serialized)
struct LifetimeTieTests {
    private let suite = SettingsSuite.inMemory()
    private let port: Setting<Int>

    init() {
        port = Setting("port", default: 1, suite: suite)
    }

    @Test("lives as long as the object, and nobody else need keep it")
    func living() {
        let (owner, told) = (Owner(), Owner())
        weak var observation: SettingObservation?
        do {
            observation = port.observe { _ in told.call() }.tieToLifetime(of: owner)
        }
        port.value = 2
        port.value = 3
        #expect(told.count == 2)
        #expect(observation != nil)
        withExtendedLifetime(owner) {}
    }

    @Test("is told of nothing once the object is gone, and is let go of with the next change")
    func ending() {
        let told = Owner()
        weak var captured: Owner?
        weak var observation: SettingObservation?
        var owner: Owner? = Owner()
        do {
            let used = Owner()
            captured = used
            observation =
                port.observe { _ in
                    used.call()
                    told.call()
                }
                .tieToLifetime(of: owner!)
        }
        port.value = 2
        #expect(told.count == 1)
        owner = nil
        #expect(captured != nil, "nobody has looked yet")
        port.value = 3
        #expect(told.count == 1)
        #expect(captured == nil)
        #expect(observation == nil)
        #expect(suite.engine.subscriberCount == 0)
    }

    @Test("does not keep the object, nor does it end while the closure runs")
    func notKept() {
        weak var object: Owner?
        let wasThere = Mutex<Bool?>(nil)
        do {
            let owner = Owner()
            object = owner
            let holder = Mutex<Owner?>(owner)
            let seen = Weak(owner)
            port.observe { _ in
                holder.withLock { $0 = nil }
                let isThere = seen.object != nil
                wasThere.withLock { $0 = isThere }
            }
            .tieToLifetime(of: owner)
        }
        #expect(object != nil)
        port.value = 2
        #expect(wasThere.withLock { $0 } == true)
        #expect(object == nil)
    }

    @Test("lives as long as references to it when the tie is removed, or when it has another")
    func removing() {
        let told = Owner()
        var owner: Owner? = Owner()
        let observation = port.observe { _ in told.call() }.tieToLifetime(of: owner!)
        observation.removeLifetimeTie()
        owner = nil
        port.value = 2
        #expect(told.count == 1)

        let (first, second) = (Owner(), Owner())
        do {
            var first: Owner? = first
            observation.tieToLifetime(of: first!)
            observation.tieToLifetime(of: second)
            first = nil
        }
        port.value = 3
        #expect(told.count == 2)
        observation.removeLifetimeTie()
        observation.removeLifetimeTie()
        _ = (consume observation, first)
        port.value = 4
        #expect(told.count == 2)
        #expect(suite.engine.subscriberCount == 0)
    }

    @Test("ends when the tie is removed after the end of the object")
    func removingLate() {
        let told = Owner()
        var owner: Owner? = Owner()
        let observation = port.observe { _ in told.call() }.tieToLifetime(of: owner!)
        owner = nil
        observation.removeLifetimeTie()
        #expect(suite.engine.subscriberCount == 0)
        port.value = 2
        #expect(told.count == 0)
    }

    @Test("may be invalidated while the object lives, and is not kept then, nor when it is tied afterwards")
    func invalidating() {
        let (owner, told) = (Owner(), Owner())
        weak var observation: SettingObservation?
        do {
            let kept = port.observe { _ in told.call() }.tieToLifetime(of: owner)
            observation = kept
            kept.invalidate()
            kept.tieToLifetime(of: owner)
        }
        port.value = 2
        #expect(told.count == 0)
        #expect(observation == nil)
        #expect(suite.engine.subscriberCount == 0)
        withExtendedLifetime(owner) {}
    }

    @Test("is let go of, too, when many others are tied, without a change")
    func bounded() {
        let ties = LifetimeTies()
        weak var captured: Owner?
        do {
            let used = Owner()
            captured = used
            ties.add(port.observe { _ in used.call() }, LifetimeTie(Owner()))
        }
        let living = Owner()
        for _ in 0..<LifetimeTies.leastLimit {
            ties.add(port.observe { _ in }, LifetimeTie(living))
        }
        #expect(captured == nil)
        #expect(ties.count == LifetimeTies.leastLimit)
        #expect(suite.engine.subscriberCount == ties.count)
        withExtendedLifetime(living) {}
    }

    @Test("keeps its suite, and lets go of it with the object")
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
        // A thread that looks through the open engines may hold it for a moment.
        await eventually("the engine is gone") { engine == nil }
    }

    @Test("may be tied, untied and ended on many threads at once", .timeLimit(.minutes(1)))
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
        LifetimeTies.shared.sweep()
        #expect(suite.engine.subscriberCount == 0)
    }
}

/// Unchecked: the variable is set once, and is a variable only since it is weak.
private final class Weak: @unchecked Sendable {
    private(set) weak var object: Owner?

    init(_ object: Owner) { self.object = object }
}
