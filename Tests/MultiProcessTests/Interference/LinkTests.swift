// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("Links in the settings file's place")
struct LinkTests {
    private func makeDirectories(_ paths: String...) throws {
        for path in paths { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    }

    private func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    /// Changes the target of a link atomically.
    private func relink(_ path: String, to target: String) throws {
        try link("\(path)_tmp", to: target)
        #expect(rename("\(path)_tmp", path) == 0)
    }

    private func target(of path: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: path)
    }

    enum Target: CaseIterable {
        case file, nothing, missingDirectory
    }

    @Test("a link is written through and stays, whether or not its target exists", arguments: Target.allCases)
    func writtenThrough(to kind: Target) async throws {
        try await withTemporaryDirectory { directory in
            let (path, real) = ("\(directory)/suite/settings.json", "\(directory)/elsewhere/real.json")
            let isTargetThere = kind == .file
            try makeDirectories("\(directory)/suite")
            if kind != .missingDirectory { try makeDirectories("\(directory)/elsewhere") }
            if isTargetThere { try real.overwriteFile(with: #"{"a": 1}"#) }
            try link(path, to: "../elsewhere/real.json")
            try await withProbes(2, at: .file(path)) { probes in
                try await probes[0].expect("get a", prints: isTargetThere ? "1" : "0")
                try await probes[0].expect("set n 2")
                try await probes[1].expect("get n", prints: "2")
                try await probes[1].expect("checkpoint")
                try await probes[1].expect("set n 3")
                try await probes[0].expect("get n", prints: "3")
                try await probes[0].expect("checkpoint")
            }
            #expect(try target(of: path) == "../elsewhere/real.json")
            #expect(try document(at: real) as? [String: Int] == (isTargetThere ? ["a": 1, "n": 3] : ["n": 3]))
            // The journal lies beside the target, so that processes that use either path share it.
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory)/suite") == ["settings.json"])
            #expect(JournalFile(of: real).isThere)
            if kind == .missingDirectory { #expect(try "\(directory)/elsewhere".filePermissions == 0o700) }
        }
    }

    @Test("a cycle of links is an error and ends no process")
    func circle() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            try link(path, to: "other.json")
            try link("\(directory)/other.json", to: "settings.json")
            try await withProbe(at: .file(path)) { probe in
                try await probe.expect("get n", prints: "0")
                try probe.send("set n 1")
                #expect(try await probe.line().hasPrefix("error "))
                try await probe.expect("get n", prints: "0")
                try await probe.finish()
            }
        }
    }

    /// Lays out the settings as in a Kubernetes volume.
    ///
    /// `settings.json` links to `..data/settings.json`, and `..data` links to the
    /// current directory. An update swaps `..data`.
    @Test("settings that are swapped as in Kubernetes are read by all processes, with and without a stream, repeatedly")
    func kubernetes() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            func write(_ version: Int) throws {
                try makeDirectories("\(directory)/..2026_\(version)")
                try "\(directory)/..2026_\(version)/settings.json".overwriteFile(with: #"{"n": \#(version)}"#)
            }
            try write(1)
            try link("\(directory)/..data", to: "..2026_1")
            try link(path, to: "..data/settings.json")
            try await withProbes(3, at: .file(path)) { probes in
                let (reader, watcher, writer) = (probes[0], probes[1], probes[2])
                try await reader.expect("get n", prints: "1")
                try await watcher.watch("n", from: 1)
                try await writer.expect("get n", prints: "1")
                for version in 2...5 {
                    try write(version)
                    try relink("\(directory)/..data", to: "..2026_\(version)")
                    try FileManager.default.removeItem(atPath: "\(directory)/..2026_\(version - 1)")
                    try await watcher.expect(prints: "n is \(version)")
                    try await reader.expectSoon("n", is: version)
                    try await writer.expectSoon("n", is: version)
                    // Where the volume is writable, sets go to the current directory.
                    try await writer.expect("set m \(version)")
                    try await reader.expectSoon("m", is: version)
                    try await writer.expect("checkpoint")
                    let stored = try document(at: "\(directory)/..2026_\(version)/settings.json")
                    #expect(stored as? [String: Int] == ["n": version, "m": version])
                }
                #expect(try target(of: path) == "..data/settings.json")
                for probe in probes { #expect(probe.errors == "") }
            }
        }
    }
}
