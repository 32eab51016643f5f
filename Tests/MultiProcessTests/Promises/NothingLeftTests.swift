// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("Promise 10: tests leave nothing behind")
struct NothingLeftTests {
    @Test("a process that uses in-memory suites, also as its standard suite, leaves no file")
    func memory() async throws {
        try await withTemporaryDirectory { directory in
            let launch = Probe.Launch(
                directory: directory,
                environment: ["HOME": directory, "XDG_CONFIG_HOME": nil, "STATE_DIRECTORY": nil]
            )
            try await withProbe(at: .suite("unused", home: "\(directory)/home"), launch) { probe in
                try await probe.expect("memory")
                try await probe.finish()
                #expect(probe.errors == "")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        }
    }

    @Test("a suite that is finished and released has no open file, and its directory stays removed")
    func finished() async throws {
        var path = ""
        try await withTemporaryDirectory { directory in
            path = directory
            try await useSuite(in: directory)
            #if os(Linux)
            try await eventually("no file is open or mapped") {
                try !openFiles().contains { $0.hasPrefix(directory) }
                    && !mappedFiles().contains(directory)
            }
            #endif
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    /// Sets, watches and finishes a suite.
    private func useSuite(in directory: String) async throws {
        let suite = SettingsSuite(fileAt: "\(directory)/settings.json")
        let n = Setting("n", default: 0, suite: suite)
        var values = n.values.makeAsyncIterator()
        #expect(await values.next() == 0)
        try await n.set(1)
        await suite.finish()
    }

    #if os(Linux)
    private func openFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            .map { name in
                do {
                    return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                } catch {
                    // Closed in the meantime.
                    return ""
                }
            }
    }

    private func mappedFiles() throws -> String {
        // Read to the end, because the system reports a size of 0.
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps"))
        let text = String(decoding: try #require(try file.readToEnd()), as: UTF8.self)
        try #require(text.contains("[stack]"))
        return text
    }
    #endif
}
