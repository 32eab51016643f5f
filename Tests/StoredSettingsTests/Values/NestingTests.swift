// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Deeply nested values")
struct NestingTests {
    /// A deeply nested value around an innermost value.
    ///
    /// Swift releases nested values recursively. This object therefore dismantles the value, and must outlive all
    /// copies.
    ///
    /// Unchecked, because the value changes only in `deinit`.
    private final class NestedValue: @unchecked Sendable {
        private(set) var value: StoredValue

        init(_ levels: Int = 100_000, named isNamed: Bool = false, around innermost: StoredValue = 1) {
            value = innermost
            for _ in 0..<levels { value = isNamed ? .dictionary(["a": value]) : .array([value]) }
        }

        deinit {
            var remaining = [value]
            value = .null
            while let next = remaining.popLast() {
                switch next {
                case .array(let elements): remaining += elements
                case .dictionary(let entries): remaining += entries.values
                default: break
                }
            }
        }
    }

    private struct DeepBridge: StoredValueBridge {
        let nested: NestedValue
        func value(from storedValue: StoredValue) throws -> Int { 0 }
        func storedValue(from value: Int) throws -> StoredValue { value == 0 ? 0 : nested.value }
    }

    /// Runs a body on a thread with a small stack, as systems create for secondary threads.
    private func onSmallStack(_ body: @escaping @Sendable () throws -> Void) throws {
        let done = DispatchSemaphore(value: 0)
        let failure = Mutex<(any Error)?>(nil)
        let thread = Thread {
            do {
                try body()
            } catch {
                failure.withLock { $0 = error }
            }
            done.signal()
        }
        thread.stackSize = 512 * 1024
        thread.start()
        done.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    @Test("coders and writers reject values that are too deep", arguments: [false, true])
    func coding(isNamed: Bool) throws {
        try onSmallStack {
            let nested = NestedValue(named: isNamed)
            #expect(throws: EncodingError.self) { try JSONEncoder().encode(nested.value) }
            #expect(throws: EncodingError.self) { try PropertyListEncoder().encode(nested.value) }
            #expect(settingsError { try JSONWriter.compactText(of: nested.value) }?.code == .unstorable)
            withExtendedLifetime(nested) {}
        }
    }

    private static let key = SettingKey("deep", default: StoredValue.null)

    private static let storeOperations: [(name: String, store: @Sendable (SettingsSuite, StoredValue) throws -> Void)] =
        [
            ("set", { try Setting(key, suite: $0).set($1) }),
            ("setStoredValue", { try $0.setStoredValue($1, forKey: "deep") }),
            ("update", { suite, value in try Setting(key, suite: suite).update { $0 = value } }),
            ("transaction", { suite, value in try suite.transaction { $0[storedValueFor: "deep"] = value } }),
            ("transaction of a setting", { suite, value in try suite.transaction { $0[key] = value } }),
            (
                "transaction that sets",
                { suite, value in try suite.transaction { try $0.set(value, for: Setting(key, suite: suite)) } }
            ),
            ("store", { suite, value in try suite.engine.store.commit { $0["deep"] = value } }),
        ]

    @Test("every way to store a value that is too deep throws the same error", arguments: storeOperations.indices)
    func rejected(index: Int) throws {
        let (name, store) = Self.storeOperations[index]
        try onSmallStack {
            let (suite, nested) = (SettingsSuite.inMemory(["n": 1]), NestedValue())
            let error = settingsError { try store(suite, nested.value) }
            #expect(error?.code == .unstorable, "\(name)")
            #expect(error?.fact == "the value is nested deeper than 127 levels", "\(name)")
            #expect(error?.key == "deep", "\(name)")
            #expect(suite.snapshot() == ["n": 1])
            withExtendedLifetime(nested) {}
        }
    }

    @Test("a file, a migration and a bridge reject values that are too deep, and an assignment reports it")
    func rejectedElsewhere() async throws {
        try await withTemporaryDirectory { directory in
            try onSmallStack {
                let (reporter, nested) = (RecordingReporter(), NestedValue())
                let suite = SettingsSuite(fileAt: directory + "/settings.json", reporter: reporter)
                #expect(
                    settingsError { try suite.transaction { $0[storedValueFor: "deep"] = nested.value } }?.code
                        == .unstorable
                )
                let bridged = Setting(SettingKey("bridged", default: 0, as: DeepBridge(nested: nested)), suite: suite)
                #expect(settingsError { try bridged.set(1) }?.code == .unstorable)
                Setting(Self.key, suite: suite).value = nested.value
                #expect(reporter.errors.map(\.code) == [.unstorable])
                var migrator = SettingsMigrator()
                migrator.addStep("deep") { $0[storedValueFor: "deep"] = nested.value }
                #expect(settingsError { try migrator.migrate(suite) }?.fact.contains("deeper than 127 levels") == true)
                #expect(suite.snapshot().isEmpty)
                suite.finish()
                withExtendedLifetime(nested) {}
            }
        }
    }

    @Test("an in-memory store omits initial values that are too deep, which is reported once")
    func initialValues() throws {
        try onSmallStack {
            let (reporter, nested) = (RecordingReporter(), NestedValue())
            let store = InMemoryStore(["deep": nested.value, "n": 1])
            for _ in 0..<2 {
                #expect(SettingsSuite(store: store, reporter: reporter).snapshot() == ["n": 1])
            }
            #expect(reporter.errors.map(\.code) == [.unstorable])
            #expect(reporter.errors.map(\.key) == ["deep"])
            withExtendedLifetime(nested) {}
        }
    }

    @Test(
        "values up to the maximum depth are stored, compared and released on a small stack",
        arguments: [false, true]
    )
    func maximum(isNamed: Bool) throws {
        try onSmallStack {
            let suite = SettingsSuite.inMemory()
            let maximum = NestedValue(StoredValue.maximumDepth, named: isNamed).value
            try suite.transaction { $0[storedValueFor: "deep"] = maximum }
            #expect(suite[storedValueFor: "deep"] == maximum && !maximum.description.contains("…"))
            let tooDeep = NestedValue(StoredValue.maximumDepth + 1, named: isNamed).value
            #expect(throws: SettingsError.self) {
                try suite.transaction { $0[storedValueFor: "deep"] = tooDeep }
            }
        }
    }
}
