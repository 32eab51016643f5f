// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import TestSupport
import Testing

@Suite("A settings file that is edited while processes use it")
struct EditedFileTests {
    /// Ways in which people and programs change the contents of a file.
    enum Edit: CaseIterable, Sendable {
        case inPlace
        case replaced
        case movedAsideAndWritten
        case removedAndWritten

        func apply(_ text: String, to path: String) throws {
            switch self {
            case .inPlace: try path.overwriteFile(with: text)
            case .replaced: try path.replaceFile(with: text)
            case .movedAsideAndWritten:
                #expect(rename(path, path + "~") == 0)
                try path.overwriteFile(with: text)
            case .removedAndWritten:
                try FileManager.default.removeItem(atPath: path)
                try path.overwriteFile(with: text)
            }
        }

        /// What a process may report when the machine is busy, so that the edit takes longer than the library waits.
        var reportsOfUnfinishedEdit: [String] {
            switch self {
            case .inPlace, .replaced: ["the file is empty"]
            case .movedAsideAndWritten, .removedAndWritten:
                ["the file is missing. ", "is settled: the file is missing", "the file is empty"]
            }
        }
    }

    @Test("the next process that reads the values of a killed one writes them into the file, so that a later edit wins")
    func editedAfterKill() async throws {
        try await withProbes(2) { probes, place in
            try await probes[0].expect("set a 1")
            try await probes[0].expect("checkpoint")
            try await withoutCheckpoints(of: place.path) {
                try await probes[0].expect("set a 2")
                probes[0].kill()
            }
            try await withProbe(at: place) { reader in
                try await reader.expect("get a", prints: "2")
                try await reader.finish()
            }
            #expect(try document(at: place.path)["a"] as? Int == 2)
            try Edit.replaced.apply(#"{"a": 50}"#, to: place.path)
            try await probes[1].expect("get a", prints: "50")
        }
    }

    @Test(
        "all processes read a hand edit, and journaled sets take precedence over it",
        arguments: Edit.allCases
    )
    func edited(edit: Edit) async throws {
        try await withProbes(2) { probes, place in
            try await probes[0].expect("set a 1")
            try await probes[0].expect("set b 1")
            try await probes[0].expect("checkpoint")
            try await probes[1].expect("get b", prints: "1")
            try await withoutCheckpoints(of: place.path) {
                try await probes[0].expect("set b 2")
                try edit.apply(#"{"a": 10, "b": 10, "by hand": [true]}"#, to: place.path)
                for probe in probes {
                    try await probe.expectSoon("a", is: 10)
                    try await probe.expect("get b", prints: "2")
                }
                // A process that opens the settings now reads the same values.
                try await withProbe(at: place) { late in
                    try await late.expect("get a", prints: "10")
                    try await late.expect("get b", prints: "2")
                }
            }
            try await probes[1].expect("set c 3")
            try await probes[1].expect("checkpoint")
            let stored = try document(at: place.path)
            #expect(stored["a"] as? Int == 10 && stored["b"] as? Int == 2 && stored["c"] as? Int == 3)
            #expect(stored["by hand"] as? [Bool] == [true])
            for probe in probes { #expect(probe.errors(except: edit.reportsOfUnfinishedEdit) == "") }
        }
    }

    @Test("the next checkpoint merges an edit that no process has noticed yet", arguments: Edit.allCases)
    func editedJustNow(edit: Edit) async throws {
        try await withProbe { probe, place in
            try await probe.expect("set a 1")
            try await probe.expect("checkpoint")
            for round in 1...20 {
                // The first rounds run before the watch starts, in the first second; later rounds run after it.
                try edit.apply(#"{"a": \#(round), "by hand": \#(round)}"#, to: place.path)
                try await probe.expect("set b \(round)")
                try await probe.expect("checkpoint")
                #expect(
                    try document(at: place.path) as? [String: Int] == ["a": round, "b": round, "by hand": round]
                )
                try await probe.expect("get a", prints: "\(round)")
            }
        }
    }

    /// Ways in which the settings file becomes unreadable.
    enum Breakage: CaseIterable, Sendable {
        case truncated
        case directory
        case fullDirectory
        case halfWritten
        case misspelled
        case binary

        /// The contents of the file; `nil` for a directory in its place.
        private var contents: Data? {
            switch self {
            case .truncated: Data()
            case .halfWritten: Data("{\n  \"a\": 1,\n  \"b\"".utf8)
            case .misspelled: Data("{\n  \"a\": 1,\n  \"b\": oops\n}\n".utf8)
            case .binary: Data(0...255)
            case .directory, .fullDirectory: nil
            }
        }

        func apply(to path: String) throws {
            if let contents { return try contents.write(to: URL(fileURLWithPath: path)) }
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            if self == .fullDirectory { try "\(path)/kept".overwriteFile(with: "kept") }
        }

        /// Whether the replacement is unchanged.
        func isUntouched(at path: String) throws -> Bool {
            if let contents { return try Data(contentsOf: URL(fileURLWithPath: path)) == contents }
            return try FileManager.default.contentsOfDirectory(atPath: path) == (self == .directory ? [] : ["kept"])
        }

        var code: String { contents == nil ? "readFailed" : "malformedFile" }

        /// What an error shows of the place.
        func place(in path: String) -> String { self == .misspelled ? "\(path):3:8" : path }
    }

    @Test(
        "an unreadable file is left unchanged; the last good values and all sets are used until it is fixed",
        arguments: Breakage.allCases
    )
    func broken(breakage: Breakage) async throws {
        try await withProbes(2) { probes, place in
            try await probes[0].expect("set a 1")
            try await probes[0].expect("set b 2")
            try await probes[0].expect("checkpoint")
            try await probes[1].expect("get a", prints: "1")
            try breakage.apply(to: place.path)
            try await probes[0].expect("set c 3")
            try await probes[1].expect("get c", prints: "3")
            try await probes[1].expect("assign e 5")
            for probe in probes {
                try await eventually("the checkpoint fails") {
                    try probe.send("checkpoint")
                    return try await probe.line() == "error \(breakage.code)"
                }
                try await probe.expect("get a", prints: "1")
                try await probe.expect("synchronize")
                await eventually("the error is reported") { probe.errors.contains(breakage.place(in: place.path)) }
            }
            try await withProbe(at: place) { late in
                for (key, value) in [("a", 1), ("b", 2), ("c", 3), ("e", 5)] {
                    try await late.expect("get \(key)", prints: "\(value)")
                }
                try await late.expect("set b 4")
            }
            #expect(try breakage.isUntouched(at: place.path))

            // A checkpoint would write the missing file again, and then the edit would replace the value of `b`.
            try await withoutCheckpoints(of: place.path) {
                try FileManager.default.removeItem(atPath: place.path)
                try place.path.overwriteFile(with: #"{"a": 10, "b": 20, "d": 40}"#)
                for probe in probes { try await probe.expectSoon("d", is: 40) }
            }
            for probe in probes {
                for (key, value) in [("a", 10), ("b", 4), ("c", 3), ("e", 5)] {
                    try await probe.expect("get \(key)", prints: "\(value)")
                }
            }
            try await eventually("a checkpoint runs in the background") {
                try document(at: place.path) as? [String: Int] == ["a": 10, "b": 4, "c": 3, "d": 40, "e": 5]
            }
        }
    }
}
