// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization
import TestSupport
import Testing

@Suite("Changes by other processes and editors")
struct ChangesFromOutsideTests {
    @Test("a watching process receives sets of other processes, edits in place and replaced files, in order")
    func streams() async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/suite/settings.json")
            let suite = SettingsSuite(fileAt: place.path)
            // A suite with a stream creates its directory again when the directory is removed.
            defer { suite.finish() }
            let received = ReceivedValues(Setting("n", default: 0, suite: suite))
            try await withProbes(2, at: place) { probes in
                let (watcher, writer) = (probes[0], probes[1])
                try await watcher.watch("n", from: 0)
                await received.expect([0])

                func change(to value: Int, by change: () async throws -> Void) async throws {
                    // A journaled value takes precedence over an edit of the file.
                    try await writer.expect("checkpoint")
                    try await change()
                    try await watcher.expect(prints: "n is \(value)")
                    await received.expect([value])
                }
                try await change(to: 1) { try await writer.expect("set n 1") }
                try await change(to: 2) { try place.path.overwriteFile(with: #"{"n": 2}"#) }
                try await change(to: 3) { try place.path.replaceFile(with: #"{"n": 3}"#) }
                try await change(to: 4) { try await writer.expect("set n 4") }
                try await change(to: 0) {
                    // With the journal or the copy, the file would count as removed by accident.
                    for suffix in [".journal", ".last-good", ""] {
                        try FileManager.default.removeItem(atPath: place.path + suffix)
                    }
                }
                try await change(to: 5) { try place.path.replaceFile(with: #"{"n": 5, "other": 1}"#) }
                try await change(to: 6) { try await writer.expect("set n 6") }
                #expect(watcher.errorsExceptEmptyFile == "")
            }
        }
    }

    @Test("a watching process receives the last of many sets, in ascending order")
    func manySets() async throws {
        try await withProbes(3) { probes, _ in
            try await probes[0].watch("n", from: 0)
            for probe in probes[1...] { try probe.send("increment n 200") }
            var last = 0
            while last < 400 {
                let line = try await probes[0].line()
                let value = try #require(line.split(separator: " ").last.flatMap { Int($0) })
                #expect(value > last)
                last = value
            }
            for probe in probes[1...] { try await probe.expect() }
        }
    }
}

/// Collects the values of a stream.
private final class ReceivedValues: Sendable {
    private let values = Mutex<[Int]>([])
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ setting: Setting<Int>) {
        let task = Task { [weak self] in
            for await value in setting.values {
                self?.values.withLock { $0.append(value) }
            }
        }
        self.task.withLock { $0 = task }
    }

    deinit {
        task.withLock { $0?.cancel() }
    }

    /// Waits for these values and discards them.
    func expect(_ expected: [Int], sourceLocation: SourceLocation = #_sourceLocation) async {
        await eventually("the stream delivers the values", sourceLocation: sourceLocation) {
            values.withLock { $0.count >= expected.count }
        }
        let received = values.withLock { values in
            defer { values = [] }
            return values
        }
        #expect(received == expected, sourceLocation: sourceLocation)
    }
}
