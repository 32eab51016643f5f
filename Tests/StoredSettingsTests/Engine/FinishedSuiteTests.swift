// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A finished suite")
struct FinishedSuiteTests {
    private let reporter = RecordingReporter()
    private let store = FailingStore(["port": 2])
    private let suite: SettingsSuite
    private let port: Setting<Int>
    private let full = SettingsError(.writeFailed, fact: "the disk is full", remedy: "make room")

    init() {
        suite = SettingsSuite(store: store, reporter: reporter)
        port = Setting("port", default: 1, suite: suite)
    }

    #if os(Linux)
    /// The number of descriptors and mappings of files in a directory.
    private func countFiles(in directory: String) throws -> Int {
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        let links = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map { link(number: $0) }
        return (maps.split(separator: "\n").map(String.init) + links).count { $0.contains(directory) }
    }

    private func link(number: String) -> String {
        do {
            return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
        } catch {
            // Another test has closed it.
            return ""
        }
    }

    @Test("a suite that is in use releases its files when it is finished, and its settings have the last values")
    func releasesFiles() async throws {
        try await withTemporaryDirectory { directory in
            let suite = SettingsSuite(fileAt: directory + "/settings.json", reporter: reporter)
            let port = Setting("port", default: 1, suite: suite)
            try await port.set(2)
            #expect(port.value == 2)
            await suite.finish()
            #expect(try countFiles(in: directory) == 0)
            #expect(port.value == 2)
        }
    }
    #endif

    @Test("after finishing, synchronize throws if values could not be saved, and checkpoint always throws")
    func afterFinishing() throws {
        suite.finish()
        try suite.synchronize()
        expectError(.suiteFinished) { try suite.checkpoint() }

        let store = FailingStore()
        let other = SettingsSuite(store: store, reporter: reporter)
        try other.setStoredValue(1, forKey: "a")
        store.failSynchronizing(with: full)
        other.finish()
        store.failSynchronizing(with: nil)
        expectError(.writeFailed) { try other.synchronize() }
        // Also after it is finished again.
        other.finish()
        expectError(.writeFailed) { try other.synchronize() }
        #expect(reporter.errors.map(\.code) == [.writeFailed])
    }

    @Test("a finished suite ignores and reports assignments, also inside another suite's transaction")
    func assignedAfterFinishing() throws {
        suite.finish()
        try SettingsSuite.inMemory().transaction { _ in port.value = 9 }
        #expect(port.value == 2)
        #expect(reporter.errors.map(\.code) == [.suiteFinished])
    }

    @Test(
        "a loop over all changes of a finished suite ends, whether it begins before or after",
        arguments: [true, false]
    )
    func lateLoop(isEarly: Bool) async {
        let early = isEarly ? suite.changes() : nil
        await suite.finish()
        let hasEnded = Flag()
        let loop = Task { [suite] in
            for await _ in early ?? suite.changes() {}
            hasEnded.set()
        }
        await eventually("the loop has ended") { hasEnded.isSet }
        loop.cancel()
    }

    @Test("a pending write of a finished suite remains readable and is never stored")
    func pendingWhenFinished() throws {
        // A retry that began before the end could save the value after it.
        let isFirst = suite.engine.isRetryScheduled.set()
        #expect(isFirst)
        store.fail(with: full)
        port.value = 3
        suite.finish()
        #expect(reporter.errors.last?.consequence.contains("later try") == false)
        store.fail(with: nil)
        expectError(.notSaved) { try suite.synchronize() }
        expectError(.suiteFinished) { try port.set(4) }
        #expect(port.value == 3)
        #expect(store.contents() == ["port": 2])
    }
}
