// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A corrupt settings file")
struct SettingsFileCorruptionTests {
    @Test(
        "corrupt files are read, or rejected with a position, and the values that were read round-trip",
        arguments: 0..<8
    )
    func reading(part: UInt64) {
        var mutator = FileMutator(seed: TestRun.seed &* 1_000 &+ part)
        var readable = 0
        let rounds = TestRun.count(quick: 600, exhaustive: 12_500)
        for round in 0..<rounds {
            let file = mutator.next()
            do throws(JSONSyntaxError) {
                let entries = try JSONReader.readObject(file, .settingsFile)
                readable += 1
                if !roundTrips(entries) { Issue.record("round \(round) does not round-trip: \(file)") }
            } catch {
                let isValidPosition = error.line >= 1 && error.column >= 1 && 0...file.count ~= error.offset
                if !isValidPosition { Issue.record("round \(round) has an error at \(error): \(file)") }
            }
        }
        // Both outcomes must be frequent enough to be tested.
        #expect((rounds / 20..<rounds - rounds / 20).contains(readable))
    }

    @Test(
        "a store with a corrupt file returns its values or the last good copy, and never overwrites an unreadable file",
        arguments: 0..<4
    )
    func reads(part: UInt64) async throws {
        try await withTemporaryDirectory(inMemory: true) { directory in
            var mutator = FileMutator(seed: TestRun.seed &* 1_000 &+ 100 &+ part)
            for round in 0..<TestRun.count(quick: 40, exhaustive: 750) {
                // Reuse directory names, so that the paths stay short.
                let path = "\(directory)/\(round % 25)/settings.json"
                try FileManager.default.createDirectory(
                    atPath: "\(directory)/\(round % 25)",
                    withIntermediateDirectories: true
                )
                try checkReads(mutator.next(), at: path, isSetting: round % 3 == 0, "part \(part), round \(round)")
                try FileManager.default.removeItem(atPath: "\(directory)/\(round % 25)")
            }
        }
    }

    private func checkReads(_ file: [UInt8], at path: String, isSetting: Bool, _ label: String) throws {
        let lastGood: [String: StoredValue] = ["good": 1]
        try write(file, to: path)
        try write(JSONWriter.prettyText(of: .dictionary(lastGood)), to: path + ".last-good")
        let (store, recorder) = (makeStore(path), ErrorRecorder())
        store.setObserver(recorder)
        let contents = store.contents()
        do throws(JSONSyntaxError) {
            let expected = try JSONReader.readObject(file, .settingsFile)
            check(
                contents == expected && recorder.errors.isEmpty,
                label,
                file,
                "read \(contents), reported \(recorder.errors)"
            )
        } catch {
            let location = SettingsError.Location(file: path, line: error.line, column: error.column)
            let isReported =
                recorder.errors.map(\.code) == [.malformedFile] && recorder.errors.first?.location == location
            check(contents == lastGood && isReported, label, file, "read \(contents), reported \(recorder.errors)")
        }
        if isSetting { try set(store, contents, at: path, isMalformed: !recorder.errors.isEmpty, label, file) }
        if !isSetting || !recorder.errors.isEmpty {
            let isUntouched = try bytes(of: path) == file
            check(isUntouched, label, file, "the file was overwritten")
        }
    }

    private func set(
        _ store: FileStore,
        _ contents: [String: StoredValue],
        at path: String,
        isMalformed: Bool,
        _ label: String,
        _ file: [UInt8]
    ) throws {
        try store.commit { $0["new"] = 9 }
        let after = contents.merging(["new": 9]) { $1 }
        check(store.contents() == after, label, file, "after a set, read \(store.contents())")
        do {
            try store.checkpoint()
            let checkpointed = try JSONReader.readObject(bytes(of: path), .settingsFile)
            check(!isMalformed && checkpointed == after, label, file, "a checkpoint wrote \(checkpointed)")
        } catch let error as SettingsError {
            check(isMalformed && error.code == .malformedFile, label, file, "a checkpoint failed with \(error)")
        }
        let newStore = makeStore(path)
        check(newStore.contents() == after, label, file, "a new store reads \(newStore.contents())")
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        // Old enough that the file does not look as if another process were writing it.
        let attributes = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: 1e9)]
        try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
    }

    private func bytes(of path: String) throws -> [UInt8] {
        try SystemCalls().contents(of: SystemCalls().open(path, O_RDONLY))
    }

    private func check(_ condition: Bool, _ label: String, _ file: [UInt8], _ message: @autoclosure () -> String) {
        if !condition { Issue.record("\(label): \(message()): \(file)") }
    }

    private func roundTrips(_ entries: [String: StoredValue]) -> Bool {
        do {
            return try JSONReader.readObject(JSONWriter.prettyText(of: .dictionary(entries))) == entries
        } catch {
            return false
        }
    }
}
