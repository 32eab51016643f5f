// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

@testable import StoredSettings

/// A settings file with a small journal, and the contents after each of its records.
struct JournalSample {
    static let settings = "{\n  \"a\": 1,\n  \"kept\": \"x\"\n}\n"

    /// The journal's bytes: the page with the header, followed by the records.
    let journal: [UInt8]
    /// The contents before the first record and after each record.
    let states: [[String: StoredValue]]
    /// The start of the records, and the end of each record.
    let ends: [Int]

    /// Creates a journal in a directory, with a number of checkpoints and new epochs before the records are written.
    ///
    /// The second epoch has records of the first after its own, and the third has facts of the second beside its own.
    init(in directory: String, checkpoints: Int) throws {
        let path = directory + "/sample-\(checkpoints).json"
        try path.overwriteFile(with: Self.settings)
        let store = makeStore(path)
        for number in 0..<checkpoints {
            try store.commit {
                $0["old"] =
                    "long enough that a part of it remains after all records that the next epoch writes over it"
            }
            try store.commit {
                $0["old"] = .array([.integer(Int128(number)), "and some more of the same, with the start of a record"])
            }
            try store.commit { $0["old"] = nil }
            try store.checkpoint()
        }
        var states = [store.contents()]
        var ends = [JournalHeader.size]
        let commits: [(inout StoreTransaction) -> Void] = [
            { $0["a"] = 2 },
            { ($0["b"], $0["c"]) = (["text", .null], ["number": 0.5]) },
            { ($0["a"], $0["b"]) = (nil, "again") },
            { $0["d"] = true },
        ]
        for commit in commits {
            try store.commit(commit)
            states.append(store.contents())
            ends.append(Int(store.peek { $0.journal.position.end }))
        }
        journal = try Array(Data(contentsOf: URL(fileURLWithPath: path + ".journal")))
        (self.states, self.ends) = (states, ends)
    }

    var last: [String: StoredValue] { states.last ?? [:] }

    /// Writes the sample's files into a directory.
    func write(to path: String) throws {
        try Self.replace(path, with: Array(Self.settings.utf8))
        try Self.replace(path + ".last-good", with: Array(Self.settings.utf8))
        try Self.replace(path + ".journal", with: journal)
    }

    static func replace(_ path: String, with bytes: [UInt8]) throws {
        let file = try SystemCalls().open(path, O_WRONLY | O_CREAT)
        try SystemCalls().rewrite(file, with: bytes)
    }
}

/// Records the errors that a store reports.
final class ErrorRecorder: StoreObserver {
    private let caught = Mutex<[SettingsError]>([])

    var errors: [SettingsError] { caught.withLock { $0 } }

    func record(_ commit: StoreCommit) -> StoreDelivery { .none }

    func report(_ error: SettingsError) {
        caught.withLock { $0.append(error) }
    }
}
