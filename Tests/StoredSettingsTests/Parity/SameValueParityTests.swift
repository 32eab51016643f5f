// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

@Suite("Parity: equal values", .deadlockLimit)
struct SameValueParityTests {
    @Test("Row 13: an equal value writes nothing and notifies no observer")
    func equalValues() async throws {
        try await withFileSuite { suite, path in
            let hosts = Setting<Set<String>>("hosts", default: [], suite: suite)
            let limits = Setting("limits", default: ["a": 1.5], suite: suite)
            try await hosts.set(["a", "b", "c"])
            try await limits.set(["a": 2, "b": .nan])
            try await suite.checkpoint()

            let counter = Counter()
            let observations = [hosts.observe { _ in counter.add() }, limits.observe { _ in counter.add() }]
            var changes = suite.changes().makeAsyncIterator()
            let (file, journal) = (try path.fileContents, try JournalFile(of: path).records)

            hosts.value = ["c", "b", "a"]
            try await hosts.set(["b", "a", "c"])
            try await hosts.update { $0.insert("a") }
            limits.value = ["b": .nan, "a": 2]
            try await suite.transaction { settings in
                settings[hosts] = []
                settings[hosts] = ["a", "b", "c"]
            }
            try await suite.setStoredValue(["a", "b", "c"], forKey: "hosts")
            try await suite.setStoredValue(nil, forKey: "nothing")
            try await suite.checkpoint()

            #expect(try path.fileContents == file)
            #expect(try JournalFile(of: path).records == journal)
            #expect(counter.count == 0)
            // The first change in the stream is the first real change.
            try await hosts.set(["a"])
            #expect(await changes.next()?.keys == ["hosts"])
            #expect(counter.count == 1)
            for observation in observations { observation.invalidate() }
        }
    }
}
