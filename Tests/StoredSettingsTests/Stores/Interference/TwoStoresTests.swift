// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

/// Engines are identified by paths, so two engines can use one file if a path has changed its meaning.
@Suite("Two stores for one file in one process")
struct TwoStoresTests {
    @Test("reads are coherent, sums are exact, and a checkpoint by either store includes both")
    func twoStores() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: "\(directory)/real", withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(atPath: "\(directory)/link", withDestinationPath: "real")
            let suites = ["real", "link"]
                .map {
                    SettingsSuite(store: FileStore(path: "\(directory)/\($0)/settings.json"))
                }
            let settings = suites.map { Setting("n", default: 0, suite: $0) }
            try await settings[0].set(0)
            #expect(settings[1].value == 0)
            for value in 1...100 {
                try await settings[value % 2].set(value)
                #expect(settings[(value + 1) % 2].value == value)
                if value % 10 == 0 { try await suites[value / 10 % 2].checkpoint() }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for setting in settings {
                    group.addTask {
                        for _ in 0..<1_000 { try await setting.update { $0 += 1 } }
                    }
                }
                try await group.waitForAll()
            }
            #expect(settings.map(\.value) == [2_100, 2_100])
            try await suites[0].checkpoint()
            let text = try "\(directory)/real/settings.json".fileContents
            #expect(text == "{\n  \"n\": 2100\n}\n")
            for suite in suites { await suite.finish() }
        }
    }
}
