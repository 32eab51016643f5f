// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TestSupport
import Testing

@testable import StoredSettings

extension LifetimeTieTests {
    /// An object that sets a flag when it is released.
    private final class FlaggedObject: Sendable {
        private let isReleased: Flag

        init(_ isReleased: Flag) { self.isReleased = isReleased }
        deinit { isReleased.set() }
    }

    @Test("an observation is never called after its object is released, on any thread")
    func noCallAfterRelease() async {
        for round in 1...60 {
            let suite = SettingsSuite.inMemory()
            let settings = (0..<4).map { Setting("key\($0)", default: 0, suite: suite) }
            let (isReleased, isLate) = (Flag(), Flag())
            do {
                let object = FlaggedObject(isReleased)
                for number in 0..<60 {
                    settings[number % 4].observe { _ in if isReleased.isSet { isLate.set() } }.tieToLifetime(of: object)
                }
            }
            // A thread that iterates over the ties may hold the object briefly.
            await eventually("the object is released") { isReleased.isSet }
            DispatchQueue.concurrentPerform(iterations: 4) { settings[$0].value = round }
            #expect(!isLate.isSet)
        }
    }
}
