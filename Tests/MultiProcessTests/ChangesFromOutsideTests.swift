// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Changes by other processes and editors")
struct ChangesFromOutsideTests {
    @Test("a watching process receives sets of other processes, edits in place and replaced files, in order")
    func streams() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/suite/settings.json")
            try await withProbes(2, at: place) { probes in
                let (watcher, writer) = (probes[0], probes[1])
                try await watcher.watch("n", from: 0)

                func change(to value: Int, by change: () async throws -> Void) async throws {
                    // A journaled value takes precedence over an edit of the file.
                    try await writer.expect("checkpoint")
                    try await change()
                    try await watcher.expect(prints: "n is \(value)")
                }
                try await change(to: 1) { try await writer.expect("set n 1") }
                try await change(to: 2) { try place.path.overwriteFile(with: #"{"n": 2}"#) }
                try await change(to: 3) { try place.path.replaceFile(with: #"{"n": 3}"#) }
                try await change(to: 4) { try await writer.expect("set n 4") }
                try await change(to: 0) {
                    // With the journal or the copy, the file would count as removed by accident.
                    for suffix in [".journal", ".last-good", ""] {
                        try FileManager.default.removeItem(atPath: place.path + suffix)
                    }
                }
                try await change(to: 5) { try place.path.replaceFile(with: #"{"n": 5, "other": 1}"#) }
                try await change(to: 6) { try await writer.expect("set n 6") }
                #expect(watcher.errorsExceptEmptyFile == "")
            }
        }
    }
}
