// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

/// Spoils the journal of a sample and looks what a store makes of it.
struct JournalTrial {
    let sample: JournalSample
    private let path: String
    private let journalPath: String
    private let what: String

    /// Puts the sample's files into a directory; `what` names it in messages.
    init(of sample: JournalSample, in directory: String, what: String) throws {
        self.sample = sample
        self.what = what
        path = directory + "/settings.json"
        journalPath = path + ".journal"
        try sample.write(to: path)
    }

    /// What a store has to make of a journal.
    struct Expectation {
        /// After how many of its records the contents may be those that are served.
        var counts: ClosedRange<Int>
        /// What is told and, if that cannot be mended, thrown by a set; `nil` for nothing.
        var code: SettingsError.Code?
        /// Whether it may be told or not.
        var mayBeSilent = false
        var canSet = true
    }

    /// Writes a journal over the one that is there, opens it, and looks whether all is as it should be.
    ///
    /// The change that was made to it is for messages. Setting something, too, takes longer.
    func run(_ journal: [UInt8], _ change: @autoclosure () -> String, isSetting: Bool, _ expected: Expectation) throws {
        try JournalSample.replace(journalPath, with: journal)
        let (store, catcher) = (FileStore(path: path, checkpointsInBackground: false), FailureCatcher())
        store.setObserver(catcher)
        let contents = store.contents()

        let isUsed = sample.states[expected.counts].contains(contents)
        check(isUsed, change(), "served \(contents)")
        let codes = catcher.errors.map(\.code)
        let isTold = codes == (expected.code.map { [$0] } ?? []) || expected.mayBeSilent && codes.isEmpty
        check(isTold, change(), "told \(codes)")
        // What is shorter than all that was there is told of.
        check(contents == sample.last || !codes.isEmpty || expected.mayBeSilent, change(), "told nothing of a loss")
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
            check(expected.canSet, change(), "a set was taken")
            let after = contents.merging(["new": 9]) { $1 }
            check(store.contents() == after, change(), "after a set, served \(store.contents())")
            let (newcomer, catcher) = (FileStore(path: path, checkpointsInBackground: false), FailureCatcher())
            newcomer.setObserver(catcher)
            check(newcomer.contents() == after, change(), "after a set, others are served \(newcomer.contents())")
            check(catcher.errors.isEmpty, change(), "after a set, others are told \(catcher.errors.map(\.code))")
        } catch let error as SettingsError {
            check(!expected.canSet && error.code == expected.code, change(), "a set fails with \(error)")
            check(try Self.bytes(of: journalPath) == journal, change(), "a set that fails has changed the journal")
        }
    }

    private func check(_ condition: Bool, _ change: @autoclosure () -> String, _ problem: @autoclosure () -> String) {
        if !condition { Issue.record("\(what), \(change()): \(problem())") }
    }

    private static func bytes(of path: String) throws -> [UInt8] {
        let file = try SystemCalls().open(path, O_RDONLY)
        return try SystemCalls().contents(of: file, in: 0..<SystemCalls().status(of: file).size)
    }
}
