// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite(
    "A program that changes its root directory",
    .enabled(if: geteuid() == 0, "only root can change the root directory")
)
struct ChangedRootTests {
    /// What a program has done with its settings before it changes the root directory.
    enum Use: String, CaseIterable {
        case set, checkpointed, readOfFile
    }

    /// What the same path leads to in the new root directory.
    enum Other: String, CaseIterable {
        case nothing, directory, file, suite
        /// Another name of the settings file.
        case sameFile
    }

    @Test("a program that has failed to use its settings before does not use those of the new root")
    func failedBefore() async throws {
        try await withTemporaryDirectory { directory in
            let (root, path) = ("\(directory)/root", "\(directory)/settings.json")
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
            try await withProbe(at: .file(path)) { probe in
                try await probe.expect("get n", prints: "0")
                let files = try await make(.suite, in: directory, root: root)
                try await probe.expect("changeRoot \(root)")
                try await probe.expect("get n", prints: "0")
                try await probe.expect("set n 2", prints: "error writeFailed")
                #expect(try contents(of: root) == files)
            }
        }
    }

    @Test(
        "keeps its values, sets in the suite that it has opened or not at all, and writes no file in the new root",
        arguments: Use.allCases,
        Other.allCases
    )
    func separate(_ use: Use, _ other: Other) async throws {
        try await withTemporaryDirectory { directory in
            let (root, place) = ("\(directory)/root", Probe.Place.file("\(directory)/settings.json"))
            var last = 1
            if use == .readOfFile { try place.path.overwriteFile(with: #"{"n": 1}"#) }
            try await withProbe(at: place) { probe in
                if use != .readOfFile { try await probe.expect("set n 1") }
                if use == .checkpointed || other == .sameFile { try await probe.expect("checkpoint") }
                try await probe.expect("get n", prints: "1")
                let files = try await make(other, in: directory, root: root)
                try await probe.expect("changeRoot \(root)")
                // The records that the process has read are in the settings file now, which it cannot find.
                try await withProbe(at: place) { outside in
                    try await outside.expect("set other 0")
                    try await outside.expect("checkpoint")
                }
                try await probe.expect("get n", prints: "1")
                last = try await setUntilRefused(probe, after: last)
                try await probe.expect("synchronize", prints: "error writeFailed")
                try await probe.expect("get n", prints: "\(last)")
                try await probe.expect("persistence", prints: "readOnly")
                try await withProbe(at: place) { outside in try await outside.expect("get n", prints: "\(last)") }
                try probe.send("checkpoint")
                _ = try await probe.line()
                try await probe.expect("set n 0", prints: "error writeFailed")
                try await probe.finish()
                // Not by the last checkpoint, either.
                #expect(try contents(of: root) == files)
            }
            try await withProbe(at: place) { outside in
                try await outside.expect("get n", prints: "\(last)")
                #expect(outside.errors == "")
            }
        }
    }

    @Test(
        "does not use what it mounts over the directory for itself alone",
        .enabled(if: Mounts.areAllowed, "requires permission to mount"),
        arguments: [Use.set, .checkpointed],
        [Other.directory, .suite]
    )
    func mountedOver(_ use: Use, _ other: Other) async throws {
        try await withTemporaryDirectory { directory in
            let (root, suite) = ("\(directory)/root", "\(directory)/suite")
            try FileManager.default.createDirectory(atPath: suite, withIntermediateDirectories: true)
            let place = Probe.Place.file("\(suite)/settings.json")
            let files = try await make(other, in: suite, root: root)
            try await withProbe(at: place) { probe in
                try await probe.expect("set n 1")
                if use == .checkpointed { try await probe.expect("checkpoint") }
                try await probe.expect("mountOver \(suite)\t\(root + suite)")
                let last = try await setUntilRefused(probe, after: 1)
                try await probe.expect("get n", prints: "\(last)")
                try await probe.expect("synchronize", prints: "error writeFailed")
                try await withProbe(at: place) { outside in
                    try await outside.expect("get n", prints: "\(last)")
                    try await outside.expect("set n 500")
                }
                try await probe.finish()
                #expect(try contents(of: root) == files)
            }
            try await withProbe(at: place) { try await $0.expect("get n", prints: "500") }
        }
    }

    @Test("records that a process has not read remain when another one has taken them over and the directory is back")
    func movedAside() async throws {
        try await withTemporaryDirectory { directory in
            let (suite, aside) = ("\(directory)/suite", "\(directory)/aside")
            try FileManager.default.createDirectory(atPath: suite, withIntermediateDirectories: true)
            let place = Probe.Place.file("\(suite)/settings.json")
            try await withProbe(at: place) { first in
                try await withProbe(at: place) { second in
                    try await first.expect("set n 1")
                    try await first.expect("checkpoint")
                    first.signal(SIGSTOP)
                    try await second.expect("set other 2")
                    try FileManager.default.moveItem(atPath: suite, toPath: aside)
                    try FileManager.default.createDirectory(atPath: suite, withIntermediateDirectories: false)
                    // It takes its values over into a new journal.
                    try await eventually("it has another journal") {
                        try await second.expect("set n 3")
                        return FileManager.default.fileExists(atPath: place.path + ".journal")
                    }
                    try FileManager.default.moveItem(atPath: suite, toPath: "\(directory)/other")
                    try FileManager.default.moveItem(atPath: aside, toPath: suite)
                    first.signal(SIGCONT)
                    try await first.expect("get other", prints: "2")
                    try await first.expect("set x 4")
                    try await first.expect("get other", prints: "2")
                }
            }
            try await withProbe(at: place) { try await $0.expect("get other", prints: "2") }
        }
    }

    @Test(
        "goes on if the directory is mounted at the same path in the new root",
        .enabled(if: Mounts.areAllowed, "requires permission to mount"),
        arguments: Use.allCases
    )
    func mounted(_ use: Use) async throws {
        try await withTemporaryDirectory { directory in
            let (root, suite) = ("\(directory)/root", "\(directory)/suite")
            try FileManager.default.createDirectory(atPath: root + suite, withIntermediateDirectories: true)
            try FileManager.default.createDirectory(atPath: suite, withIntermediateDirectories: true)
            let place = Probe.Place.file("\(suite)/settings.json")
            if use == .readOfFile { try place.path.overwriteFile(with: #"{"n": 1}"#) }
            try await withProbe(at: place, Mounts.launch(after: "mount --bind '\(suite)' '\(root + suite)'")) { probe in
                if use != .readOfFile { try await probe.expect("set n 1") }
                if use == .checkpointed { try await probe.expect("checkpoint") }
                try await probe.expect("get n", prints: "1")
                try await probe.expect("changeRoot \(root)")
                try await withProbe(at: place) { outside in
                    for round in 1...3 {
                        try await probe.expect("set n \(2 * round)")
                        try await outside.expect("get n", prints: "\(2 * round)")
                        try await outside.expect("set n \(2 * round + 1)")
                        try await outside.expect("checkpoint")
                        try await probe.expect("get n", prints: "\(2 * round + 1)")
                        try await probe.expect("checkpoint")
                        try await probe.expect("persistence", prints: "durable")
                    }
                }
                #expect(probe.errors == "")
            }
            #expect(try document(at: place.path) as? [String: Int] == ["n": 7])
        }
    }

    @Test(
        "does not take another file of its directory, to which the path leads in the new root, for its own",
        .enabled(if: Mounts.areAllowed, "requires permission to mount")
    )
    func otherName() async throws {
        try await withTemporaryDirectory { directory in
            let (root, suite) = ("\(directory)/root", "\(directory)/suite")
            let (path, other) = ("\(suite)/settings.json", "\(suite)/other.json")
            for created in [suite, root + suite, "\(root)/mounted"] {
                try FileManager.default.createDirectory(atPath: created, withIntermediateDirectories: true)
            }
            try other.overwriteFile(with: #"{"n": 500}"#)
            let (link, target) = (root + path, "/mounted/other.json")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            let launch = Mounts.launch(after: "mount --bind '\(suite)' '\(root)/mounted'")
            try await withProbe(at: .file(path), launch) { probe in
                try await probe.expect("set n 1")
                try await probe.expect("changeRoot \(root)")
                let last = try await setUntilRefused(probe, after: 1)
                try await probe.expect("get n", prints: "\(last)")
                try await withProbe(at: .file(path)) { try await $0.expect("get n", prints: "\(last)") }
            }
            #expect(try other.fileContents == #"{"n": 500}"#)
        }
    }

    /// Sets ever larger values of `n` until a set throws, and returns the last value that was stored.
    private func setUntilRefused(_ probe: Probe, after value: Int) async throws -> Int {
        var last = value
        try await eventually("a set throws") {
            try probe.send("set n \(last + 1)")
            let answer = try await probe.line()
            if answer == "done" { last += 1 }
            return answer == "error writeFailed"
        }
        return last
    }

    /// Creates what another program has in the new root, and returns its files.
    private func make(_ other: Other, in directory: String, root: String) async throws -> [String: Data] {
        let files = FileManager.default
        let created = other == .nothing ? root : root + directory
        let path = "\(created)/settings.json"
        try files.createDirectory(atPath: created, withIntermediateDirectories: true)
        switch other {
        case .nothing, .directory: break
        case .file: try path.overwriteFile(with: #"{"n": 500}"#)
        case .sameFile: try files.linkItem(atPath: "\(directory)/settings.json", toPath: path)
        case .suite:
            try await withProbe(at: .file(path)) { try await $0.expect("set n 500") }
        }
        return try contents(of: root)
    }

    /// The paths of all files and directories in a directory, and the contents of the files.
    private func contents(of directory: String) throws -> [String: Data] {
        let files = FileManager.default
        let paths = try files.subpathsOfDirectory(atPath: directory)
        let pairs = paths.map { ($0, files.contents(atPath: "\(directory)/\($0)") ?? Data()) }
        return Dictionary(uniqueKeysWithValues: pairs)
    }
}
