// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("A process that exits inside a transaction")
struct ExitTests {
    @Test("exits at once, stores nothing of the transaction, loses no earlier set, and leaves no lock")
    func inside() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(2, at: place) { probes in
                try await probes[0].expect("set n 7")
                try probes[0].send("exitInside n 8")
                try await probes[0].finish()
                #expect(probes[0].errors == "")
                try await probes[1].expect("get n", prints: "7")
                try await probes[1].expect("increment n 1")
                try await probes[1].expect("checkpoint")
                try await probes[1].finish()
            }
            #expect(try document(at: place.path) as? [String: Int] == ["n": 8])
        }
    }
}
