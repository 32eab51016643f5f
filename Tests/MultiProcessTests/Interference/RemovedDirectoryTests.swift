// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("A directory that is removed while processes use it")
struct RemovedDirectoryTests {
    @Test("the defaults are used, and the next set creates the directory again for all processes")
    func checkpointed() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/above/suite/settings.json")
            try await withProbes(3, at: place) { probes in
                try await probes[0].expect("set n 1")
                try await probes[0].expect("checkpoint")
                for probe in probes { try await probe.expect("get n", prints: "1") }
                try removeDirectory(atPath: "\(directory)/above")
                for probe in probes { try await probe.expectSoon("n", is: 0) }
                try await probes[1].expect("set m 2")
                #expect(try "\(directory)/above/suite".filePermissions == 0o700)
                for probe in probes { try await probe.expectSoon("m", is: 2) }
                try await probes[2].expect("set n 3")
                for probe in probes { try await probe.expect("get n", prints: "3") }
                try await probes[0].expect("checkpoint")
                #expect(try document(at: place.path) as? [String: Int] == ["n": 3, "m": 2])
            }
        }
    }

    @Test("the processes that read a journaled value keep it")
    func journaled() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/suite/settings.json")
            try await withProbes(2, at: place) { probes in
                try FileManager.default.createDirectory(
                    atPath: "\(directory)/suite",
                    withIntermediateDirectories: false
                )
                try await withoutCheckpoints(of: place.path) {
                    try await probes[0].expect("set n 1")
                    try await probes[1].expect("get n", prints: "1")
                    try removeDirectory(atPath: "\(directory)/suite")
                }
                try await probes[0].expect("get n", prints: "1")
                try await probes[1].expect("set m 2")
                for probe in probes { try await probe.expectSoon("m", is: 2) }
                for probe in probes { try await probe.expectSoon("n", is: 1) }
                try await probes[0].expect("set n 3")
                try await probes[1].expect("get n", prints: "3")
                try await probes[0].expect("checkpoint")
                #expect(try document(at: place.path) as? [String: Int] == ["n": 3, "m": 2])
            }
        }
    }

    /// Removes a directory, also if a process creates a file in it meanwhile, so that a first try fails.
    private func removeDirectory(atPath path: String) throws {
        for number in 1... {
            do {
                return try FileManager.default.removeItem(atPath: path)
            } catch {
                guard number < 100, FileManager.default.fileExists(atPath: path) else { throw error }
            }
        }
    }
}
