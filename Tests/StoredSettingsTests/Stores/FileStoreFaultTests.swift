// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("FileStore with failing system calls")
struct FileStoreFaultTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()

    private func suite(_ path: String) -> SettingsSuite {
        SettingsSuite(store: FileStore(path: path, system: faults.system), reporter: reporter)
    }

    @Test(
        "a failed set changes no file, and a failed assignment is reported, readable and retried",
        arguments: [(SystemCalls.Name.write, ENOSPC), (.write, EDQUOT), (.write, EIO), (.lock, ENOLCK)]
    )
    func failingSet(call: SystemCalls.Name, number: CInt) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let suite = suite(path)
            let port = Setting("port", default: 1, suite: suite)
            port.value = 2
            try await suite.checkpoint()
            faults.fail(call, with: number)
            port.value = 3
            #expect(port.value == 3)
            try expectAdvice(of: #require(reporter.errors.last))
            expectError(.notSaved) { try suite.synchronize() }
            #expect(throws: SettingsError.self) { try port.set(4) }
            #expect(try path.fileContents == "{\n  \"port\": 2\n}\n")
            #expect(SettingsSuite(fileAt: path).snapshot() == ["port": 2])
            faults.stop()
            try await eventually("the value is saved after the fault ends") {
                try path.fileContents == "{\n  \"port\": 3\n}\n"
            }
            try await suite.synchronize()
            try expectFiles(of: directory)
        }
    }

    @Test("a checkpoint succeeds although the program closes a descriptor that it uses")
    func closedDescriptor() async throws {
        try await withSettingsPath { path in
            /// The number of calls before the one that fails; `nil` after it has failed.
            let remaining = Mutex<Int?>(nil)
            let system = SystemCalls { call, _ in
                // These do not all use descriptors.
                guard ![.publish, .thread, .status].contains(call) else { return nil }
                return remaining.withLock { remaining in
                    guard let count = remaining else { return nil }
                    remaining = count == 0 ? nil : count - 1
                    return count == 0 ? EBADF : nil
                }
            }
            let store = makeStore(path, system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            for number in 0..<1_000 {
                try await suite.setStoredValue(.integer(Int128(number)), forKey: "a")
                remaining.withLock { $0 = number }
                try await suite.checkpoint()
                #expect(try path.fileContents == "{\n  \"a\": \(number)\n}\n")
                #expect(reporter.errors.map(\.message) == [])
                // A checkpoint has made fewer calls.
                guard remaining.withLock({ $0.take() }) == nil else { return #expect(number > 20) }
            }
            Issue.record("No checkpoint has ended before the call that fails.")
        }
    }

    @Test("a directory in which no file can be renamed or removed has at most one draft, which is empty")
    func appendOnlyDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let store = makeStore(path, faults.system)
            try store.commit { $0["a"] = 1 }
            try store.checkpoint()
            for call in [SystemCalls.Name.rename, .unlink] { faults.fail(call, with: EPERM) }
            for number in 2...5 {
                try store.commit { $0["a"] = .integer(Int128(number)) }
                expectError(.readOnly) { try store.checkpoint() }
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            let drafts = names.filter { $0.hasSuffix(".new") }
            #expect(drafts.count == 1)
            for draft in drafts { #expect(try "\(directory)/\(draft)".fileContents == "") }
            faults.stop()
            try store.checkpoint()
            #expect(try path.fileContents == "{\n  \"a\": 5\n}\n")
            try expectFiles(of: directory)
        }
    }

    @Test("a problem of checkpoints that write the file is reported once until it changes or is over")
    func lastingProblem() async throws {
        try await withSettingsPath { path in
            let store = makeStore(path, faults.system)
            let suite = SettingsSuite(store: store, reporter: reporter)
            func checkpoint(_ numbers: ClosedRange<Int>) throws {
                for number in numbers {
                    try suite.setStoredValue(.integer(Int128(number)), forKey: "a")
                    try suite.checkpoint()
                    #expect(try path.fileContents == "{\n  \"a\": \(number)\n}\n")
                }
            }
            for round in 1...2 {
                faults.fail(.rename, with: ENOSPC) { $0.hasSuffix(".last-good") }
                try checkpoint(1...3)
                #expect(reporter.errors.count == 2 * round - 1)
                faults.fail(.rename, with: EIO) { $0.hasSuffix(".last-good") }
                try checkpoint(4...6)
                #expect(reporter.errors.count == 2 * round)
                // The first cause is over.
                #expect(reporter.recoveries.count == 2 * round - 1)
                faults.stop()
                try checkpoint(7...8)
                #expect(reporter.errors.count == 2 * round)
                #expect(reporter.recoveries.map(\.message) == reporter.errors.map(\.message))
            }
        }
    }

    @Test("a file system without space for the header of the journal is full at once, and has lost nothing afterwards")
    func headerWithoutSpace() async throws {
        try await withSettingsPath { path in
            let current = Mutex<FileStore?>(nil)
            let attempts = Mutex(0)
            let system = SystemCalls { call, called in
                guard call == .lock, called == path + ".journal", let store = current.withLock(\.self) else {
                    return nil
                }
                attempts.withLock { $0 += 1 }
                // What the handler does when a store to the page raises a signal for lack of space on the disk.
                guard let page = store.peek({ $0.journal.journal?.page }) else { return nil }
                #expect(SystemCalls.mapZeros(at: page.address(of: .magic), SharedPage.size))
                return nil
            }
            let store = makeStore(path, system)
            try store.commit { $0["a"] = 1 }
            current.withLock { $0 = store }
            for number in 2...3 {
                let error = try #require(settingsError { try store.commit { $0["a"] = .integer(Int128(number)) } })
                #expect((error.underlying as? SystemError)?.number == ENOSPC)
                #expect(error.remedy.contains("free space"))
            }
            #expect(attempts.withLock { $0 } < 10)
            current.withLock { $0 = nil }
            #expect(store.value(forKey: "a") == 1)
            try store.commit { $0["b"] = 2 }
            #expect(makeStore(path).contents() == ["a": 1, "b": 2])
        }
    }

    /// Checks that the error has a fact, a consequence and a remedy.
    private func expectAdvice(of error: SettingsError) throws {
        #expect([.writeFailed, .readOnly, .readFailed].contains(error.code))
        #expect(!error.fact.isEmpty && !error.consequence.isEmpty && !error.remedy.isEmpty)
    }

    /// Checks that no draft is left.
    private func expectFiles(of directory: String) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        let suffixes = ["", ".journal", ".last-good", ".lock"]
        #expect(names == suffixes.map { "settings.json" + $0 })
    }

    @Test("a directory without write permission makes the suite read-only and its values readable")
    func readOnly() async throws {
        try await withSettingsPath { path in
            try path.overwriteFile(with: #"{"a": 1}"#)
            faults.fail(.access, with: EROFS)
            let suite = suite(path)
            #expect(suite[storedValueFor: "a"] == 1)
            #expect(suite.persistence == .readOnly(path: path, reason: "Read-only file system"))
            expectError(.readOnly) { try suite.setStoredValue(2, forKey: "a") }
        }
    }

    @Test("a file system that cannot share memory makes a suite read-only, and the error says what it lacks")
    func withoutSharing() async throws {
        try await withTemporaryDirectory { directory in
            faults.fail(.map, with: ENODEV)
            let suite = suite(directory + "/settings.json")
            let error = settingsError { try suite.setStoredValue(1, forKey: "a") }
            #expect(error?.code == .readOnly)
            #expect(error?.fact.contains("does not let processes share memory") == true)
            #expect(error?.remedy.contains("local file system") == true)
            #expect(settingsError { try suite.synchronize() }?.code == .readOnly)
            guard case .readOnly(_, let reason) = suite.persistence else {
                Issue.record("it is said to be durable")
                return
            }
            #expect(reason.contains("share memory"))
        }
    }

    @Test("changes are noticed by polling when the system has no watches", arguments: [EMFILE, ENOSYS])
    func polling(number: CInt) async throws {
        try await withSettingsPath { path in
            faults.fail(.watch, with: number)
            // One without a subscriber looks only when it is read.
            let reader = suite(path)
            #expect(reader.snapshot() == [:])
            let values = Setting("a", default: 0, suite: suite(path)).values
            let seen = Task {
                for await value in values where value == 7 { return value }
                return -1
            }
            try path.replaceFile(with: #"{"a": 7}"#)
            #expect(await within { await seen.value } == 7)
            await eventually("the edit is read") { reader.snapshot() == ["a": 7] }
        }
    }

    @Test("a file that is overwritten while it is read is not reported as malformed, however old it was before")
    func overwrittenDuringRead() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            try path.overwriteFile(with: #"{"a": 1}"#)
            let texts = Mutex<[String]>([])
            let system = SystemCalls { call, name in
                guard call == .open, name == path else { return nil }
                let text = texts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                // The store has checked the file's status and reads the contents that are there now.
                if let text { #expect(throws: Never.self) { try path.overwriteFile(with: text) } }
                return nil
            }
            let suite = SettingsSuite(store: FileStore(path: path, system: system), reporter: reporter)
            #expect(suite[storedValueFor: "a"] == 1)
            let next = directory + "/next.json"
            try next.overwriteFile(with: #"{"a": 2}"#)
            let old = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: 1e9)]
            try FileManager.default.setAttributes(old, ofItemAtPath: next)
            texts.withLock { $0 = ["", #"{"a": 3}"#] }
            #expect(rename(next, path) == 0)
            let changes = suite.changes()
            await eventually("the complete file is read") { suite[storedValueFor: "a"] == 3 }
            #expect(reporter.errors.isEmpty)
            _ = changes
        }
    }
}
