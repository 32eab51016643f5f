// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@Suite("A journal that this version does not understand")
struct ForeignJournalTests {
    /// Kinds of journals that this version cannot read.
    enum Foreignness: CaseIterable, Sendable {
        case olderVersion
        case newerVersion
        case magic

        func apply(to journal: JournalFile) throws {
            switch self {
            case .olderVersion: try journal.overwriteWord(at: JournalFile.versionOffset, with: 2)
            case .newerVersion: try journal.overwriteWord(at: JournalFile.versionOffset, with: 4)
            case .magic: try journal.overwriteWord(at: JournalFile.magicOffset, with: 0x4C41_4E52_554F_4A21)
            }
        }

        var code: SettingsError.Code {
            switch self {
            case .olderVersion, .newerVersion: .newerFormat
            case .magic: .malformedJournal
            }
        }
    }

    @Test(
        "the file's values are read, sets fail with an error, nothing is written, and removing the journal fixes it",
        arguments: Foreignness.allCases
    )
    func opened(foreignness: Foreignness) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            try await withProbe(at: place) { probe in
                try await probe.expect("set n 1")
                try await probe.expect("finish")
            }
            let journal = JournalFile(of: place.path)
            try foreignness.apply(to: journal)
            let before = try contents(of: directory)

            let reporter = RecordingReporter()
            let suite = SettingsSuite(fileAt: place.path, reporter: reporter)
            let n = Setting("n", default: 0, suite: suite)
            #expect(n.value == 1)
            #expect(n.explain().problem?.code == foreignness.code)
            expectError(foreignness.code) { try n.load() }
            expectError(foreignness.code) { try n.set(2) }
            expectError(foreignness.code) { try suite.checkpoint() }
            #expect(reporter.errors.map(\.code) == [foreignness.code])
            #expect(reporter.errors.first?.location?.file == journal.path)
            #expect(n.value == 1)
            #expect(try contents(of: directory) == before)

            try journal.remove()
            try await n.set(3)
            #expect(n.value == 3)
            #expect(n.explain().problem == nil)
            try await withProbe(at: place) { probe in
                try await probe.expect("get n", prints: "3")
                try await probe.expect("set n 4")
            }
            #expect(n.value == 4)
        }
    }

    @Test(
        "when it replaces the journal in use, sets fail, and values that are not checkpointed are kept until it is removed",
        arguments: Foreignness.allCases
    )
    func appearing(foreignness: Foreignness) async throws {
        try await withTemporaryDirectory { directory in
            let place = Probe.Place.file("\(directory)/settings.json")
            let journal = JournalFile(of: place.path)
            try await withProbes(2, at: place) { probes in
                try await withoutCheckpoints(of: place.path) {
                    try await probes[0].expect("set n 1")
                    try await probes[1].expect("get n", prints: "1")
                    let copy = JournalFile(of: "\(directory)/copy")
                    try FileManager.default.copyItem(atPath: journal.path, toPath: copy.path)
                    try foreignness.apply(to: copy)
                    let foreign = try copy.bytes
                    #expect(rename(copy.path, journal.path) == 0)
                    // A process examines the path every 10 ms; until then, its sets are stored in the journal that it has open.
                    var stored = 0
                    for probe in probes {
                        var answer = ""
                        try await eventually("sets fail") {
                            try probe.send("set m \(stored + 10)")
                            answer = try await probe.line()
                            if answer == "done" { stored += 10 }
                            return answer != "done"
                        }
                        #expect(answer == "error \(foreignness.code)")
                    }
                    for probe in probes {
                        try await probe.expect("get n", prints: "1")
                        try await probe.expect("get m", prints: "\(stored)")
                    }
                    #expect(try journal.bytes == foreign)
                    try journal.remove()
                }
                try await probes[1].expect("set m 3")
                for probe in probes {
                    try await probe.expectSoon("m", is: 3)
                    try await probe.expectSoon("n", is: 1)
                }
                try await probes[0].expect("checkpoint")
                #expect(try document(at: place.path) as? [String: Int] == ["n": 1, "m": 3])
            }
        }
    }

    private func contents(of directory: String) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\($0)"))) }
        )
    }
}
