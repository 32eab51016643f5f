// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsEtcd
import TestSupport
import Testing

@Suite("Base64")
struct Base64Tests {
    @Test("Bytes of any length are encoded as by Foundation, and decoded again")
    func roundTrip() {
        var generator = SeededGenerator(seed: 1)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let text = Base64.encode(bytes)
            #expect(text == Data(bytes).base64EncodedString())
            #expect(Base64.decode(text) == bytes)
        }
    }

    @Test(
        "A text that is not exactly an encoding is refused",
        arguments: [
            "A", "AA", "AAA", "AA=A", "A===", "====", "AA==AA==", "AA=", "AAA?", "AA A", "AAAA\n", "AAA\u{e9}", "AB==",
            "AAB=",
            "AA-_", "AAAA=", "=AAA",
        ]
    )
    func invalid(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
