// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// A store that reports a failure with every read while it is asked to.
private final class ReportingStore: ForwardingStore {
    let memory = InMemoryStore()
    private let observer = Mutex<(any StoreObserver)?>(nil)
    let isReporting = Mutex(false)

    func setObserver(_ observer: any StoreObserver) {
        memory.setObserver(observer)
        self.observer.withLock { $0 = observer }
    }

    func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        defer {
            if isReporting.withLock(\.self) {
                observer.withLock(\.self)?.report(SettingsError(.readFailed, fact: "it failed"))
            }
        }
        return memory.withValue(forKey: key, body)
    }
}

@Suite("Locks of layers")
struct LayerLockTests {
    @Test(
        "a reporter may read other settings while a change of a layer is delivered",
        .deadlockLimit,
        arguments: [true, false]
    )
    func reporting(isFile: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/\(isFile ? "base.json" : "port")"
            func write(_ number: Int) throws {
                try path.replaceFile(with: isFile ? "{\"port\": \(number)}" : "\(number)")
            }
            try write(1)
            let store = ReportingStore()
            // What the next report does, except for those that it causes.
            let action = NextAction()
            let reporter = CallingReporter { _ in #expect(throws: Never.self) { try action.perform() } }
            let suite = SettingsSuite(
                store: store,
                sources: [.secrets(directory: directory)] + (isFile ? [.file(path)] : []),
                reporter: reporter
            )
            let port = Setting("port", default: 0, suite: suite)
            let seen = ObservedChanges(of: port)
            #expect(port.value == 1)
            let read = Mutex<String?>(nil)
            action.set {
                // Its secret has not been looked for yet.
                let value = Setting("other", default: "none", suite: suite).value
                read.withLock { $0 = value }
            }
            store.isReporting.withLock { $0 = true }
            try write(2)
            await eventually("the change is delivered") { seen.new.last == 2 }
            await eventually("the reporter has read") { read.withLock { $0 } == "none" }
            store.isReporting.withLock { $0 = false }
        }
    }

    @Test("a change of a base suite is visible when its call returns, whichever thread has found it", .deadlockLimit)
    func concurrentChanges() async throws {
        let fleet = SettingsSuite.inMemory()
        let local = SettingsSuite.inMemory(sources: [.suite(fleet)])
        let settings = (0..<4).map { Setting("\($0)", default: -1, suite: local) }
        let observations = settings.map { $0.observe { _ in } }
        await withTaskGroup(of: Void.self) { group in
            for (index, setting) in settings.enumerated() {
                group.addTask {
                    await blocking {
                        for number in 1...500 {
                            fleet[storedValueFor: "\(index)"] = .integer(Int128(number))
                            let value = setting.value
                            #expect(value == number)
                        }
                    }
                }
            }
        }
        for observation in observations { observation.invalidate() }
    }
}
