// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

/// The probe's default is 0.
@Suite("Promise 6: a default is never written, and never wins")
struct DefaultsTests {
    @Test("reading, synchronizing, checkpointing and exiting store no default and create no file")
    func reading() async throws {
        try await withTemporaryDirectory { home in
            try await withProbe(at: .suite("read", home: home)) { probe in
                try await probe.expect("get n", prints: "0")
                try await probe.expect("synchronize")
                try await probe.expect("checkpoint")
                try await probe.expect("finish")
                try await probe.finish()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: home) == [])
        }
    }

    @Test("a stored value overrides the defaults of all processes until it is removed")
    func stored() async throws {
        try await withPlace { place in
            let suite = SettingsSuite(fileAt: place.path)
            let here = Setting("n", default: 7, suite: suite)
            try await withProbe(at: place) { probe in
                try await probe.expect("set n 5")
                #expect(here.value == 5)
                try await probe.expect("remove n")
                #expect(here.value == 7)
                try await probe.expect("get n", prints: "0")
                #expect(try here.load() == nil)
                try await suite.checkpoint()
                #expect(try document(at: place.path).isEmpty)
            }
        }
    }
}
