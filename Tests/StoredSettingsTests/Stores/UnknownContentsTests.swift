// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

/// Stored values are unknown while the settings file cannot be read, so only changes that do not depend on them
/// succeed.
@Suite("An unreadable settings file")
struct UnknownContentsTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()

    private func suite(_ path: String, checkpointsInBackground: Bool = false) -> SettingsSuite {
        let store = FileStore(path: path, system: faults.system, checkpointsInBackground: checkpointsInBackground)
        return SettingsSuite(store: store, reporter: reporter)
    }

    private func expectNoUpdate(of suite: SettingsSuite, _ codes: SettingsError.Code...) throws {
        let counter = Setting("counter", default: 0, suite: suite)
        var hasRun = false
        let update = try #require(
            settingsError {
                try counter.update {
                    hasRun = true
                    $0 += 1
                }
            }
        )
        let transaction = try #require(settingsError { try suite.transaction { _ in hasRun = true } })
        #expect(!hasRun)
        for error in [update, transaction] {
            #expect(codes.contains(error.code))
            #expect(error.consequence.contains("nothing is changed"))
            #expect(!error.remedy.isEmpty)
        }
    }

    @Test(
        "an update throws in a process that has never read the file, and a set is merged once it can be read",
        arguments: [EMFILE, EACCES, EIO, ELOOP]
    )
    func newProcess(number: CInt) async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"counter": 41, "port": 1}"#)
            faults.fail(.open, with: number) { $0 == path }
            let suite = suite(path)
            try expectNoUpdate(of: suite, .readFailed)
            try await Setting("port", default: 0, suite: suite).set(2)
            #expect(suite[storedValueFor: "port"] == 2)
            faults.stop()
            // Another thread retries this read by itself, and may have failed just before.
            if number == EMFILE { (suite.engine.store as? FileStore)?.lookAndWait() }
            let counter = Setting("counter", default: 0, suite: suite)
            #expect(try await counter.update { $0 += 1 } == 42)
            #expect(suite.snapshot() == ["counter": 42, "port": 2])
            try await suite.checkpoint()
            #expect(try JSONReader.readObject(Array(path.fileContents.utf8)) == ["counter": 42, "port": 2])
        }
    }

    @Test("setting the value that is in memory stores it while the file cannot be read")
    func equalValue() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"port": 1, "host": "a"}"#)
            faults.fail(.open, with: EMFILE) { $0 == path }
            let suite = suite(path)
            #expect(suite[storedValueFor: "port"] == nil)
            try await suite.setStoredValue(nil, forKey: "port")
            faults.stop()
            // Another thread retries this read by itself, and may have failed just before.
            (suite.engine.store as? FileStore)?.lookAndWait()
            #expect(try await suite.transaction { $0[storedValueFor: "port"] } == nil)
            #expect(suite.snapshot() == ["host": "a"])
        }
    }

    @Test("an update throws in a process whose values are older than the unreadable file")
    func changedSince() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"counter": 1}"#)
            let suite = suite(path)
            #expect(suite[storedValueFor: "counter"] == 1)
            faults.fail(.open, with: EMFILE) { $0 == path }
            try path.replaceFile(with: #"{"counter": 41}"#)
            await eventually("the failure is noticed") {
                (suite.engine.store as? FileStore)?.look()
                return reporter.errors.map(\.code) == [.readFailed]
            }
            try expectNoUpdate(of: suite, .readFailed)
            faults.stop()
            // Another thread retries this read by itself, and may have failed just before.
            (suite.engine.store as? FileStore)?.lookAndWait()
            await #expect(try Setting("counter", default: 0, suite: suite).update { $0 += 1 } == 42)
        }
    }

    @Test("an update throws when the file's status cannot be determined")
    func unknownStatus() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"counter": 41}"#)
            faults.fail(.status, with: EIO) { $0 == path }
            let suite = suite(path)
            try expectNoUpdate(of: suite, .readFailed, .writeFailed)
            faults.stop()
            #expect(try await Setting("counter", default: 0, suite: suite).update { $0 += 1 } == 42)
        }
    }

    @Test("an update of a malformed file uses the last good values and throws if there are none")
    func malformed() async throws {
        try await withSettingsPath { path in
            let first = suite(path)
            try await first.setStoredValue(41, forKey: "counter")
            try await first.checkpoint()
            try path.overwriteFile(with: "{\"counter\": ")
            try path.backdateFile(by: 10)
            let second = suite(path)
            await #expect(try Setting("counter", default: 0, suite: second).update { $0 += 1 } == 42)
            try FileManager.default.removeItem(atPath: path + ".last-good")
            try expectNoUpdate(of: suite(path), .malformedFile)
            // A process that has read the file still has its values.
            await #expect(try Setting("counter", default: 0, suite: first).update { $0 += 1 } == 43)
            try path.replaceFile(with: #"{"counter": 1, "host": "a"}"#)
            await eventually("the file is read") {
                (first.engine.store as? FileStore)?.look()
                return first[storedValueFor: "host"] == "a"
            }
            #expect(first[storedValueFor: "counter"] == 43)
        }
    }
}

