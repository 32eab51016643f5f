// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// One after the other: each keeps every core busy.
///
/// They are short; `swift run -c release endurance` takes its time.
@Suite("Under load and kills", .serialized)
struct LoadTests {
    @Test("no update is lost, no read is stale, no transaction is torn, and streams converge")
    func load() async throws {
        try await expectLaws(of: "load", "--seconds", "5")
    }

    @Test("all that was acknowledged is there after kill -9, be it in a set, in a checkpoint, or while the file is made")
    func kills() async throws {
        try await expectLaws(of: "kill", "--rounds", "40")
    }

    @Test("four processes add one 5,000 times each in a suite that is not there yet, and the sum is in the file")
    func increments() async throws {
        try await expectLaws(of: "increments")
    }

    /// Runs a part of the program, which says what it finds.
    private func expectLaws(of arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await withTemporaryDirectory { directory in
            let output = try OutputFile()
            let process = Process()
            process.executableURL = try program("endurance")
            process.arguments = arguments
            process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": directory]) { $1 }
            process.standardOutput = output.handle
            process.standardError = output.handle
            try process.run()
            await eventually("it comes to an end", within: .seconds(300), sourceLocation: sourceLocation) {
                !process.isRunning
            }
            // It ends those it has started, and cleans up.
            if process.isRunning { process.terminate() }
            process.waitUntilExit()
            #expect(process.terminationStatus == 0, "\(output.text)", sourceLocation: sourceLocation)
            #expect(output.text.hasSuffix("All laws held.\n"), "\(output.text)", sourceLocation: sourceLocation)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        }
    }
}
