// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// As containers are given one file of the host.
///
/// CheckpointTests has the same as a fault, for where nothing can be mounted.
@Suite("A settings file that is mounted alone", .enabled(if: Mounts.areAllowed, "only who may mount can see this"))
struct MountTests {
    @Test("it is written in place by all who have it mounted, edited from outside, and never lost")
    func mountedAlone() async throws {
        try await withTemporaryDirectory { directory in
            let (path, host) = ("\(directory)/app/settings.json", "\(directory)/host.json")
            try FileManager.default.createDirectory(atPath: "\(directory)/app", withIntermediateDirectories: false)
            try path.overwriteFile(with: "")
            try host.overwriteFile(with: #"{"a": 1}"#)
            let inode = try host.inode
            let launch = Mounts.launch(after: "mount --bind \(host) \(path)")
            try await withProbes(2, at: .file(path), launch) { probes in
                try await probes[0].expect("get a", says: "1")
                try await probes[0].expect("set n 2")
                try await probes[1].expect("get n", says: "2")
                try await probes[1].expect("checkpoint")
                #expect(try document(at: host) as? [String: Int] == ["a": 1, "n": 2])
                for probe in probes { try probe.send("increment total 300") }
                for probe in probes { try await probe.expect() }
                try await probes[0].expect("checkpoint")
                #expect(try document(at: host) as? [String: Int] == ["a": 1, "n": 2, "total": 600])
                try host.overwriteFile(with: #"{"a": 10, "n": 20}"#)
                for probe in probes { try await probe.expectSoon("a", is: 10) }
                for probe in probes { try await probe.expect("get n", says: "20") }
                try await probes[1].expect("set n 21")
                try await probes[0].expect("get n", says: "21")
                try await probes[0].expect("checkpoint")
                #expect(try document(at: host) as? [String: Int] == ["a": 10, "n": 21])
                for probe in probes { #expect(probe.complaintsButOfEmptyFiles == "") }
            }
            #expect(try host.inode == inode)
            // What is below the mount was never touched.
            #expect(try path.fileContents == "")
            #expect(try document(at: path + ".last-good") as? [String: Int] == ["a": 10, "n": 21])
        }
    }

    @Test("mounted read-only, its sets are kept in the journal, and checkpointing says why it cannot be done")
    func readOnlyFile() async throws {
        try await withTemporaryDirectory { directory in
            let (path, host) = ("\(directory)/app/settings.json", "\(directory)/host.json")
            try FileManager.default.createDirectory(atPath: "\(directory)/app", withIntermediateDirectories: false)
            try path.overwriteFile(with: "")
            let text = #"{"a": 1}"#
            try host.overwriteFile(with: text)
            let launch = Mounts.launch(after: "mount --bind \(host) \(path) && mount -o remount,ro,bind \(path)")
            try await withProbes(2, at: .file(path), launch) { probes in
                try await probes[0].expect("get a", says: "1")
                try await probes[0].expect("set n 2")
                try await probes[1].expect("get n", says: "2")
                try await probes[1].expect("checkpoint", says: "error readOnly")
                try await probes[1].expect("get n", says: "2")
                try await probes[1].expect("synchronize")
            }
            #expect(try host.fileContents == text)
        }
    }
}
