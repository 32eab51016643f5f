// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Promise 5: it never traps")
struct NeverTrapsTests {
    /// Files that people, programs and broken disks leave.
    private static let files: [(name: String, bytes: [UInt8])] = [
        ("empty", []),
        ("blank", Array(" \n".utf8)),
        ("zeros", [UInt8](repeating: 0, count: 10_000)),
        ("no text", (0...255).map { $0 }),
        ("deep", [UInt8](repeating: UInt8(ascii: "["), count: 200_000)),
        (
            "deep and closed",
            Array((#"{"n": "# + String(repeating: "[", count: 5_000)).utf8)
                + Array((String(repeating: "]", count: 5_000) + "}").utf8)
        ),
        ("huge numbers", Array(#"{"n": 1e99999, "m": -99999999999999999999999999999999999999999999}"#.utf8)),
        ("other integers", Array(#"{"n": 18446744073709551615, "m": -9223372036854775808}"#.utf8)),
        ("half a surrogate", Array(#"{"n": "\ud800", "\udc00": 1}"#.utf8)),
        ("a mark of byte order", [0xEF, 0xBB, 0xBF] + Array(#"{"n": 1}"#.utf8)),
        ("UTF-16", Array("{\"n\": 1}".utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] })),
        ("an empty key", Array(#"{"": 1, "n": 2}"#.utf8)),
        ("a list", Array("[1, 2, 3]".utf8)),
    ]

    @Test(
        "whatever is in the file, the journal or the last good copy, a process reads, sets, folds and ends by itself",
        arguments: ["", ".journal", ".last-good", ".lock"],
        files.indices
    )
    func contents(suffix: String, index: Int) async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            // The last good copy serves beside a broken file.
            if suffix == ".last-good" { try path.overwriteFile(with: "{") }
            try Data(Self.files[index].bytes).write(to: URL(fileURLWithPath: path + suffix))
            try await withProbe(at: .file(path)) { try await expectLife(of: $0) }
        }
    }

    @Test(
        "wherever the settings are to be kept, a process reads, sets, folds and ends by itself",
        arguments: [
            "", "relative", "/proc/1/nothing", "/dev/null/below", "/sys", "/\(String(repeating: "long", count: 1_500))",
            "/nowhere\u{FF}/../..", "~",
        ]
    )
    func places(home: String) async throws {
        try await withTemporaryDirectory { directory in
            // Whatever is made goes below the test's own directory.
            let launch = Probe.Launch(
                directory: directory,
                environment: [
                    "HOME": home.isEmpty ? nil : home, "XDG_CONFIG_HOME": "\(directory)/config",
                    "STATE_DIRECTORY": home == "relative" ? "a:::b" : nil,
                ]
            )
            try await withProbe(at: .suite("place", home: home), launch) { try await expectLife(of: $0) }
        }
    }

    @Test(
        "whatever its name is, a process reads, sets, folds and ends by itself",
        arguments: ["a", String(repeating: "long", count: 5_000), "\u{1F600}", "\u{7F}\n", "%", "/", "."]
    )
    func names(name: String) async throws {
        try await withTemporaryDirectory { home in
            try await withProbe(at: .suite(name, home: home)) { try await expectLife(of: $0) }
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
                for probe in probes { try await expectLife(of: probe) }
            }
        }
    }

    /// The process answers every command, whatever it says, and comes to its own end.
    private func expectLife(of probe: Probe) async throws {
        for command in ["keys", "get n", "text n", "assign n 1", "set m 2", "fold", "get n", "synchronize", "finish"] {
            try probe.send(command)
            _ = try await probe.line()
        }
        try await probe.finish()
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
                try await probe.expect("fold")
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
                try await probe.expect("fold")
                try fill("\(root)\(directory)/fill")
                // Room that the journal has already may still be used.
                try probe.send("fill key 20000")
                #expect(try await probe.line() == "error writeFailed")
                try await probe.expect("get n", says: "1")
                try await probe.expect("get key-0", says: "0")
                try FileManager.default.removeItem(atPath: "\(root)\(directory)/fill")
                try await probe.expect("set n 2")
                try await probe.expect("fold")
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
                    if value % 5 == 0 { try await probes[0].expect("fold") }
                }
                try await probes[1].finish()
            }
        }
    }
}
