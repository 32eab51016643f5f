// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

/// Corrupts the journal of a sample and checks how a store reads it.
struct JournalTrial {
    let sample: JournalSample
    private let path: String
    private let journalPath: String
    private let label: String

    /// Writes the sample's files into a directory; the label names the sample in messages.
    init(of sample: JournalSample, in directory: String, label: String) throws {
        self.sample = sample
        self.label = label
        path = directory + "/settings.json"
        journalPath = path + ".journal"
        try sample.write(to: path)
    }

    /// The expected behavior of a store with a corrupted journal.
    struct Expectation {
        /// The numbers of records that the contents may include.
        var counts: ClosedRange<Int>
        /// The code of the error that is reported, and thrown by a set if the journal cannot be repaired.
        var code: SettingsError.Code?
        /// Whether the error may be missing.
        var isReportOptional = false
        var canSet = true
    }

    /// Overwrites the journal, opens it, and checks the expectation.
    ///
    /// The description of the change is used in messages. Setting a value as well takes longer.
    func run(_ journal: [UInt8], _ change: @autoclosure () -> String, isSetting: Bool, _ expected: Expectation) throws {
        try JournalSample.replace(journalPath, with: journal)
        let (store, recorder) = (makeStore(path), ErrorRecorder())
        store.setObserver(recorder)
        let contents = store.contents()

        let isExpected = sample.states[expected.counts].contains(contents)
        check(isExpected, change(), "read \(contents)")
        let codes = recorder.errors.map(\.code)
        let isReported = codes == (expected.code.map { [$0] } ?? []) || expected.isReportOptional && codes.isEmpty
        check(isReported, change(), "reported \(codes)")
        // Missing records are reported.
        check(contents == sample.last || !codes.isEmpty || expected.isReportOptional, change(), "reported no loss")
        check(try Self.bytes(of: journalPath) == journal, change(), "reading has changed the journal")
        if isSetting { try set(store, contents, journal, change(), expected) }
        check(try Self.bytes(of: path) == Array(JournalSample.settings.utf8), change(), "the settings file was changed")
    }

    private func set(
        _ store: FileStore,
        _ contents: [String: StoredValue],
        _ journal: [UInt8],
        _ change: @autoclosure () -> String,
        _ expected: Expectation
    ) throws {
        do {
            try store.commit { $0["new"] = 9 }
            check(expected.canSet, change(), "a set succeeded")
            let after = contents.merging(["new": 9]) { $1 }
            check(store.contents() == after, change(), "after a set, read \(store.contents())")
            let (newStore, recorder) = (makeStore(path), ErrorRecorder())
            newStore.setObserver(recorder)
            check(newStore.contents() == after, change(), "after a set, a new store reads \(newStore.contents())")
            check(recorder.errors.isEmpty, change(), "after a set, a new store reports \(recorder.errors.map(\.code))")
        } catch let error as SettingsError {
            check(!expected.canSet && error.code == expected.code, change(), "a set fails with \(error)")
            check(try Self.bytes(of: journalPath) == journal, change(), "a failed set has changed the journal")
        }
    }

    private func check(_ condition: Bool, _ change: @autoclosure () -> String, _ message: @autoclosure () -> String) {
        if !condition { Issue.record("\(label), \(change()): \(message())") }
    }

    private static func bytes(of path: String) throws -> [UInt8] {
        let file = try SystemCalls().open(path, O_RDONLY)
        return try SystemCalls().contents(of: file, in: 0..<SystemCalls().status(of: file).size)
    }
}
