// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StoredSettings

@Suite("The contents of a store")
struct StoreContentsTests {
    @Test(
        "contents equal those of a dictionary, and a snapshot does not change",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func random(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var (contents, expected) = (StoreContents(), [String: StoredValue]())
        var (snapshot, expectedSnapshot) = (expected, expected)
        for step in 0..<300 {
            let key = "\(Int.random(in: 0..<8, using: &generator))"
            let value: StoredValue? = Bool.random(using: &generator) ? .integer(Int128(step)) : nil
            switch Int.random(in: 0..<8, using: &generator) {
            case 0:
                (snapshot, expectedSnapshot) = (contents.beginSnapshot(), expected)
            case 1:
                contents.endSnapshot()
            default:
                contents[key] = value
                expected[key] = value
            }
            #expect(contents[key] == expected[key])
            #expect(contents.all == expected)
            #expect(snapshot == expectedSnapshot)
        }
    }
}