@Suite("A missing settings file")
struct MissingFileTests {
    private let reporter = RecordingReporter()

    private func suite(_ path: String) -> SettingsSuite {
        SettingsSuite(store: makeStore(path), reporter: reporter)
    }

    private func stored(at path: String) throws -> [String: StoredValue] {
        try JSONReader.readObject(Array(path.fileContents.utf8))
    }

    /// Stores a counter of 41 in a settings file.
    private func makeFile(_ path: String) throws -> SettingsSuite {
        let suite = suite(path)
        try suite.setStoredValue(41, forKey: "counter")
        try suite.checkpoint()
        return suite
    }

    /// Runs a body with a suite whose file has the port 1 and no journal, and with the ports that an observer receives.
    private func withObservedPort(
        _ body: (_ path: String, SettingsSuite, Setting<Int>, _ received: CallLog<Int>) async throws -> Void
    ) async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"port": 1}"#)
            let suite = suite(path)
            let port = Setting("port", default: 0, suite: suite)
            let received = CallLog<Int>()
            let observation = port.observe { received.add($0.new) }
            try await body(path, suite, port, received)
            observation.invalidate()
            await suite.finish()
        }
    }

    @Test("a new process uses the last good copy, and its checkpoint restores the file")
    func newProcess() async throws {
        try await withSettingsPath { path in
            try await makeFile(path).finish()
            try FileManager.default.removeItem(atPath: path)
            let suite = suite(path)
            #expect(try await Setting("counter", default: 0, suite: suite).update { $0 += 1 } == 42)
            #expect(reporter.errors.map(\.code) == [.readFailed])
            try await suite.setStoredValue(true, forKey: "new")
            try await suite.checkpoint()
            #expect(try stored(at: path) == ["counter": 42, "new": true])
            #expect(suite[storedValueFor: "counter"] == 42)
            #expect(reporter.errors.count == 1)
        }
    }

    @Test("a running process retains the values, reports the missing file once and restores it")
    func runningProcess() async throws {
        try await withSettingsPath { path in
            let suite = try makeFile(path)
            try FileManager.default.removeItem(atPath: path)
            await eventually("the missing file is reported") {
                _ = suite[storedValueFor: "counter"]
                (suite.engine.store as? FileStore)?.look()
                return !reporter.errors.isEmpty
            }
            #expect(suite[storedValueFor: "counter"] == 41)
            await #expect(try Setting("counter", default: 0, suite: suite).update { $0 += 1 } == 42)
            try await suite.checkpoint()
            #expect(try stored(at: path) == ["counter": 42])
            #expect(reporter.errors.map(\.code) == [.readFailed])
        }
    }

    @Test("a stream keeps the value of a file that is moved aside and generated anew, and the missing file is reported")
    func generatedAnew() async throws {
        try await withObservedPort { path, suite, port, received in
            #expect(rename(path, path + "~") == 0)
            await eventually("the missing file is reported") { reporter.errors.map(\.code) == [.readFailed] }
            #expect(port.value == 1 && received.all.isEmpty)
            #expect(reporter.errors.map(\.consequence) == ["the values that were read last are used"])
            try path.overwriteFile(with: #"{"port": 2}"#)
            await eventually("the new value is received") { received.all == [2] }
            await eventually("the recovery is reported") { reporter.recoveries.map(\.code) == [.readFailed] }
            // Without a journal, nothing shows a new process that there was a file.
            #expect(rename(path, path + "~") == 0)
            await eventually("the missing file is reported") { reporter.errors.count == 2 }
            #expect(self.suite(path).snapshot() == [:])
            try await Setting("host", default: "", suite: suite).set("a")
            #expect(port.value == 2)
            try await suite.checkpoint()
            #expect(try stored(at: path) == ["host": "a", "port": 2])
        }
    }

    /// A change that is the first one of a suite without a journal.
    enum FirstChange: CaseIterable { case update, set, byOther }

    @Test("the first change while a file is moved aside keeps its values", arguments: FirstChange.allCases)
    func firstChange(_ change: FirstChange) async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"counter": 41, "host": "a"}"#)
            // It looks again by itself, also when nothing but time has passed.
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            let counter = Setting("counter", default: 0, suite: suite)
            #expect(counter.value == 41)
            #expect(rename(path, path + "~") == 0)
            switch change {
            case .update: #expect(try await counter.update { $0 += 1 } == 42)
            case .set: try await counter.set(42)
            case .byOther: try makeStore(path).commit { $0["counter"] = 42 }
            }
            // The first journal of another process is noticed within a tenth of a second.
            await eventually("the change is read") { counter.value == 42 }
            #expect(suite.snapshot() == ["counter": 42, "host": "a"])
            try await suite.checkpoint()
            #expect(try stored(at: path) == ["counter": 42, "host": "a"])
            await suite.finish()
        }
    }

    @Test("the values of a file are not those of another directory", arguments: [true, false])
    func otherDirectory(hasJournal: Bool) async throws {
        try await withTemporaryDirectory { directory in
            for name in ["first", "second"] { #expect(mkdir("\(directory)/\(name)", 0o700) == 0) }
            try "\(directory)/first/settings.json".overwriteFile(with: #"{"port": 1}"#)
            if hasJournal { try makeStore("\(directory)/second/settings.json").commit { $0["host"] = "a" } }
            #expect(symlink("first", directory + "/current") == 0)
            let suite = SettingsSuite(fileAt: directory + "/current/settings.json", reporter: reporter)
            #expect(suite[storedValueFor: "port"] == 1)
            #expect(symlink("second", directory + "/new") == 0)
            #expect(rename(directory + "/new", directory + "/current") == 0)
            await eventually("the other directory is used") { suite[storedValueFor: "port"] == nil }
            #expect(suite.snapshot() == (hasJournal ? ["host": "a"] : [:]))
            await suite.finish()
        }
    }

    @Test("the values of a file are not those of the directory to which the path leads when it has been read")
    func otherDirectoryMeanwhile() async throws {
        try await withTemporaryDirectory { directory in
            for name in ["first", "second"] { #expect(mkdir("\(directory)/\(name)", 0o700) == 0) }
            let path = directory + "/current/settings.json"
            try "\(directory)/first/settings.json".overwriteFile(with: #"{"port": 1}"#)
            #expect(symlink("first", directory + "/current") == 0)
            let switching = Interruption(before: .read) { $0.hasSuffix("settings.json") }
            let store = makeStore(path, switching.system)
            #expect(store.contents() == ["port": 1])
            try path.replaceFile(with: #"{"port": 2}"#)
            switching.run {
                #expect(symlink("second", directory + "/new") == 0)
                #expect(rename(directory + "/new", directory + "/current") == 0)
                store.look()
            }
            store.look()
            #expect(switching.hasRun)
            await eventually("the other directory is used") {
                store.look()
                return store.contents() == [:]
            }
            try store.commit { $0["host"] = "a" }
            #expect(store.contents() == ["host": "a"])
        }
    }

    @Test("the values remain in use if a file without a journal is broken and then removed, and both are reported")
    func brokenAndRemoved() async throws {
        try await withObservedPort { path, suite, port, received in
            try path.replaceFile(with: "{")
            await eventually("the broken file is reported") { reporter.errors.map(\.code) == [.malformedFile] }
            try FileManager.default.removeItem(atPath: path)
            await eventually("the missing file is reported") {
                reporter.errors.map(\.code) == [.malformedFile, .readFailed]
            }
            #expect(port.value == 1 && received.all.isEmpty)
            try path.replaceFile(with: #"{"port": 2}"#)
            await eventually("both have recovered") {
                reporter.recoveries.map(\.code) == [.malformedFile, .readFailed]
            }
            await eventually("the new value is received") { received.all == [2] }
        }
    }

    @Test(
        "a process that only reads does not write a missing file when it ends, and uses the defaults without the directory"
    )
    func readOnly() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/sub/settings.json"
            try FileManager.default.createDirectory(atPath: directory + "/sub", withIntermediateDirectories: false)
            for isRemoved in [false, true] {
                try path.overwriteFile(with: #"{"port": 1}"#)
                let suite = suite(path)
                let port = Setting("port", default: 0, suite: suite)
                let received = CallLog<Int>()
                let observation = port.observe { received.add($0.new) }
                try FileManager.default.removeItem(atPath: isRemoved ? directory + "/sub" : path)
                await eventually("the removal is noticed") {
                    isRemoved ? received.all == [0] : !reporter.errors.isEmpty
                }
                observation.invalidate()
                await suite.finish()
                #expect(!FileManager.default.fileExists(atPath: path))
            }
        }
    }

    /// Writes down what is reported, in order.
    private final class OrderedReporter: SettingsReporter {
        let log = CallLog<String>()
        func report(_ error: SettingsError) { log.add("error") }
        func reportRecovery(from error: SettingsError) { log.add("recovery") }
    }

    @Test("a missing file that the last checkpoint writes again is reported before its recovery")
    func lastCheckpoint() async throws {
        try await withSettingsPath { path in
            try await makeFile(path).finish()
            let reporter = OrderedReporter()
            let suite = SettingsSuite(fileAt: path, reporter: reporter)
            try await suite.setStoredValue(42, forKey: "counter")
            try FileManager.default.removeItem(atPath: path)
            try await suite.setStoredValue(43, forKey: "counter")
            await suite.finish()
            #expect(reporter.log.all == ["error", "recovery"])
            #expect(try stored(at: path) == ["counter": 43])
        }
    }

    @Test("an explicit checkpoint restores the file even if nothing was set")
    func explicitCheckpoint() async throws {
        try await withSettingsPath { path in
            try await makeFile(path).finish()
            try FileManager.default.removeItem(atPath: path)
            try await suite(path).checkpoint()
            #expect(try stored(at: path) == ["counter": 41])
        }
    }

    @Test("an update throws when the file and its copy are missing but the journal shows that there was a file")
    func withoutCopy() async throws {
        try await withSettingsPath { path in
            try await makeFile(path).finish()
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.removeItem(atPath: path + ".last-good")
            let suite = suite(path)
            let counter = Setting("counter", default: 0, suite: suite)
            #expect(settingsError { try counter.update { $0 += 1 } }?.code == .readFailed)
            try await counter.set(1)
            #expect(counter.value == 1)
            #expect(settingsError { try suite.checkpoint() }?.code == .readFailed)
            try path.replaceFile(with: #"{"host": "a"}"#)
            try await suite.checkpoint()
            #expect(try stored(at: path) == ["counter": 1, "host": "a"])
        }
    }

    @Test("no values remain when the file, its copy and its journal are removed")
    func allRemoved() async throws {
        try await withSettingsPath { path in
            let running = try makeFile(path)
            for suffix in [".journal", ".last-good", ""] {
                try FileManager.default.removeItem(atPath: path + suffix)
            }
            let new = suite(path)
            #expect(new.snapshot() == [:])
            try await Setting("counter", default: 0, suite: new).update { $0 += 1 }
            await eventually("the running process reads the new value") {
                (running.engine.store as? FileStore)?.look()
                return running[storedValueFor: "counter"] == 1
            }
            #expect(reporter.errors.isEmpty)
        }
    }
}
