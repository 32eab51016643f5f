// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("watch")
struct WatchTests {
    private static let defaults = [
        "  allowedHosts = [\"localhost\"]",
        "  lastRun = null",
        "  limits = {\"burst\":20,\"perSecond\":100}",
        "  logLevel = info",
        "  port = 8080",
        "  runs = 0",
        "  verbose = false",
    ]

    @Test("the values are shown first, followed by each change of another process")
    func watching() async throws {
        try await withTemporaryDirectory { home in
            let watch = try ExampleProgram("watch", home: home)
            defer { watch.end() }
            try await watch.waitForLines(1 + Self.defaults.count)
            let heading = "Settings of com.example.quickstart, stored in \(home)/com.example.quickstart/settings.json:"
            #expect(watch.lines.first == heading)
            #expect(watch.lines.dropFirst().sorted() == Self.defaults)

            var changes: [String] = []
            for (arguments, change) in [
                (["set", "port", "9090"], "  port: 8080 -> 9090 (external)"),
                (["set", "logLevel", "debug"], "  logLevel: info -> debug (external)"),
                (["set", "lastRun", "2026-11-21T13:00:00Z"], "  lastRun: null -> 2026-11-21T13:00:00Z (external)"),
                (["reset", "port"], "  port: 9090 -> 8080 (external)"),
            ] {
                try await output(of: "quickstart", arguments, home: home)
                changes.append(change)
                try await watch.waitForLines(1 + Self.defaults.count + changes.count)
                #expect(watch.lines.suffix(changes.count) == changes)
            }
            #expect(watch.errors.isEmpty)
        }
    }
}
