// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Promise 5: it never traps")
struct NeverTrapsTests {
    /// A directory for settings, and whether it can be one.
    private static let homes: [(path: String, isUsable: Bool)] = [
        ("", true), ("relative", true), ("/proc/1/nothing", false), ("/dev/null/below", false), ("/sys", false),
        ("/\(String(repeating: "long", count: 1_500))", false), ("nowhere\u{FF}/..", true), ("~", true),
    ]

    @Test(
        "wherever the settings are to be stored, they are, or the errors say that they are not",
        arguments: homes.indices
    )
    func places(index: Int) async throws {
        let (home, isUsable) = Self.homes[index]
        try await withTemporaryDirectory { directory in
            // Whatever is made goes below the test's own directory.
            let launch = Probe.Launch(
                directory: directory,
                environment: [
                    "HOME": home.isEmpty ? nil : home, "XDG_CONFIG_HOME": "\(directory)/config",
                    "STATE_DIRECTORY": home == "relative" ? "a:::b" : nil,
                ]
            )
            try await withProbe(at: .suite("place", home: home), launch) {
                try await $0.expectLife(isUsable ? .stored() : .refused)
            }
            if isUsable {
                let path = home.isEmpty ? "\(directory)/config/place" : "\(directory)/\(home)/place"
                #expect(try document(at: path + "/settings.json") as? [String: Int] == ["n": 1, "m": 2])
            }
        }
    }

    @Test(
        "whatever its name is, a suite is stored in a directory of its own",
        arguments: [
            ("a", "a"), ("\u{1F600}", "\u{1F600}"), ("\u{7F}\n", "%7F%0A"), ("%", "%25"), ("/", "%2F"), (".", "%2E"),
        ]
    )
    func names(name: String, directory: String) async throws {
        try await withTemporaryDirectory { home in
            try await withProbe(at: .suite(name, home: home)) { try await $0.expectLife(.stored()) }
            let path = "\(home)/\(directory)/settings.json"
            #expect(try document(at: path) as? [String: Int] == ["n": 1, "m": 2])
        }
    }

    @Test("a suite whose name no directory can have has its assigned values, and reports that they are not stored")
    func longName() async throws {
        try await withTemporaryDirectory { home in
            try await withProbe(at: .suite(String(repeating: "long", count: 5_000), home: home)) { probe in
                try await probe.expectLife(.inMemory)
                #expect(probe.complaints != "")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: home) == [])
        }
    }

    @Test("a journal that is cut off while it is mapped costs no process its life", arguments: [0, 8, 600, 4_095])
    func cutJournal(size: Int) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbes(2, at: place) { probes in
                try await probes[0].expect("set n 1")
                try await probes[1].expect("get n", says: "1")
                try JournalFile(of: place.path).truncate(to: size)
                try await probes[1].expect("get n", says: "1")
                try await probes[0].expect("get n", says: "1")
                for (index, probe) in probes.enumerated() {
                    if index > 0 { try await probe.expectSoon("m", is: 2) }
                    try await probe.expectLife(.stored(Answers.Values(keys: index + 1, integer: 1, text: "1")))
                }
                #expect(try document(at: place.path) as? [String: Int] == ["n": 1, "m": 2])
            }
        }
    }

    @Test(
        "on a full disk sets fail with an error, what was stored is read, and all is well when there is room again",
        .enabled(if: Mounts.areAllowed, "only who may mount can fill a disk")
    )
    func fullDisk() async throws {
        try await withTemporaryDirectory { directory in
            let (path, fill) = ("\(directory)/suite/settings.json", "\(directory)/fill")
            let launch = Mounts.launch(
                after: """
                    mount -t tmpfs -o size=128k none \(directory) && mkdir \(directory)/suite \
                    && printf '{"m": 7}' > \(path) && cat /dev/zero > \(fill) 2> /dev/null; :
                    """
            )
            try await withProbe(at: .file(path), launch) { probe in
                try await probe.expect("get m", says: "7")
                try await probe.expect("set n 1", says: "error writeFailed")
                try await probe.expect("assign n 2")
                try await probe.expect("get n", says: "2")
                try await probe.expect("synchronize", says: "error notSaved")
                try await probe.expect("get m", says: "7")
                // The disk of the helper, seen from here.
                try FileManager.default.removeItem(atPath: "/proc/\(probe.identifier)/root\(fill)")
                try await probe.expect("set k 3")
                try await probe.expect("checkpoint")
                let stored = try document(at: "/proc/\(probe.identifier)/root\(path)")
                #expect(stored as? [String: Int] == ["m": 7, "n": 2, "k": 3])
            }
        }
    }

    @Test(
        "on a disk that is filled while it is used, sets fail with an error and go on when there is room again",
        .enabled(if: Mounts.areAllowed, "only who may mount can fill a disk")
    )
    func fillingDisk() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            let launch = Mounts.launch(after: "mount -t tmpfs -o size=256k none \(directory)")
            try await withProbe(at: .file(path), launch) { probe in
                let root = "/proc/\(probe.identifier)/root"
                try await probe.expect("set n 1")
                try await probe.expect("checkpoint")
                try fill("\(root)\(directory)/fill")
                // Room that the journal has already may still be used.
                try probe.send("fill key 20000")
                #expect(try await probe.line() == "error writeFailed")
                try await probe.expect("get n", says: "1")
                try await probe.expect("get key-0", says: "0")
                try FileManager.default.removeItem(atPath: "\(root)\(directory)/fill")
                try await probe.expect("set n 2")
                try await probe.expect("checkpoint")
                #expect(try document(at: root + path)["n"] as? Int == 2)
            }
        }
    }

    /// Writes until there is no room left.
    private func fill(_ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4_096)
        while write(descriptor, page, page.count) > 0 {}
    }

    @Test(
        "on a read-only disk values are read, sets of others are seen at once, and one's own are refused",
        .enabled(if: Mounts.areAllowed, "only who may mount can make a disk read-only")
    )
    func readOnlyDisk() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let launch = Mounts.launch(
                after: "mount --bind \(directory) \(directory) && mount -o remount,ro,bind \(directory)"
            )
            try await withProbes([(place, Probe.Launch()), (place, launch)]) { probes in
                try await probes[1].expect("get n", says: "0")
                try await probes[1].expect("set n 1", says: "error readOnly")
                try await probes[1].expect("persistence", says: "readOnly")
                try await probes[0].expect("set n 1")
                // A first set may be noticed within a second only.
                try await probes[1].expectSoon("n", is: 1, within: .seconds(2))
                for value in 2...20 {
                    try await probes[0].expect("set n \(value)")
                    try await probes[1].expect("get n", says: "\(value)")
                    if value % 5 == 0 { try await probes[0].expect("checkpoint") }
                }
                try await probes[1].finish()
            }
        }
    }
}
