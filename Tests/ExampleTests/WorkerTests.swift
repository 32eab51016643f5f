// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("worker")
struct WorkerTests {
    @Test("a daemon is retuned while it runs, shows its settings at SIGHUP, and saves at SIGTERM")
    func retuning() async throws {
        try await withTemporaryDirectory { home in
            let worker = try ExampleProgram("worker", home: home)
            defer { worker.end() }
            try await expect(worker, toShow: "one job every 1000 ms")

            try await configure(["set", "interval", "1"], home: home)
            try await expect(worker, toShow: "one job every 1 ms")
            try await eventually("jobs are done") { try await jobs(home: home) > 0 }

            try await configure(["set", "paused=true", "interval=5"], home: home)
            try await expect(worker, toShow: "one job every 5 ms")
            worker.signal(SIGHUP)
            try await expect(worker, toShow: "interval 5 ms, paused")

            worker.signal(SIGTERM)
            #expect(await worker.exitCode() == 0)
            #expect(!worker.isEndedBySignal)
            let count = try await jobs(home: home)
            #expect(worker.lines.last == "saved after \(count) jobs")
            #expect(worker.errors.isEmpty)
        }
    }

    @Test("a value outside of the range is rejected, and the daemon starts when one in the file is corrected")
    func rejection() async throws {
        try await withTemporaryDirectory { home in
            let command = try ExampleProgram("worker", ["config", "set", "interval", "0"], home: home)
            #expect(await command.exitCode() == 65)
            let directory = "\(home)/com.example.worker"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try "\(directory)/settings.json".overwriteFile(with: #"{ "interval": 0 }"#)
            let worker = try ExampleProgram("worker", home: home)
            #expect(await worker.exitCode() == 78)
            #expect(!worker.isEndedBySignal)
            #expect(worker.lines.isEmpty)
            #expect(worker.errors.contains("interval"))
            try await configure(["set", "interval", "5"], home: home)
            let corrected = try ExampleProgram("worker", home: home)
            defer { corrected.end() }
            try await expect(corrected, toShow: "one job every 5 ms")
        }
    }

    private func jobs(home: String) async throws -> Int {
        try #require(Int(try await configure(["get", "jobs"], home: home).first ?? ""))
    }

    @discardableResult
    private func configure(_ arguments: [String], home: String) async throws -> [String] {
        try await output(of: "worker", ["config"] + arguments, home: home, mayReport: true)
    }

    private func expect(_ program: ExampleProgram, toShow line: String) async throws {
        await eventually("the program shows '\(line)'") { program.lines.contains(line) }
        try #require(program.lines.contains(line))
    }

    @Test("a daemon that cannot store anything ends with an error that names the fix")
    func unwritable() async throws {
        try await withTemporaryDirectory { home in
            // The directory cannot be created in the place of the link, not even by root.
            let (link, target) = ("\(home)/com.example.worker", "\(home)/missing/directory")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            let worker = try ExampleProgram("worker", home: home)
            defer { worker.end() }
            #expect(await worker.exitCode() == 1)
            #expect(!worker.isEndedBySignal)
            #expect(worker.errors.contains("worker: "))
            #expect(worker.errors.contains("STORED_SETTINGS_HOME"))
        }
    }

    @Test("Control-C saves as well")
    func interrupted() async throws {
        try await withTemporaryDirectory { home in
            let worker = try ExampleProgram("worker", home: home)
            defer { worker.end() }
            try await expect(worker, toShow: "one job every 1000 ms")
            worker.signal(SIGINT)
            #expect(await worker.exitCode() == 0)
            #expect(worker.lines.last?.hasPrefix("saved after ") == true)
        }
    }
}
