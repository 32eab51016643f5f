// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A long journal")
struct LongJournalTests {
    @Test(
        "a record that is longer than what is read at once is read whole",
        arguments: [70_000, 1 << 20, 3 << 20].sampled(1)
    )
    func longRecord(length: Int) async throws {
        try await withSettingsPath { path in
            let store = makeStore(path)
            let reader = makeStore(path)
            try store.commit { $0["before"] = 1 }
            #expect(reader.contents() == ["before": 1])
            let long = StoredValue.string(String(repeating: "x", count: length))
            try store.commit { $0["long"] = long }
            // The long record is the last one at first.
            var contents: [String: StoredValue] = ["before": 1, "long": long]
            for value in [nil, 2] as [StoredValue?] {
                if let value { try store.commit { $0["after"] = value } }
                contents["after"] = value
                // One that has followed the journal, and one that begins to read it.
                #expect(reader.contents() == contents)
                #expect(makeStore(path).contents() == contents)
            }
        }
    }
}
