// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Promise 5: it never traps")
struct NeverTrapsTests {
    /// A directory for settings, and whether it is usable.
    private static let homes: [(path: String, isUsable: Bool)] = [
        ("", true), ("relative", true), ("/proc/1/nothing", false), ("/dev/null/below", false), ("/sys", false),
        ("/\(String(repeating: "long", count: 1_500))", false), ("nowhere\u{FF}/..", true), ("~", true),
    ]

    @Test(
        "settings are stored wherever the directory is usable, and errors report every unusable one",
        arguments: homes.indices
    )
    func places(index: Int) async throws {
        let (home, isUsable) = Self.homes[index]
        try await withTemporaryDirectory { directory in
            // All files are created below the test's own directory.
            let launch = Probe.Launch(
                directory: directory,
                environment: [
                    "HOME": home.isEmpty ? nil : home, "XDG_CONFIG_HOME": "\(directory)/config",
                    "STATE_DIRECTORY": home == "relative" ? "a:::b" : nil,
                ]
            )
            try await withProbe(at: .suite("place", home: home), launch) {
                try await $0.expectAnswers(isUsable ? .stored() : .refused)
            }
            if isUsable {
                let path = home.isEmpty ? "\(directory)/config/place" : "\(directory)/\(home)/place"
                #expect(try document(at: path + "/settings.json") as? [String: Int] == ["n": 1, "m": 2])
            }
        }
    }

    @Test(
        "on a full disk, sets fail, stored values are read, and sets work again when there is space",
        .enabled(if: Mounts.areAllowed, "requires permission to mount")
    )
    func fullDisk() async throws {
        try await withTemporaryDirectory { directory in
            let (path, fill) = ("\(directory)/suite/settings.json", "\(directory)/fill")
            let launch = Mounts.launch(
                after: """
                    mount -t tmpfs -o size=128k none '\(directory)' && mkdir '\(directory)/suite' \
                    && printf '{"m": 7}' > '\(path)' && cat /dev/zero > '\(fill)' 2> /dev/null; :
                    """
            )
            try await withProbe(at: .file(path), launch) { probe in
                try await probe.expect("get m", prints: "7")
                try await probe.expect("set n 1", prints: "error writeFailed")
                try await probe.expect("assign n 2")
                try await probe.expect("get n", prints: "2")
                try await probe.expect("synchronize", prints: "error notSaved")
                try await probe.expect("get m", prints: "7")
                // The probe's disk, as seen from this process.
                try FileManager.default.removeItem(atPath: "/proc/\(probe.identifier)/root\(fill)")
                try await probe.expect("set k 3")
                try await probe.expect("checkpoint")
                let stored = try document(at: "/proc/\(probe.identifier)/root\(path)")
                #expect(stored as? [String: Int] == ["m": 7, "n": 2, "k": 3])
            }
        }
    }

    @Test(
        "when a disk fills up, sets fail with an error and work again when there is space",
        .enabled(if: Mounts.areAllowed, "requires permission to mount")
    )
    func fillingDisk() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            let launch = Mounts.launch(after: "mount -t tmpfs -o size=256k none '\(directory)'")
            try await withProbe(at: .file(path), launch) { probe in
                let root = "/proc/\(probe.identifier)/root"
                try await probe.expect("set n 1")
                try await probe.expect("checkpoint")
                try fill("\(root)\(directory)/fill")
                // Space that the journal has allocated already may still be used.
                try probe.send("fill key 20000")
                #expect(try await probe.line() == "error writeFailed")
                try await probe.expect("get n", prints: "1")
                try await probe.expect("get key-0", prints: "0")
                try FileManager.default.removeItem(atPath: "\(root)\(directory)/fill")
                try await probe.expect("set n 2")
                try await probe.expect("checkpoint")
                #expect(try document(at: root + path)["n"] as? Int == 2)
            }
        }
    }

    /// Writes until the disk is full.
    private func fill(_ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4_096)
        while write(descriptor, page, page.count) > 0 {}
    }

    @Test(
        "on a read-only disk, values are read, sets of other processes are seen at once, and own sets fail",
        .enabled(if: Mounts.areAllowed, "requires permission to mount")
    )
    func readOnlyDisk() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let launch = Mounts.launch(
                after: "mount --bind '\(directory)' '\(directory)' && mount -o remount,ro,bind '\(directory)'"
            )
            try await withProbes([(place, Probe.Launch()), (place, launch)]) { probes in
                try await probes[1].expect("get n", prints: "0")
                try await probes[1].expect("set n 1", prints: "error readOnly")
                try await probes[1].expect("persistence", prints: "readOnly")
                try await probes[0].expect("set n 1")
                // A first set may take up to a second to be noticed.
                try await probes[1].expectSoon("n", is: 1)
                for value in 2...20 {
                    try await probes[0].expect("set n \(value)")
                    try await probes[1].expect("get n", prints: "\(value)")
                    if value % 5 == 0 { try await probes[0].expect("checkpoint") }
                }
                try await probes[1].finish()
            }
        }
    }
}
