// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettings
import TestSupport
import Testing

@Suite("Overrides of a process")
struct OverrideTests {
    @Test(
        "overrides come from the process's own arguments and variables, and are never stored",
        arguments: [false, true]
    )
    func realArguments(isNamed: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let place =
                isNamed
                ? Probe.Place.suite("overridden", home: directory) : .file("\(directory)/overridden/settings.json")
            let launch = Probe.Launch(
                flags: ["--max-count", "5", "-level=x", "--", "--other=1"],
                environment: ["PROBE_MAX_COUNT": "6", "PROBE_LIMIT": "7", "PROBE_LEVEL": "8"]
            )
            try await withProbes([(place, launch), (place, Probe.Launch())]) { probes in
                let (overridden, plain) = (probes[0], probes[1])
                try await overridden.expect("set maxCount 2")
                try await overridden.expect("get maxCount", prints: "5")
                try await overridden.expect("get limit", prints: "7")
                try await overridden.expect("get level", prints: "8")
                try await overridden.expect("get other", prints: "0")
                #expect(overridden.errors.contains("-level cannot be used: expected an integer, found a string"))
                #expect(overridden.errors.split(separator: "\n").count == 1)
                try await overridden.expect("increment limit 3")
                try await plain.expect("get maxCount", prints: "2")
                try await plain.expect("get limit", prints: "3")
                try await plain.expect("get level", prints: "0")
                try await plain.expect("keys", prints: "2")
            }
        }
    }

    @Test("a relative path in a variable is that of the directory in which the program was started")
    func relativePath() async throws {
        try await withTemporaryDirectory { directory in
            try "5".write(toFile: directory + "/limit", atomically: true, encoding: .utf8)
            let depth = FileManager.default.currentDirectoryPath.split(separator: "/").count
            let path = String(repeating: "../", count: depth) + directory.dropFirst() + "/limit"
            let launch = Probe.Launch(flags: ["--other=1"], environment: ["PROBE_LIMIT_FILE": path])
            try await withProbes([(.file("\(directory)/relative/settings.json"), launch)]) { probes in
                try await probes[0].expect("get limit", prints: "5")
                // Deeper than the other one: the parent of the root directory is the root directory.
                let other = directory + String(repeating: "/x", count: depth + 1)
                try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
                try await probes[0].expect("changeDirectory \(other)")
                try await probes[0].expect("get limit", prints: "5")
                try "6".write(toFile: directory + "/limit", atomically: true, encoding: .utf8)
                try await probes[0].expectSoon("limit", is: 6)
                #expect(probes[0].errors.isEmpty)
            }
        }
    }

    @Test(
        "without /proc, the standard suite has the name of the program, and the unknown flags are reported once",
        .enabled(
            if: geteuid() == 0 && FileManager.default.fileExists(atPath: "/usr/bin/unshare"),
            "namespaces are needed"
        )
    )
    func withoutProcesses() throws {
        let process = try ChildProcess([
            "/usr/bin/unshare", "--mount", "/bin/sh", "-c", "umount -l /proc && exec \"$0\" --suite x --port=9",
            Surroundings.program("settings-probe"),
        ])
        // The system may not let this process create namespaces.
        guard try process.waitUntilEnd() == .exit(0) else { return }
        #expect(process.output.text == "settings-probe 1 2\n")
        #expect(process.errors.text.split(separator: "\n").count == 1, "\(process)")
        #expect(process.errors.text.contains("because /proc cannot be read"))
    }

    @Test("the overrides of the bootstrapped standard suite are used")
    func standardSuite() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.suite("standard", home: directory)
            let launch = Probe.Launch(flags: ["--port=9"])
            try await withProbe(at: place, launch) { probe in
                try await probe.expect("standard", prints: "9 from --port")
                try await probe.finish()
            }
        }
    }
}
