// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// One file of the host that is mounted into a container.
///
/// CheckpointTests simulates the same failure on machines where mounting is not allowed.
@Suite(
    "A settings file that is mounted by itself",
    .enabled(if: Mounts.areAllowed, "requires permission to mount")
)
struct MountTests {
    @Test("all processes write it in place, edits from outside are read, and no value is lost")
    func mountedAlone() async throws {
        try await withTemporaryDirectory { directory in
            let (path, host) = ("\(directory)/app/settings.json", "\(directory)/host.json")
            try FileManager.default.createDirectory(atPath: "\(directory)/app", withIntermediateDirectories: false)
            try path.overwriteFile(with: "")
            try host.overwriteFile(with: #"{"a": 1}"#)
            let inode = try host.inode
            let launch = Mounts.launch(after: "mount --bind '\(host)' '\(path)'")
            try await withProbes(2, at: .file(path), launch) { probes in
                try await probes[0].expect("get a", prints: "1")
                try await probes[0].expect("set n 2")
                try await probes[1].expect("get n", prints: "2")
                try await probes[1].expect("checkpoint")
                #expect(try document(at: host) as? [String: Int] == ["a": 1, "n": 2])
                for probe in probes { try probe.send("increment total 300") }
                for probe in probes { try await probe.expect() }
                try await probes[0].expect("checkpoint")
                #expect(try document(at: host) as? [String: Int] == ["a": 1, "n": 2, "total": 600])
                try host.overwriteFile(with: #"{"a": 10, "n": 20}"#)
                for probe in probes { try await probe.expectSoon("a", is: 10) }
                for probe in probes { try await probe.expect("get n", prints: "20") }
                try await probes[1].expect("set n 21")
                try await probes[0].expect("get n", prints: "21")
                try await probes[0].expect("checkpoint")
                #expect(try document(at: host) as? [String: Int] == ["a": 10, "n": 21])
                for probe in probes { #expect(probe.errorsExceptEmptyFile == "") }
            }
            #expect(try host.inode == inode)
            // The file below the mount was never touched.
            #expect(try path.fileContents == "")
            #expect(try document(at: path + ".last-good") as? [String: Int] == ["a": 10, "n": 21])
        }
    }

    @Test("when it is read-only, sets go to the journal, and a checkpoint fails with the reason")
    func readOnlyFile() async throws {
        try await withTemporaryDirectory { directory in
            let (path, host) = ("\(directory)/app/settings.json", "\(directory)/host.json")
            try FileManager.default.createDirectory(atPath: "\(directory)/app", withIntermediateDirectories: false)
            try path.overwriteFile(with: "")
            let text = #"{"a": 1}"#
            try host.overwriteFile(with: text)
            let launch = Mounts.launch(after: "mount --bind '\(host)' '\(path)' && mount -o remount,ro,bind '\(path)'")
            try await withProbes(2, at: .file(path), launch) { probes in
                try await probes[0].expect("get a", prints: "1")
                try await probes[0].expect("set n 2")
                try await probes[1].expect("get n", prints: "2")
                try await probes[1].expect("checkpoint", prints: "error readOnly")
                try await probes[1].expect("get n", prints: "2")
                try await probes[1].expect("synchronize")
            }
            #expect(try host.fileContents == text)
        }
    }

    @Test("processes with their own process IDs, as in containers, share locks, reads and streams of a directory")
    func containers() async throws {
        try await withTemporaryDirectory { directory in
            let wrapper = ["/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child"]
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(2, at: place, Probe.Launch(wrapper: wrapper)) { probes in
                try await probes[0].expect("set n 1")
                for probe in probes { try probe.send("increment total 300") }
                for probe in probes { try await probe.expect() }
                try await probes[0].expect("get total", prints: "600")
                try await probes[1].watch("n", from: 1)
                try await probes[0].expect("set n 2")
                try await probes[1].expect(prints: "n is 2")
            }
        }
    }

    @Test("a directory that is mounted while a process watches the path is noticed", arguments: ["app", "app/below"])
    func mountedLater(name: String) async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: "\(directory)/app", withIntermediateDirectories: false)
            let host = "\(directory)/host/\(name == "app" ? "" : "below/")settings.json"
            try FileManager.default.createDirectory(
                atPath: String(host.dropLast("/settings.json".count)),
                withIntermediateDirectories: true
            )
            try host.overwriteFile(with: #"{"n": 2}"#)
            let place = Probe.Place.file("\(directory)/\(name)/settings.json")
            let mount =
                "while [ ! -e '\(directory)/mount' ]; do sleep 0.02; done; mount --bind '\(directory)/host' '\(directory)/app'"
            try await withProbe(at: place, Mounts.launch(after: "{ (\(mount)) </dev/null >/dev/null 2>&1 & }")) {
                probe in
                try await probe.watch("n", from: 0)
                try "\(directory)/mount".overwriteFile(with: "")
                try await probe.expect(prints: "n is 2")
            }
        }
    }
}
