// SPDX-License-Identifier: Apache-2.0

import Foundation
import RoundTripCases
import StoredSettings
import TestSupport
import Testing

@Suite("Exact round trips between processes")
struct RoundTripTests {
    @Test("values of every type that one process stores are read and stored again by another without any difference")
    func thereAndBack() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let suite = SettingsSuite(fileAt: place.path)
            for testCase in RoundTripCases.all { try testCase.store(in: suite, prefix: "there") }
            #expect(RoundTripCases.all.compactMap { $0.failure(in: suite, prefix: "there") } == [])
            try await withProbe(at: place) { probe in
                try await probe.expect("cross there back")
                #expect(probe.errors.isEmpty)
            }
            #expect(RoundTripCases.all.compactMap { $0.failure(in: suite, prefix: "back") } == [])
            // A process that has only a copy of the file.
            try await suite.checkpoint()
            let copy = Probe.Place.file("\(directory)/copy/settings.json")
            try FileManager.default.createDirectory(atPath: "\(directory)/copy", withIntermediateDirectories: false)
            try FileManager.default.copyItem(atPath: place.path, toPath: copy.path)
            try await withProbe(at: copy) { probe in
                try await probe.expect("cross back again")
            }
        }
    }
}
