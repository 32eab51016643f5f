// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

@Suite("A failed sync that the disk reports once")
struct FailedSyncTests {
    private enum Step: CaseIterable {
        case set, synchronize, setAgain, synchronizeAgain, checkpoint, setLater, checkpointAgain, synchronizeLast
    }

    /// More syncs than the steps make.
    private static let maximumSyncs = 60

    @Test("values that synchronize() or a checkpoint reports as durable are on disk", arguments: [false, true])
    func everySync(isAnotherProcess: Bool) async throws {
        var count = 0
        for number in 1...Self.maximumSyncs {
            let failedPath = try await withTemporaryDirectory(inMemory: true) { directory in
                try run(failing: number, isAnotherProcess: isAnotherProcess, in: directory)
            }
            guard failedPath != nil else { break }
            count += 1
        }
        #expect(count > 8 && count < Self.maximumSyncs)
    }

    @Test("a process whose own call succeeds reports the failure that another process received meanwhile")
    func failedElsewhere() async throws {
        try await withSettingsPath(inMemory: true) { path in
            let other = makeStore(path)
            let synchronizing = Interruption(before: .sync) { $0 == path + ".journal" }
            // The other process called at the same time, and the system has told that one.
            synchronizing.run { other.peek { $0.journal.journal }?.markUnreliable() }
            let store = makeStore(path, synchronizing.system)
            try store.commit { $0["a"] = 1 }
            #expect(other.contents() == ["a": 1])
            expectError(.writeFailed) { try store.synchronize() }
            try store.synchronize()
            #expect(synchronizing.hasRun)
            #expect(makeStore(path).contents() == ["a": 1])
        }
    }

    private func run(failing number: Int, isAnotherProcess: Bool, in directory: String) throws -> String? {
        let files = directory + "/files"
        try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: false)
        let disk = LossyDisk(files, failingSync: number)
        let path = files + "/settings.json"
        let stores = (0..<2).map { _ in makeStore(path, disk.system) }
        var expected: [String: StoredValue] = [:]
        for (index, step) in Step.allCases.enumerated() {
            switch step {
            case .set, .setAgain, .setLater:
                let key = "\(step)"
                try stores[0].commit { $0[key] = .integer(Int128(index)) }
                expected[key] = .integer(Int128(index))
            case .synchronize, .synchronizeAgain, .synchronizeLast, .checkpoint, .checkpointAgain:
                let isCheckpoint = [.checkpoint, .checkpointAgain].contains(step)
                var attempts = 0
                while true {
                    attempts += 1
                    // One process receives the failure, and another may make the next attempt.
                    let store = stores[isAnotherProcess ? (attempts + 1) % 2 : 0]
                    do {
                        try isCheckpoint ? store.checkpoint() : store.synchronize()
                        break
                    } catch {
                        #expect(attempts < 3, "sync \(number), of \(disk.failedPath ?? "none"), \(step): \(error)")
                        if attempts >= 3 { return disk.failedPath }
                    }
                }
                let image = "\(directory)/image-\(index)"
                try disk.writeImage(to: image)
                let found = makeStore(image + "/settings.json").contents()
                #expect(found == expected, "sync \(number), of \(disk.failedPath ?? "none"), \(step)")
            }
        }
        for store in stores { #expect(store.contents() == expected) }
        let names = try FileManager.default.contentsOfDirectory(atPath: files)
        #expect(names.filter { $0.hasSuffix(".new") } == [])
        return disk.failedPath
    }
}
