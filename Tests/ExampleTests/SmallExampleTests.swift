// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("many-processes")
struct ManyProcessesTests {
    @Test(
        "processes that count together lose no increment",
        arguments: [([], "4 processes × 1000"), (["5", "20"], "5 processes × 20")] as [([String], String)]
    )
    func counting(arguments: [String], factors: String) async throws {
        let sum = arguments.isEmpty ? 4_000 : 100
        try await withTemporaryDirectory { home in
            let shown = try await output(of: "many-processes", arguments, home: home)
            #expect(shown == ["\(factors) increments = \(sum)"])
        }
    }
}

@Suite("custom-types")
struct CustomTypesTests {
    @Test("each type has its form in the file, and what is missing or unusable there is not used")
    func forms() async throws {
        try await withTemporaryDirectory { home in
            let expected = [
                "{",
                #"  "alarm": 72.5,"#,
                #"  "theme": "dark","#,
                #"  "visits": ["#,
                "    1000000000.0",
                "  ],",
                #"  "volume": 75.0,"#,
                #"  "window": {"#,
                #"    "width": 1024"#,
                "  }",
                "}",
                "volume: 0.75",
                "window: 800 × 300",
                "volume: still 0.75, because the percentage is outside 0...100",
            ]
            let program = try ExampleProgram("custom-types", home: home)
            #expect(await program.exitCode() == 0)
            #expect(program.lines == expected)
            #expect(program.errors.contains("volume"))
        }
    }
}

@Suite("migrate")
struct MigrateTests {
    @Test("the values of version 1 are migrated once, to names and forms of version 3")
    func migrating() async throws {
        try await withTemporaryDirectory { home in
            let old = [#"  hosts = "a.example,b.example""#, #"  log_level = "debug""#, "  timeout = 2500"]
            #expect(try await output(of: "migrate", ["old"], home: home) == old)
            let migrated = try await output(of: "migrate", home: home)
            #expect(migrated.first == #"debug, ["a.example", "b.example"], 2.5 seconds"#)
            #expect(!migrated.contains { $0.contains("log_level") })
            #expect(try await output(of: "migrate", home: home) == migrated)
        }
    }
}

@Suite("kubernetes")
struct KubernetesTests {
    @Test("swaps of a ConfigMap and of a Secret are noticed, and a value that is set hides the ConfigMap")
    func swapping() async throws {
        try await withTemporaryDirectory { home in
            let expected = [
                "the ConfigMap of the Pod: 20",
                "a new version of the ConfigMap: 30",
                "a value that is set at run time: 500",
                "the value is reset: 40",
                "the Secret has a token of length: 5",
                "a rotated Secret has a token of length: 12",
            ]
            let shown = try await output(of: "kubernetes", home: home, variables: ["TMPDIR": home])
            #expect(shown == expected)
        }
    }
}

@Suite("systemd")
struct SystemdTests {
    @Test("the state directory has the settings, and a credential is a secret")
    func unit() async throws {
        try await withTemporaryDirectory { home in
            let state = "\(home)/state"
            let credentials = "\(home)/credentials"
            try FileManager.default.createDirectory(atPath: credentials, withIntermediateDirectories: true)
            try "\(credentials)/apiToken".overwriteFile(with: "s3cret\n")
            let variables = [
                "STORED_SETTINGS_HOME": "", "STATE_DIRECTORY": state, "CREDENTIALS_DIRECTORY": credentials,
            ]
            let set = ["config", "set", "port", "9090"]
            #expect(try await output(of: "systemd", set, home: home, variables: variables) == [])
            let path = "\(state)/com.example.service/settings.json"
            let shown = try await output(of: "systemd", home: home, variables: variables)
            #expect(shown.first == "stored in \(path)")
            #expect(shown.dropFirst().first == "port = 9090, stored in \(path), over the default 8080")
            let token = shown.last ?? ""
            #expect(token.hasPrefix("apiToken = ••••"))
            #expect(token.contains("\(credentials)/apiToken"))
            #expect(!token.contains("s3cret"))
        }
    }

    @Test("without a directory for settings, the service ends and says what is missing")
    func noDirectory() async throws {
        try await withTemporaryDirectory { home in
            try "\(home)/file".overwriteFile(with: "")
            let service = try ExampleProgram("systemd", home: home, variables: ["STORED_SETTINGS_HOME": "\(home)/file"])
            #expect(await service.exitCode() != 0)
            #expect(service.lines.isEmpty)
        }
    }
}
