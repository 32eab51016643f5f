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

    /// Makes a link lead elsewhere in one step.
    private func relink(_ path: String, to target: String) throws {
        try link("\(path)_tmp", to: target)
        #expect(rename("\(path)_tmp", path) == 0)
    }

    private func target(of path: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: path)
    }

    @Test("a link is written through and stays, be its target there or not", arguments: [true, false])
    func writtenThrough(isTargetThere: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let (path, real) = ("\(directory)/suite/settings.json", "\(directory)/elsewhere/real.json")
            try makeDirectories("\(directory)/suite", "\(directory)/elsewhere")
            if isTargetThere { try real.overwriteFile(with: #"{"a": 1}"#) }
            try link(path, to: "../elsewhere/real.json")
            try await withProbes(2, at: .file(path)) { probes in
                try await probes[0].expect("get a", says: isTargetThere ? "1" : "0")
                try await probes[0].expect("set n 2")
                try await probes[1].expect("get n", says: "2")
                try await probes[1].expect("checkpoint")
                try await probes[1].expect("set n 3")
                try await probes[0].expect("get n", says: "3")
                try await probes[0].expect("checkpoint")
            }
            #expect(try target(of: path) == "../elsewhere/real.json")
            #expect(try document(at: real) as? [String: Int] == (isTargetThere ? ["a": 1, "n": 3] : ["n": 3]))
            // What lies beside the file lies beside the one it leads to, so that all who name either share it.
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory)/suite") == ["settings.json"])
            #expect(JournalFile(of: real).isThere)
        }
    }

    @Test("a link to a file in a directory that is not there is written through when that is made by a set")
    func targetOfMissingDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            try link(path, to: "gone/real.json")
            try await withProbe(at: .file(path)) { probe in
                try await probe.expect("get n", says: "0")
                try await probe.expect("set n 1")
                try await probe.expect("checkpoint")
            }
            #expect(try target(of: path) == "gone/real.json")
            #expect(try document(at: "\(directory)/gone/real.json")["n"] as? Int == 1)
            #expect(try "\(directory)/gone".filePermissions == 0o700)
        }
    }

    @Test("links in a circle are an error, and cost nobody its life")
    func circle() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            try link(path, to: "other.json")
            try link("\(directory)/other.json", to: "settings.json")
            try await withProbe(at: .file(path)) { probe in
                try await probe.expect("get n", says: "0")
                try probe.send("set n 1")
                #expect(try await probe.line().hasPrefix("error "))
                try await probe.expect("get n", says: "0")
                try await probe.finish()
            }
        }
    }

    @Test("a file that becomes a link under running processes is the link's target for all, with what was not checkpointed")
    func becomesLink() async throws {
        try await withTemporaryDirectory { directory in
            let (path, real) = ("\(directory)/suite/settings.json", "\(directory)/elsewhere/real.json")
            try makeDirectories("\(directory)/suite", "\(directory)/elsewhere")
            try real.overwriteFile(with: #"{"a": 10, "b": 20}"#)
            try await withProbes(2, at: .file(path)) { probes in
                try await probes[0].expect("set a 1")
                try await probes[0].expect("checkpoint")
                try await withoutCheckpoints(of: path) {
                    try await probes[0].expect("set b 2")
                    try await probes[1].expect("get b", says: "2")
                    try relink(path, to: "../elsewhere/real.json")
                    for probe in probes { try await probe.expectSoon("a", is: 10) }
                    for probe in probes { try await probe.expect("get b", says: "2") }
                }
                try await probes[1].expect("set c 3")
                try await withProbe(at: .file(path)) { try await $0.expect("get b", says: "2") }
                try await probes[0].expectSoon("c", is: 3)
                try await probes[0].expect("set c 4")
                try await probes[1].expect("get c", says: "4")
                try await probes[1].expect("checkpoint")
                #expect(try document(at: real) as? [String: Int] == ["a": 10, "b": 2, "c": 4])
                #expect(try target(of: path) == "../elsewhere/real.json")
            }
        }
    }

    /// As Kubernetes lays out a volume: `settings.json` leads to `..data/settings.json`, `..data` to a directory of the
    /// moment, and an update swaps `..data`.
    @Test("settings that are swapped as Kubernetes does are read by all, by stream and without, again and again")
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
                try await reader.expect("get n", says: "1")
                try await watcher.watch("n", from: 1)
                try await writer.expect("get n", says: "1")
                for version in 2...5 {
                    try write(version)
                    try relink("\(directory)/..data", to: "..2026_\(version)")
                    try FileManager.default.removeItem(atPath: "\(directory)/..2026_\(version - 1)")
                    try await watcher.expect(says: "n is \(version)")
                    try await reader.expectSoon("n", is: version)
                    try await writer.expectSoon("n", is: version)
                    // Where the volume can be written, sets go to the directory of the moment.
                    try await writer.expect("set m \(version)")
                    try await reader.expectSoon("m", is: version)
                    try await writer.expect("checkpoint")
                    let stored = try document(at: "\(directory)/..2026_\(version)/settings.json")
                    #expect(stored as? [String: Int] == ["n": version, "m": version])
                }
                #expect(try target(of: path) == "..data/settings.json")
                for probe in probes { #expect(probe.complaints == "") }
            }
        }
    }
}
