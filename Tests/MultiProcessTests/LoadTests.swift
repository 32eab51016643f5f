// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// One after the other: each keeps every core busy.
@Suite("The laws hold under load and kills", .serialized)
struct LoadTests {
    /// Shorter than `swift run -c release endurance`, which is to be run before a release.
    @Test(
        "of many processes no update is lost, no read is stale, no transaction is torn, and streams converge",
        arguments: [
            ["load", "--seconds", "5"],
            ["kill", "--rounds", "40"],
            ["increments"],
        ]
    )
    func endures(arguments: [String]) async throws {
        try await withTemporaryDirectory { directory in
            let output = try OutputFile()
            let process = Process()
            process.executableURL = try program("endurance")
            process.arguments = arguments
            process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": directory]) { $1 }
            process.standardOutput = output.handle
            process.standardError = output.handle
            try process.run()
            await eventually("it comes to an end", within: .seconds(300)) { !process.isRunning }
            // It ends those it has started, and cleans up.
            if process.isRunning { process.terminate() }
            process.waitUntilExit()
            #expect(process.terminationStatus == 0, "\(output.text)")
            #expect(output.text.hasSuffix("All laws held.\n"), "\(output.text)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        }
    }
}
