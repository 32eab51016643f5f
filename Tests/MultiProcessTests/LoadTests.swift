// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import TestSupport
import Testing

/// Serialized, because each test uses every core.
///
/// These are short runs; `swift run -c release endurance` runs longer.
@Suite("Load and kills", .serialized)
struct LoadTests {
    @Test("no update is lost, no read is stale, no transaction is torn, and streams converge")
    func load() async throws {
        try await expectSuccess(of: "load", "--seconds", "\(TestRun.count(quick: 1, exhaustive: 5))")
    }

    @Test("a read is whole, never older than a set that has returned, and never newer than one that has begun")
    func reads() async throws {
        try await expectSuccess(of: "reads", "--seconds", "\(TestRun.count(quick: 1, exhaustive: 15))")
    }

    @Test("acknowledged sets survive kill -9 during a set, a checkpoint or the creation of the file")
    func kills() async throws {
        try await expectSuccess(of: "kill", "--rounds", "\(TestRun.count(quick: 5, exhaustive: 40))")
    }

    #if os(Linux)
    /// Only the exhaustive tier executes a change in steps, which needs most of a minute.
    @Test("no change is lost or blocked for good when a process is stopped or killed at any instruction of a change")
    func steps() async throws {
        try await expectSuccess(of: "steps", "--rounds", "\(TestRun.count(quick: 8, exhaustive: 20))")
    }
    #endif

    /// Runs one part of the endurance program, which reports its findings.
    private func expectSuccess(of arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws
    {
        try await withTemporaryDirectory { directory in
            let environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": directory]) { $1 }
            let process = try ChildProcess(
                [Surroundings.program("endurance")] + arguments + ["--seed", "\(TestRun.seed)"],
                environment: environment
            )
            let limit = TestRun.isExhaustive ? noTimeout : longestWait
            await eventually("the program ends", within: limit, of: process, sourceLocation: sourceLocation) {
                !process.isRunning
            }
            // On SIGTERM, the program ends its child processes and removes its files.
            process.signal(SIGTERM)
            #expect(
                try process.waitUntilEnd(within: .seconds(5)) == .exit(0),
                "\(process)",
                sourceLocation: sourceLocation
            )
            let isClean = process.output.text.hasSuffix("All checks passed.\n")
            #expect(isClean, "\(process.output.text)", sourceLocation: sourceLocation)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        }
    }
}
