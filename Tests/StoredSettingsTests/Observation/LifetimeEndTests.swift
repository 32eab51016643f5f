// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

extension LifetimeTieTests {
    /// Shared by those who look.
    private final class Flag: Sendable {
        private let value = Atomic(false)

        var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }

        func set() { value.store(true, ordering: .sequentiallyConsistent) }
    }

    /// Notes its end.
    private final class Mortal: Sendable {
        private let isDead: Flag

        init(_ isDead: Flag) { self.isDead = isDead }
        deinit { isDead.set() }
    }

    @Test("is called no more once the object is gone, whoever finds it out, and on how many threads")
    func neverAfter() async {
        for round in 1...60 {
            let suite = SettingsSuite.inMemory()
            let settings = (0..<4).map { Setting("key\($0)", default: 0, suite: suite) }
            let (isDead, isLate) = (Flag(), Flag())
            do {
                let object = Mortal(isDead)
                for number in 0..<60 {
                    settings[number % 4].observe { _ in if isDead.isSet { isLate.set() } }.tieToLifetime(of: object)
                }
            }
            // A thread that looks through the ties may hold the object for a moment.
            await eventually("the object is gone") { isDead.isSet }
            DispatchQueue.concurrentPerform(iterations: 4) { settings[$0].value = round }
            #expect(!isLate.isSet)
        }
    }

    @Test("is not kept when the suite has ended before it is tied")
    func finished() async {
        let suite = SettingsSuite.inMemory()
        let object = Mortal(Flag())
        weak var observation: SettingObservation?
        suite.finish()
        do {
            observation = Setting("key", default: 0, suite: suite).observe { _ in }.tieToLifetime(of: object)
        }
        // A thread that looks through the ties may hold it for a moment.
        await eventually("the observation is gone") { observation == nil }
        withExtendedLifetime(object) {}
    }
}
