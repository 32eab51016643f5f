// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Promise 5: it never traps, whatever its files contain")
struct ForeignContentsTests {
    /// Contents of a file as left by people, programs and broken disks.
    private struct Contents: Sendable {
        let name: String
        let bytes: [UInt8]
        /// The values of a settings file with these contents; `nil` if it cannot be read.
        var values: Answers.Values?
        /// The values of keys other than `n` and `m`.
        var others: [String: Int] = [:]
        /// Whether a journal with these contents is unfinished, as after a power loss.
        var isUnfinishedJournal = false

        init(_ name: String, _ bytes: [UInt8], isUnfinishedJournal: Bool = false) {
            (self.name, self.bytes, self.isUnfinishedJournal) = (name, bytes, isUnfinishedJournal)
        }

        init(_ name: String, _ text: String, _ values: Answers.Values? = nil, others: [String: Int] = [:]) {
            (self.name, self.bytes, self.values, self.others) = (name, Array(text.utf8), values, others)
        }
    }

    private static let files: [Contents] = [
        Contents("empty", [], isUnfinishedJournal: true),
        Contents("blank", " \n"),
        Contents("zeros", [UInt8](repeating: 0, count: 10_000), isUnfinishedJournal: true),
        Contents("not UTF-8", (0...255).map { $0 }),
        Contents("deep", String(repeating: "[", count: 200_000)),
        Contents(
            "deep and closed",
            #"{"n": \#(String(repeating: "[", count: 5_000))\#(String(repeating: "]", count: 5_000))}"#
        ),
        Contents("huge numbers", #"{"n": 1e99999, "m": -99999999999999999999999999999999999999999999}"#),
        Contents(
            "integers that do not fit",
            #"{"n": 18446744073709551615, "m": -9223372036854775808}"#,
            Answers.Values(keys: 2, integer: 0, text: "18446744073709551615")
        ),
        Contents("half a surrogate", #"{"n": "\ud800", "\udc00": 1}"#),
        Contents("a byte order mark", "\u{FEFF}{\"n\": 5}", Answers.Values(keys: 1, integer: 5, text: "5")),
        Contents(
            "UTF-16",
            Array("{\"n\": 1}".utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] })
        ),
        Contents(
            "an empty key",
            #"{"": 1, "n": 2}"#,
            Answers.Values(keys: 2, integer: 2, text: "2"),
            others: ["": 1]
        ),
        Contents("a list", "[1, 2, 3]"),
        Contents("almost a journal", "SSJOURNAL of my own"),
        Contents("zeros before a text", "\0\0\0\0\0\0\0\0notes"),
    ]

    @Test(
        "a settings file with any contents is read, or left unchanged until it is valid",
        arguments: files.indices.sampled(5)
    )
    func settingsFile(index: Int) async throws {
        let file = Self.files[index]
        try await withSettingsPath { path in
            try write(file, to: path)
            try await withProbe(at: .file(path)) { probe in
                try await probe.expectAnswers(file.values.map(Answers.stored) ?? .broken())
                // Unusable contents are reported.
                #expect((probe.errors == "") == (file.values?.isUsable == true))
            }
            if file.values != nil {
                #expect(try document(at: path) as? [String: Int] == file.others.merging(["n": 1, "m": 2]) { $1 })
            } else {
                #expect(try bytes(of: path) == file.bytes)
                try await expectMerge(at: path)
            }
        }
    }

    @Test(
        "a last good copy with any contents is used beside a broken file, or ignored",
        arguments: files.indices.sampled(5)
    )
    func lastGoodCopy(index: Int) async throws {
        let file = Self.files[index]
        try await withSettingsPath { path in
            try path.overwriteFile(with: "{")
            try write(file, to: path + ".last-good")
            try await withProbe(at: .file(path)) { probe in
                try await probe.expectAnswers(.broken(lastGood: file.values ?? Answers.Values()))
                #expect(probe.errors != "")
            }
            #expect(try path.fileContents == "{")
            #expect(try bytes(of: path + ".last-good") == file.bytes)
            try await expectMerge(at: path)
        }
    }

    @Test(
        "a foreign file in the journal's place is left unchanged, and sets fail until it is removed",
        arguments: files.indices.sampled(5)
    )
    func journal(index: Int) async throws {
        let file = Self.files[index]
        try await withSettingsPath { path in
            try write(file, to: path + ".journal")
            try await withProbe(at: .file(path)) { probe in
                try await probe.expectAnswers(file.isUnfinishedJournal ? .stored() : .foreignJournal)
                #expect((probe.errors == "") == file.isUnfinishedJournal)
            }
            if file.isUnfinishedJournal {
                #expect(try document(at: path) as? [String: Int] == ["n": 1, "m": 2])
            } else {
                #expect(try bytes(of: path + ".journal") == file.bytes)
                #expect(!FileManager.default.fileExists(atPath: path))
                try JournalFile(of: path).remove()
                try await withProbe(at: .file(path)) { try await $0.expectAnswers(.stored()) }
            }
        }
    }

    @Test(
        "a file with any contents in the lock's place is used as the lock and keeps its contents",
        arguments: files.indices.sampled(5)
    )
    func lock(index: Int) async throws {
        let file = Self.files[index]
        try await withSettingsPath { path in
            try write(file, to: path + ".lock")
            try await withProbe(at: .file(path)) { probe in
                try await probe.expectAnswers(.stored())
                #expect(probe.errors == "")
            }
            #expect(try bytes(of: path + ".lock") == file.bytes)
            #expect(try document(at: path) as? [String: Int] == ["n": 1, "m": 2])
        }
    }

    private func write(_ file: Contents, to path: String) throws {
        try Data(file.bytes).write(to: URL(fileURLWithPath: path))
    }

    private func bytes(of path: String) throws -> [UInt8] {
        try Array(Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Expects that sets made while the file was broken are merged into its valid replacement.
    private func expectMerge(at path: String) async throws {
        try path.replaceFile(with: #"{"k": 3, "n": 4}"#)
        try await withProbe(at: .file(path)) { probe in
            for (key, value) in [("n", 1), ("m", 2), ("k", 3)] {
                try await probe.expect("get \(key)", prints: "\(value)")
            }
            try await probe.expect("checkpoint")
        }
        #expect(try document(at: path) as? [String: Int] == ["n": 1, "m": 2, "k": 3])
    }
}

extension Answers.Values {
    /// Whether the stored value of `n` is an integer that fits.
    fileprivate var isUsable: Bool { text == "\(integer)" }
}
