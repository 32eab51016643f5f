// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("A container's overlay file system", .enabled(if: Mounts.areAllowed, "requires permission to mount"))
struct OverlayTests {
    @Test("a process that may only read sees a set that copies the journal from a lower layer")
    func journalInLowerLayer() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
            for name in ["lower", "upper", "work", "merged"] {
                try FileManager.default.createDirectory(
                    atPath: "\(directory)/\(name)",
                    withIntermediateDirectories: false,
                    attributes: [.posixPermissions: 0o755]
                )
            }
            // An image with settings, some of them only in the journal.
            let lower = "\(directory)/lower/settings.json"
            try lower.overwriteFile(with: #"{"a": 1}"#)
            try await withProbes(1, at: .file(lower)) { probes in
                try await probes[0].expect("set b 2")
                probes[0].signal(SIGKILL)
            }
            for suffix in ["", ".journal"] {
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: lower + suffix)
            }
            let layers = ["lower", "upper", "work"].map { "\($0)dir=\(directory)/\($0)" }.joined(separator: ",")
            let mount = "mount -t overlay -o '\(layers)' overlay '\(directory)/merged'"
            let merged = Probe.Place.file("\(directory)/merged/settings.json")
            try await withProbes(1, at: merged, Mounts.launch(after: mount)) { readers in
                let reader = readers[0]
                try await reader.expect("become 65534")
                try await reader.expect("get b", prints: "2")
                let namespace = Probe.Launch(wrapper: ["/usr/bin/nsenter", "-t", "\(reader.identifier)", "-m"])
                try await withProbes(1, at: merged, namespace) { writers in
                    for value in 3...5 {
                        try await writers[0].expect("set b \(value)")
                        try await reader.expect("get b", prints: "\(value)")
                    }
                    try await reader.watch("b", from: 5)
                    try await writers[0].expect("set b 6")
                    try await reader.expect(prints: "b is 6")
                    try await writers[0].expect("checkpoint")
                    try await writers[0].expect("set b 7")
                    try await reader.expect(prints: "b is 7")
                    try await reader.expect("get a", prints: "1")
                }
            }
        }
    }
}
