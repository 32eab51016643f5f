// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A corrupt settings file")
struct SettingsFileCorruptionTests {
    @Test(
        "100,000 corrupt files are read or refused at a place, and what is read is written as it was",
        arguments: 0..<8
    )
    func reading(seed: UInt64) {
        var mutator = FileMutator(seed: seed)
        var readable = 0
        for round in 0..<12_500 {
            let file = mutator.next()
            do throws(JSONSyntaxError) {
                let entries = try JSONReader.readObject(file)
                readable += 1
                if !isKept(entries) { Issue.record("round \(round) is not written as it was read: \(file)") }
            } catch {
                let isPlace = error.line >= 1 && error.column >= 1 && 0...file.count ~= error.offset
                if !isPlace { Issue.record("round \(round) has an error at \(error): \(file)") }
            }
        }
        // Both outcomes are met often enough to be tested.
        #expect((625..<11_875).contains(readable))
    }

    private func isKept(_ entries: [String: StoredValue]) -> Bool {
        do {
            return try JSONReader.readObject(JSONWriter.text(of: entries)) == entries
        } catch {
            return false
        }
    }
}
