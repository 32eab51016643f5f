// SPDX-License-Identifier: Apache-2.0

import Configuration
import ConfigurationTesting
import Foundation
import StoredSettings
import Testing

@testable import ConfigurationGuide

/// The tests of the provider in Documentation/Integrations/Configuration.md.
@Suite(.timeLimit(.minutes(1)))
struct ConfigurationGuideTests {
    private static let bytes: [StoredValue] = [.data(Data("magic".utf8)), .data(Data("magic2".utf8))]

    private static let values: [String: StoredValue] = [
        "string": "Hello", "other.string": "Other Hello",
        "int": 42, "other.int": 24,
        "double": 3.14, "other.double": 2.72,
        "bool": true, "other.bool": false,
        "bytes": bytes[0], "other.bytes": bytes[1],
        "stringy.array": ["Hello", "World"], "other.stringy.array": ["Hello", "Swift"],
        "inty.array": [42, 24], "other.inty.array": [16, 32],
        "doubly.array": [3.14, 2.72], "other.doubly.array": [0.9, 1.8],
        "booly.array": [true, false], "other.booly.array": [false, true, true],
        "byteChunky.array": .array(bytes), "other.byteChunky.array": .array([bytes[0], bytes[1], bytes[0]]),
    ]

    @Test("the provider passes the tests of swift-configuration, over memory and over a file")
    func compatibility() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = SettingsSuite(fileAt: directory.appending(path: "settings.json").path)
        try await file.transaction { values in
            for (key, value) in Self.values { values[storedValueFor: key] = value }
        }
        try await file.checkpoint()
        for suite in [.inMemory(Self.values), file] {
            try await ProviderCompatTest(
                provider: SettingsProvider(suite),
                configuration: .init(overrides: [
                    "bytes": .bytes(Array("magic".utf8)),
                    "other.bytes": .bytes(Array("magic2".utf8)),
                    "byteChunky.array": .byteChunkArray([Array("magic".utf8), Array("magic2".utf8)]),
                    "other.byteChunky.array": .byteChunkArray(
                        [Array("magic".utf8), Array("magic2".utf8), Array("magic".utf8)]
                    ),
                ])
            )
            .runTest()
        }
        await file.finish()
    }

    @Test("a watcher receives each new value, and no value twice")
    func watching() async throws {
        let suite = SettingsSuite.inMemory(["limit": 0])
        let received = try await SettingsProvider(suite)
            .watchValue(forKey: "limit", type: .int) { updates in
                // This change is reported, although the first value includes it already.
                try await suite.setStoredValue(1, forKey: "limit")
                var received: [ConfigContent?] = []
                for await update in updates {
                    received.append(try update.get().value?.content)
                    switch received.count {
                    case 1:
                        // Later, so that it is not one with the change before.
                        _ = Task {
                            try await Task.sleep(for: .milliseconds(100))
                            try await suite.setStoredValue(2, forKey: "limit")
                        }
                    case 2: try await suite.setStoredValue(nil, forKey: "limit")
                    default: return received
                    }
                }
                return received
            }
        #expect(received == [.int(1), .int(2), nil])
    }

    @Test("a watcher of snapshots receives the values of one transaction at once")
    func watchingSnapshots() async throws {
        let suite = SettingsSuite.inMemory(["min": 1, "max": 2])
        let sums = try await SettingsProvider(suite)
            .watchSnapshot { updates in
                var sums: [Int] = []
                for await snapshot in updates {
                    var sum = 0
                    for key in ["min", "max"] as [AbsoluteConfigKey] {
                        guard case .int(let value) = try snapshot.value(forKey: key, type: .int).value?.content else {
                            continue
                        }
                        sum += value
                    }
                    sums.append(sum)
                    if sums.count == 2 { return sums }
                    try await suite.transaction { values in
                        values[storedValueFor: "min"] = 10
                        values[storedValueFor: "max"] = 20
                    }
                }
                return sums
            }
        #expect(sums == [3, 30])
    }

    @Test("a value of another type is an error that names the key, and contains no value")
    func wrongType() throws {
        let provider = SettingsProvider(.inMemory(["port": "confidential"]))
        let error = try #require(throws: SettingsError.self) { try provider.value(forKey: "port", type: .int) }
        #expect(error.key == "port")
        #expect(!error.message.contains("confidential"))
    }

    @Test("the values of secret settings are secret")
    func secrets() throws {
        struct Settings {
            @DefaultStorageOptional(key: "token", suite: .inMemory(), traits: .secret) var token: String?
        }
        let provider = SettingsProvider(
            .inMemory(["token": "confidential", "name": "a"]),
            catalog: SettingsCatalog(Settings())
        )
        #expect(try provider.value(forKey: "token", type: .string).value?.isSecret == true)
        #expect(try provider.value(forKey: "name", type: .string).value?.isSecret == false)
    }
}
