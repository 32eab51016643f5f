// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// A store in memory that refuses one value for good, and runs a body whenever it does.
private final class RefusingStore: ForwardingStore {
    let memory = InMemoryStore()
    private let failure = Mutex<SettingsError?>(nil)
    private let refusals = Mutex(0)
    private let didRefuse = Mutex<(@Sendable (_ count: Int) -> Void)?>(nil)

    func fail(with error: SettingsError?) { failure.withLock { $0 = error } }
    func whenRefusing(_ body: @escaping @Sendable (_ count: Int) -> Void) { didRefuse.withLock { $0 = body } }

    func commit<Result>(isBlind: Bool, _ body: (inout StoreTransaction) throws -> Result) throws -> Result {
        if let error = failure.withLock({ $0 }) { throw error }
        var isRefused = false
        do {
            return try memory.commit { transaction in
                let result = try body(&transaction)
                isRefused = transaction["port"] == 1
                if isRefused { throw SettingsError.unstorable("the store has no form for the value") }
                return result
            }
        } catch {
            if isRefused {
                let count = refusals.withLock {
                    $0 += 1
                    return $0
                }
                didRefuse.withLock { $0 }?(count)
            }
            throw error
        }
    }
}

@Suite("A pending write that is tried again")
struct PendingRetryTests {
    private let reporter = RecordingReporter()
    private let full = SettingsError(.writeFailed, fact: "the disk is full", remedy: "make room")

    @Test("a value that is assigned while the one before is being given up is stored")
    func newerThanRefused() async throws {
        let store = RefusingStore()
        let suite = SettingsSuite(store: store, reporter: reporter)
        let port = Setting("port", default: 0, suite: suite)
        store.whenRefusing { [full] count in
            // The second time, the engine has found which value it is.
            guard count == 2 else { return }
            store.fail(with: full)
            port.value = 2
            store.fail(with: nil)
        }
        store.fail(with: full)
        port.value = 1
        store.fail(with: nil)
        await eventually("the newer value is stored") { store.contents() == ["port": 2] }
        #expect(port.value == 2)
        await suite.finish()
    }

    @Test(
        "a value that the store will never take is not kept",
        arguments: [.unstorable, .invalidKey, .validationFailed, .typeMismatch, .invalidValue] as [SettingsError.Code]
    )
    func refused(code: SettingsError.Code) throws {
        let store = FailingStore(["port": 2])
        let suite = SettingsSuite(store: store, reporter: reporter)
        let port = Setting("port", default: 0, suite: suite)
        store.fail(with: SettingsError(code, fact: "the store takes no such value"))
        port.value = 3
        #expect(reporter.errors.map(\.code) == [code])
        #expect(!suite.engine.isPending("port"))
        #expect(port.value == 2)
    }

    @Test("a value that is assigned while an equal one is being saved is stored")
    func assignedWhileUnchanged() throws {
        let store = FailingStore(["port": 2])
        let suite = SettingsSuite(store: store, reporter: RecordingReporter())
        let port = Setting("port", default: 1, suite: suite)
        store.fail(with: SettingsError(.writeFailed, fact: "the disk is full"))
        port.value = 2
        #expect(suite.engine.isPending("port"))
        store.fail(with: nil)
        try suite.transaction { _ in port.value = 8 }
        #expect(port.value == 8)
        try suite.synchronize()
        #expect(store.contents() == ["port": 8])
    }
}
