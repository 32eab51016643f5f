// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite(
    "A program that changes its root directory",
    .enabled(if: geteuid() == 0, "only root can change the root directory")
)
struct ChangedRootTests {
    @Test("sets succeed in the suite that was opened, or throw, and none creates a second suite in the new root")
    func sets() async throws {
        try await withTemporaryDirectory { directory in
            let root = "\(directory)/root"
            // The same path exists in the new root, as it may for a program that has other files there.
            try FileManager.default.createDirectory(atPath: root + directory, withIntermediateDirectories: true)
            let place = Probe.Place.file("\(directory)/settings.json")
            var last = 1
            try await withProbe(at: place) { probe in
                try await probe.expect("set n 1")
                try await probe.expect("changeRoot \(root)")
                try await eventually("a set throws") {
                    try probe.send("set n \(last + 1)")
                    let answer = try await probe.line()
                    if answer == "done" { last += 1 }
                    return answer == "error writeFailed"
                }
                try await probe.expect("synchronize", prints: "error writeFailed")
                try await probe.expect("get n", prints: "\(last)")
                try await withProbe(at: place) { outside in try await outside.expect("get n", prints: "\(last)") }
                // A checkpoint must not write the values there, either.
                try probe.send("checkpoint")
                _ = try await probe.line()
                try await probe.finish()
                #expect(!probe.errors.isEmpty)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: root + directory) == [])
            try await withProbe(at: place) { outside in try await outside.expect("get n", prints: "\(last)") }
        }
    }
}
