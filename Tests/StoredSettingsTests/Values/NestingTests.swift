// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Values that are nested deep")
struct NestingTests {
    /// A value that is nested deep, with another one at its bottom.
    ///
    /// Swift frees nested values by recursion. So this object takes the value apart, and has to outlive all copies.
    ///
    /// Unchecked: the value changes in `deinit` only.
    private final class Nested: @unchecked Sendable {
        private(set) var value: StoredValue

        init(_ levels: Int = 100_000, named isNamed: Bool = false, around bottom: StoredValue = 1) {
            value = bottom
            for _ in 0..<levels { value = isNamed ? .dictionary(["a": value]) : .array([value]) }
        }

        deinit {
            var work = [value]
            value = .null
            while let next = work.popLast() {
                switch next {
                case .array(let elements): work += elements
                case .dictionary(let entries): work += entries.values
                default: break
                }
            }
        }
    }

    private struct DeepBridge: StoredValueBridge {
        let nested: Nested
        func value(from storedValue: StoredValue) throws -> Int { 0 }
        func storedValue(from value: Int) throws -> StoredValue { value == 0 ? 0 : nested.value }
    }

    /// Runs a body on a thread with a stack as small as that of any thread that systems make by themselves.
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

    @Test("can be compared, hashed, ordered and described at any depth", arguments: [false, true])
    func operations(isNamed: Bool) throws {
        try onSmallStack {
            let (left, same, other) = (
                Nested(named: isNamed), Nested(named: isNamed), Nested(named: isNamed, around: 2)
            )
            #expect(left.value == same.value && left.value != other.value)
            #expect(left.value.hashValue == same.value.hashValue)
            #expect(left.value.isOrdered(before: other.value) && !other.value.isOrdered(before: left.value))
            #expect(!left.value.isOrdered(before: same.value))
            let text = left.value.description
            #expect(text.count < 1_000 && text.contains("…"))
            withExtendedLifetime((left, same, other)) {}
        }
    }

    @Test("are refused by coders and writers at any depth", arguments: [false, true])
    func coding(isNamed: Bool) throws {
        try onSmallStack {
            let nested = Nested(named: isNamed)
            #expect(throws: EncodingError.self) { try JSONEncoder().encode(nested.value) }
            #expect(throws: EncodingError.self) { try PropertyListEncoder().encode(nested.value) }
            #expect(settingsError { try JSONWriter.compactText(of: nested.value) }?.code == .unstorable)
            withExtendedLifetime(nested) {}
        }
    }

    private static let key = SettingKey("deep", default: StoredValue.null)

    private static let ways: [(name: String, store: @Sendable (SettingsSuite, StoredValue) throws -> Void)] = [
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

    @Test("are refused with one error however they are stored", arguments: ways.indices)
    func refused(index: Int) throws {
        let (name, store) = Self.ways[index]
        try onSmallStack {
            let (suite, nested) = (SettingsSuite.inMemory(["n": 1]), Nested())
            let error = settingsError { try store(suite, nested.value) }
            #expect(error?.code == .unstorable, "\(name)")
            #expect(error?.fact == "the value is nested deeper than 127 levels", "\(name)")
            #expect(error?.key == "deep", "\(name)")
            #expect(suite.snapshot() == ["n": 1])
            withExtendedLifetime(nested) {}
        }
    }

    @Test("are refused by a file, by a migration and from a bridge, and an assignment reports it")
    func refusedElsewhere() async throws {
        try await withTemporaryDirectory { directory in
            try onSmallStack {
                let (reporter, nested) = (RecordingReporter(), Nested())
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

    @Test("are left out of the first values of a store in memory, which is reported once")
    func firstValues() throws {
        try onSmallStack {
            let (reporter, nested) = (RecordingReporter(), Nested())
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
        "are stored, compared and freed on a small stack up to the deepest that is allowed",
        arguments: [false, true]
    )
    func deepest(isNamed: Bool) throws {
        try onSmallStack {
            let suite = SettingsSuite.inMemory()
            let deepest = Nested(StoredValue.maximumDepth, named: isNamed).value
            try suite.transaction { $0[storedValueFor: "deep"] = deepest }
            #expect(suite.storedValue(forKey: "deep") == deepest && !deepest.description.contains("…"))
            let deeper = Nested(StoredValue.maximumDepth + 1, named: isNamed).value
            #expect(throws: SettingsError.self) {
                try suite.transaction { $0[storedValueFor: "deep"] = deeper }
            }
        }
    }
}
