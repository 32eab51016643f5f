// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Concurrent reads")
struct HotReadTests {
    /// A value that calls a closure when it is released.
    private final class Releasing: Sendable {
        let onRelease: @Sendable () -> Void

        init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

        deinit { onRelease() }
    }

    private struct ReleasingBridge: StoredValueBridge {
        let onRelease: @Sendable () -> Void

        func value(from storedValue: StoredValue) throws -> Releasing { Releasing(onRelease) }

        func storedValue(from value: Releasing) throws -> StoredValue { .null }
    }

    @Test("a value is released under no lock, so its deinitializer may read the setting", .deadlockLimit)
    func release() {
        let suite = SettingsSuite.inMemory(["n": 1])
        let setting = Mutex<Setting<Releasing>?>(nil)
        let releases = Atomic(0)
        let bridge = ReleasingBridge {
            // Only once, because the value that is read here is also released.
            guard releases.add(1, ordering: .relaxed).oldValue == 0 else { return }
            _ = setting.withLock(\.self)?.value
        }
        let key = SettingKey("n", default: Releasing {}, as: bridge)
        setting.withLock { $0 = Setting(key, suite: suite) }
        for value in 2...4 {
            _ = setting.withLock(\.self)?.value
            _ = suite.engine.assign(.integer(Int128(value)), forKey: "n") { Issue.record($0) }
        }
        _ = setting.withLock(\.self)?.value
        #expect(releases.load(ordering: .relaxed) > 0)
    }

    @Test("Row 34: reading a value that is known makes no system call")
    func noSystemCall() async throws {
        try await withSettingsPath { path in
            let calls = Atomic(0)
            let system = SystemCalls { _, _ in
                calls.add(1, ordering: .relaxed)
                return nil
            }
            let store = FileStore(path: path, system: system, checkpointsInBackground: false)
            let suite = SettingsSuite(store: store)
            let (port, name) = (Setting("port", default: 1, suite: suite), Setting("name", default: "", suite: suite))
            try await port.set(2)
            try await name.set("a")
            #expect(port.value == 2 && name.value == "a")
            let before = calls.load(ordering: .relaxed)
            for _ in 0..<100 { #expect(port.value == 2 && name.value == "a") }
            #expect(calls.load(ordering: .relaxed) == before)
            store.close()
        }
    }
}
