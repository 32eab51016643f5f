// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A corrupt settings file")
struct SettingsFileCorruptionTests {
    @Test(
        "100,000 corrupt files are read or refused at a place, and what is read is written as it was",
        arguments: 0..<8
    )
    func reading(seed: UInt64) {
        var mutator = FileMutator(seed: seed)
        var readable = 0
        for round in 0..<12_500 {
            let file = mutator.next()
            do throws(JSONSyntaxError) {
                let entries = try JSONReader.readObject(file)
                readable += 1
                if !isKept(entries) { Issue.record("round \(round) is not written as it was read: \(file)") }
            } catch {
                let isPlace = error.line >= 1 && error.column >= 1 && 0...file.count ~= error.offset
                if !isPlace { Issue.record("round \(round) has an error at \(error): \(file)") }
            }
        }
        // Both outcomes are met often enough to be tested.
        #expect((625..<11_875).contains(readable))
    }

    @Test(
        "a store over a corrupt file serves it or the last good copy, and never writes over what it cannot read",
        arguments: 0..<4
    )
    func serving(seed: UInt64) async throws {
        try await withMemoryDirectory { directory in
            var mutator = FileMutator(seed: 100 + seed)
            for round in 0..<750 {
                // Small numbers first, so that the paths do not become longer and longer.
                let path = "\(directory)/\(round % 25)/settings.json"
                try FileManager.default.createDirectory(
                    atPath: "\(directory)/\(round % 25)",
                    withIntermediateDirectories: true
                )
                try serve(mutator.next(), at: path, isSetting: round % 3 == 0, "seed \(seed), round \(round)")
                try FileManager.default.removeItem(atPath: "\(directory)/\(round % 25)")
            }
        }
    }

    private func serve(_ file: [UInt8], at path: String, isSetting: Bool, _ what: String) throws {
        let lastGood: [String: StoredValue] = ["good": 1]
        try write(file, to: path)
        try write(JSONWriter.text(of: lastGood), to: path + ".last-good")
        let (store, catcher) = (FileStore(path: path, checkpointsInBackground: false), FailureCatcher())
        store.setObserver(catcher)
        let contents = store.contents()
        do throws(JSONSyntaxError) {
            let expected = try JSONReader.readObject(file)
            check(
                contents == expected && catcher.errors.isEmpty,
                what,
                file,
                "served \(contents), told \(catcher.errors)"
            )
        } catch {
            let place = SettingsError.Location(file: path, line: error.line, column: error.column)
            let isTold = catcher.errors.map(\.code) == [.malformedFile] && catcher.errors.first?.location == place
            check(contents == lastGood && isTold, what, file, "served \(contents), told \(catcher.errors)")
        }
        if isSetting { try set(store, contents, at: path, isBroken: !catcher.errors.isEmpty, what, file) }
        if !isSetting || !catcher.errors.isEmpty {
            let isUntouched = try bytes(of: path) == file
            check(isUntouched, what, file, "the file was written over")
        }
    }

    private func set(
        _ store: FileStore,
        _ contents: [String: StoredValue],
        at path: String,
        isBroken: Bool,
        _ what: String,
        _ file: [UInt8]
    ) throws {
        try store.commit { $0["new"] = 9 }
        let after = contents.merging(["new": 9]) { $1 }
        check(store.contents() == after, what, file, "after a set, served \(store.contents())")
        do {
            try store.checkpoint()
            let checkpointed = try JSONReader.readObject(bytes(of: path))
            check(!isBroken && checkpointed == after, what, file, "a checkpoint has written \(checkpointed)")
        } catch let error as SettingsError {
            check(isBroken && error.code == .malformedFile, what, file, "checkpointing fails with \(error)")
        }
        let newcomer = FileStore(path: path, checkpointsInBackground: false)
        check(newcomer.contents() == after, what, file, "others are served \(newcomer.contents())")
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        // Long enough ago that nobody takes it for a file that is being written.
        let attributes = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: 1e9)]
        try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
    }

    private func bytes(of path: String) throws -> [UInt8] {
        try SystemCalls().contents(of: SystemCalls().open(path, O_RDONLY))
    }

    private func check(_ condition: Bool, _ what: String, _ file: [UInt8], _ problem: @autoclosure () -> String) {
        if !condition { Issue.record("\(what): \(problem()): \(file)") }
    }

    private func isKept(_ entries: [String: StoredValue]) -> Bool {
        do {
            return try JSONReader.readObject(JSONWriter.text(of: entries)) == entries
        } catch {
            return false
        }
    }
}
