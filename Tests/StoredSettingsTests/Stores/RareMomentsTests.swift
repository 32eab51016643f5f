// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

/// Closes its store with its last reference, as an engine does.
private final class Owner: StoreObserver {
    static let last = Mutex<Owner?>(nil)
    let store: FileStore
    init(_ store: FileStore) { self.store = store }
    func record(_ commit: StoreCommit) -> StoreDelivery {
        let old = Owner.last.withLock { owner in
            defer { owner = nil }
            return owner
        }
        _ = consume old
        return .none
    }
    func report(_ error: SettingsError) {}
    deinit { store.close() }
}

@Suite("A file store in rare moments")
struct RareMomentsTests {
    @Test("a journal that is replaced while a body runs costs no value whose commit has returned")
    func replacedInBody() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let (store, other) = (
                FileStore(path: path, foldsInBackground: false), FileStore(path: path, foldsInBackground: false)
            )
            try store.commit { $0["a"] = 1 }
            var isSet = false
            do {
                try store.commit { transaction in
                    transaction["mine"] = 1
                    try JournalFile(of: path).remove()
                    try other.commit { $0["other"] = 1 }
                    store.look()
                }
                isSet = true
            } catch { print("commit:", error) }
            #expect(!isSet || store.contents()["mine"] == 1)
            try other.commit { $0["more"] = 1 }
            #expect(!isSet || FileStore(path: path, foldsInBackground: false).contents()["mine"] == 1)
        }
    }

    @Test("a value of a journal that was removed is not put over one that was set and folded since")
    func strandedOverNewer() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let store = FileStore(path: path, foldsInBackground: false)
            try store.commit { $0["a"] = 1 }
            try JournalFile(of: path).remove()
            let other = FileStore(path: path, foldsInBackground: false)
            try other.commit { $0["a"] = 2 }
            try other.fold()
            try store.commit { $0["b"] = 1 }
            #expect(store.contents() == ["a": 2, "b": 1])
            #expect(other.contents() == ["a": 2, "b": 1])
        }
    }

    @Test("the last reference to an observer may be let go of while a commit is recorded")
    func lastReference() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let (store, other) = (
                FileStore(path: path, foldsInBackground: false), FileStore(path: path, foldsInBackground: false)
            )
            try other.commit { $0["b"] = 1 }
            _ = store.contents()
            do {
                let owner = Owner(store)
                store.setObserver(owner)
                Owner.last.withLock { $0 = owner }
            }
            try other.commit { $0["a"] = 1 }
            #expect(store.contents() == ["a": 1, "b": 1])
        }
    }

    @Test("a suite that is finished inside its own transaction is finished after it")
    func finishInTransaction() async throws {
        try await withTemporaryDirectory { directory in
            let suite = SettingsSuite(fileAt: directory + "/settings.json", reporter: RecordingReporter())
            try suite.setStoredValue(1, forKey: "a")
            do { try suite.transaction { _ in suite.finish() } } catch { print("transaction:", error) }
        }
    }

    @Test("a commit that nobody can see is not acknowledged")
    func publishedToNobody() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/settings.json"
            let address = Mutex<UInt>(0)
            let system = SystemCalls(witness: { call, called in
                guard call == .write, called == path + ".journal" else { return }
                let page = address.withLock { $0 }
                if page != 0 { #expect(SystemCalls.mapZeros(at: page, 4_096)) }
            })
            let store = FileStore(path: path, system: system, foldsInBackground: false)
            let other = FileStore(path: path, foldsInBackground: false)
            try store.commit { $0["a"] = 1 }
            #expect(other.contents() == ["a": 1])
            let page = store.state.withLock { $0.journal.journal?.page.address(ofWord: 0) ?? 0 }
            address.withLock { $0 = page }
            var isSet = false
            do {
                try store.commit { $0["a"] = 2 }
                isSet = true
            } catch { print("commit:", error) }
            address.withLock { $0 = 0 }
            #expect(!isSet || other.contents() == ["a": 2])
            try store.commit { $0["b"] = 1 }
            #expect(!isSet || store.contents()["a"] == 2)
        }
    }
}
