// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import TestSupport
import Testing

/// The programs that use etcd, over an etcd with one member.
@Suite("Programs of a fleet", .enabled(if: EtcdCluster.isInstalled, "etcd or etcdctl is not installed"))
struct FleetTests {
    private func withEtcd(_ body: (EtcdCluster, _ home: String) async throws -> Void) async throws {
        try await EtcdTestSupport.withEtcd { cluster in
            try await withTemporaryDirectory { home in try await body(cluster, home) }
        }
    }

    @Test("two machines share their settings, and a value of one machine wins there", .deadlockLimit)
    func example() async throws {
        try await withEtcd { cluster, home in
            let address = cluster.urls[0]
            let homes = ["\(home)/first", "\(home)/second"]
            for home in homes {
                try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
            }
            let watch = try ExampleProgram("fleet", [address], home: homes[0])
            defer { watch.end() }
            let defaults = ["deployments = 0", "limit = 100", "maintenance = false"]
            try await watch.waitForLines(3)
            #expect(watch.lines.sorted() == defaults)

            var shown = 3
            for (machine, arguments, line) in [
                (1, ["fleet", "limit", "50"], "limit = 50"),
                (1, ["fleet", "maintenance", "true"], "maintenance = true"),
                (0, ["here", "limit", "5"], "limit = 5"), (1, ["here", "limit", "7"], nil),
                (1, ["fleet", "limit", "60"], nil), (1, ["fleet", "maintenance", "false"], "maintenance = false"),
            ] as [(Int, [String], String?)] {
                let change = try ExampleProgram("fleet", [address] + arguments, home: homes[machine])
                #expect(await change.exitCode() == 0, "\(arguments)")
                #expect(change.errors.isEmpty)
                guard let line else { continue }
                shown += 1
                try await watch.waitForLines(shown)
                #expect(watch.lines.last == line)
            }
            let deployments = try homes.map { try ExampleProgram("fleet", [address, "deploy", "20"], home: $0) }
            for deployment in deployments { #expect(await deployment.exitCode() == 0) }
            let numbers = deployments.flatMap { $0.lines }
            #expect(numbers.count == 40 && Set(numbers) == Set((1...40).map { "deployment \($0)" }))
            await eventually("the last deployment arrives") { watch.lines.last == "deployments = 40" }
            #expect(watch.errors.isEmpty)
        }
    }

    @Test("the example fails with a reason when no server can be reached")
    func unreachable() async throws {
        try await withTemporaryDirectory { home in
            let program = try ExampleProgram("fleet", ["http://127.0.0.1:1", "fleet", "limit", "5"], home: home)
            #expect(await program.exitCode() == 1)
            #expect(program.errors.contains("127.0.0.1:1"))
        }
    }

    @Test(
        "stored-settings fails with one message when no server can be reached",
        arguments: [["list"], ["set", "a", "1"]]
    )
    func unreachableTool(command: [String]) async throws {
        try await withTemporaryDirectory { home in
            let arguments = ["--etcd", "http://127.0.0.1:1", "acme"] + command
            let program = try ExampleProgram("stored-settings", arguments, home: home)
            #expect(await program.exitCode() == 69)
            let lines = program.errors.split(separator: "\n")
            #expect(lines.count == 1)
            #expect(lines.first?.contains("127.0.0.1:1 cannot be connected") == true)
        }
    }

    @Test("stored-settings shows and changes a suite in etcd", .deadlockLimit)
    func tool() async throws {
        try await withEtcd { cluster, home in
            func run(_ arguments: [String], code: Int32 = 0) async throws -> [String] {
                let program = try ExampleProgram("stored-settings", arguments, home: home)
                #expect(await program.exitCode() == code, "\(arguments)")
                if code != 0 { return program.errors.split(separator: "\n").map(String.init) }
                #expect(program.errors.isEmpty, "\(arguments)")
                return program.lines
            }
            let etcd = ["--etcd", cluster.urls[0]]
            #expect(try await run(etcd + ["acme", "list"], code: 66).first?.contains("settings/acme/") == true)
            _ = try await run(etcd + ["acme", "set", "port=80", "name=web"])
            #expect(try await run(etcd + ["acme", "get", "port"]) == ["80"])
            #expect(try await run(etcd + ["--prefix", "settings/acme", "other", "get", "name"]) == ["web"])
            #expect(try await run(["--etcd=\(cluster.urls[0])", "acme", "list", "--keys"]) == ["name", "port"])
            _ = try await run(etcd + ["acme", "set", "name", "5"])
            #expect(try await run(etcd + ["acme", "export"]) == ["{", "  \"name\": \"5\",", "  \"port\": 80", "}"])
            _ = try await run(etcd + ["acme", "unset", "name"])
            #expect(try await run(etcd + ["acme", "path"]) == ["etcd:settings/acme/"])
            #expect(try cluster.control(["get", "--prefix", "--keys-only", "settings/acme/k/"]).contains("k/port"))
            _ = try await run(etcd + ["acme", "doctor"], code: 64)
            _ = try await run(["acme", "accept-cluster"], code: 64)
            let marked = try await run(etcd + ["acme", "accept-cluster"])
            #expect(marked.count == 1 && marked.first?.contains("the prefix settings/acme/") == true)
            let accepted = try cluster.control(["get", "--write-out=json", "settings/acme/cluster"])
            let identifier = accepted.firstMatch(of: /"cluster_id":(\d+)/)?.1 ?? ""
            #expect(accepted.contains(Data(identifier.utf8).base64EncodedString()) && !identifier.isEmpty)
            #expect(try await run(etcd + ["acme", "list", "--keys"]) == ["port"])
            let files = try FileManager.default.contentsOfDirectory(atPath: home)
            #expect(files.allSatisfy { $0.hasPrefix("stored-settings-") })

            let watch = try ExampleProgram("stored-settings", etcd + ["acme", "watch"], home: home)
            defer { watch.end() }
            // There is no sign that the watch has begun, so the value changes until one change is shown.
            var number = 0
            try await eventually("the change is shown") {
                number += 1
                _ = try await run(etcd + ["acme", "set", "port", "\(number)"])
                return watch.lines.contains { $0.hasPrefix("port=") }
            }
        }
    }

    @Test(
        "wrong options of etcd are errors of usage",
        arguments: [
            ["--etcd"], ["--etcd", ""], ["--etcd", ",", "acme", "list"], ["--etcd", "ftp://host", "acme", "list"],
            ["--prefix", "a", "acme", "list"], ["--etcd", "http://h:1", "--user-file", "u", "acme", "list"],
            ["--etcd", "http://h:1"],
        ]
    )
    func usage(arguments: [String]) async throws {
        try await withTemporaryDirectory { home in
            let program = try ExampleProgram("stored-settings", arguments, home: home)
            #expect(await program.exitCode() == 64)
            #expect(program.errors.contains(". ") && !program.errors.contains("Nothing is changed."))
        }
    }
}
