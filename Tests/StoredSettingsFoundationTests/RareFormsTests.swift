// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import StoredSettings
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsFoundation

/// Calls a body while a value is being set.
private final class InterruptedDefaults: UserDefaults {
    let body = Mutex<(@Sendable () -> Void)?>(nil)

    override func set(_ value: Any?, forKey defaultName: String) {
        let body = body.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
        super.set(value, forKey: defaultName)
    }
}

extension UserDefaultsTests {
    @Suite("Rare contents and moments of UserDefaults", .deadlockLimit)
    struct RareMoments {
        private let reporter = RecordingReporter()

        @Test("an integer above the greatest Int is found by plain code")
        func greatInteger() async throws {
            try await withDefaults { defaults, _ in
                let suite = SettingsSuite(userDefaults: defaults, reporter: reporter)
                for value in [UInt64(Int64.max), UInt64(Int64.max) + 1, .max] {
                    try await suite.setStoredValue(.integer(Int128(value)), forKey: "n")
                    #expect((defaults.object(forKey: "n") as? NSNumber)?.uint64Value == value)
                    #expect(suite[storedValueFor: "n"] == .integer(Int128(value)))
                }
            }
        }

        @Test("a read while a commit writes neither waits for Foundation nor takes what is written for another's")
        func readWhileWriting() async throws {
            try await withDomain { domain in
                let defaults = try #require(InterruptedDefaults(suiteName: domain.name))
                let suite = SettingsSuite(userDefaults: defaults, reporter: reporter)
                try await suite.setStoredValue(1, forKey: "a")
                let changes = suite.changes()
                let found = Mutex<[String: StoredValue]?>(nil)
                defaults.body.withLock {
                    $0 = {
                        let isDone = DispatchSemaphore(value: 0)
                        Thread.detachNewThread {
                            let contents = suite.snapshot()
                            found.withLock { $0 = contents }
                            isDone.signal()
                        }
                        #expect(isDone.waitUntilSignaled())
                    }
                }
                try await suite.transaction { settings in
                    settings[storedValueFor: "a"] = 2
                    settings[storedValueFor: "b"] = 2
                }
                #expect(found.withLock { $0?["a"] } == 1)
                #expect(suite[storedValueFor: "a"] == 2)
                var iterator = changes.makeAsyncIterator()
                let change = try #require(await iterator.next())
                #expect(change.keys == ["a", "b"] && change.origin == .local)
            }
        }
    }
}

@Suite("Old forms that are rare", .deadlockLimit)
struct RareFormsTests {
    @Test("a property list whose object reaches into the trailer is malformed")
    func beyondTheEnd() throws {
        func list(_ object: [UInt8]) -> [UInt8] {
            let table = 8
            let numbers = [1, 0, table]
                .flatMap { number in (0..<8).reversed().map { UInt8(number >> ($0 * 8) & 0xFF) } }
            return Array("bplist00".utf8) + [9] + object + [0, 0, 0, 0, 0, 0, 1, 1] + numbers
        }
        let whole: [UInt8] = [0x13, 0, 0, 0, 0, 0, 0, 0, 5]
        guard case .value(5) = try BinaryPropertyList(list(whole)).objects[0] else {
            Issue.record("the number is read")
            return
        }
        for count in 1..<whole.count {
            #expect(throws: BinaryPropertyList.Malformed.self) {
                try BinaryPropertyList(list(Array(whole.prefix(count))))
            }
        }
    }

    @Test("a tilde alone is the home directory, and one before a name is no path")
    func tilde() throws {
        let home = NSString(string: "~").expandingTildeInPath
        #expect(try UserDefaultsURL().value(from: "~") == URL(fileURLWithPath: home))
        #expect(try UserDefaultsURL().value(from: "~/a") == URL(fileURLWithPath: home + "/a"))
        #expect(try UserDefaultsURL().value(from: "~a") == URL(string: "~a"))
    }
}
