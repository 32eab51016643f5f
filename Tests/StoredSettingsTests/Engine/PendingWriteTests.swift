// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

/// Two stores over one file, as two processes have them; the commits of the first can be made to fail.
@Suite("A pending write and a newer commit")
struct PendingWriteTests {
    private let reporter = RecordingReporter()
    private let faults = Faults()

    private struct Pair: Sendable {
        var path: String
        var store: FileStore
        var otherStore: FileStore
        var here: Setting<Int>
        var elsewhere: Setting<Int>

        var suite: SettingsSuite { here.suite }

        func expectBoth(_ value: Int, sourceLocation: SourceLocation = #_sourceLocation) {
            // These stores have no watch that would notice an edit.
            otherStore.look()
            #expect(here.value == value, sourceLocation: sourceLocation)
            #expect(elsewhere.value == value, sourceLocation: sourceLocation)
        }
    }

    private func withPair(_ body: (Pair) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/settings.json"
            let store = FileStore(path: path, system: faults.system, checkpointsInBackground: false)
            let otherStore = FileStore(path: path, checkpointsInBackground: false)
            let other = SettingsSuite(store: otherStore)
            let pair = Pair(
                path: path,
                store: store,
                otherStore: otherStore,
                here: Setting("port", default: 0, suite: SettingsSuite(store: store, reporter: reporter)),
                elsewhere: Setting("port", default: 0, suite: other)
            )
            try pair.elsewhere.set(7)
            #expect(pair.here.value == 7)
            try await body(pair)
            faults.stop()
            pair.suite.finish()
            other.finish()
        }
    }

    /// Assigns a value here that cannot be saved for now.
    private func assign(_ value: Int, in pair: Pair) {
        faults.fail(.write, with: ENOSPC)
        pair.here.value = value
        #expect(pair.here.value == value)
    }

    /// Lets the pending writes be saved.
    private func save(in pair: Pair) throws {
        faults.stop()
        try pair.suite.synchronize()
    }

    private var codes: [SettingsError.Code] { reporter.errors.map(\.code) }
    private let dropped = SettingsError.Code("pendingWriteDropped")

    @Test("a newer commit of another process is read, received by subscribers and kept, and the drop is reported")
    func newerCommit() async throws {
        try await withPair { pair in
            var values = pair.here.values.makeAsyncIterator()
            #expect(await values.next() == 7)
            assign(1, in: pair)
            #expect(await values.next() == 1)
            try pair.elsewhere.set(2)
            #expect(pair.here.value == 2)
            #expect(await values.next() == 2)
            try save(in: pair)
            pair.expectBoth(2)
            #expect(codes == [.writeFailed, dropped])
            let error = try #require(reporter.errors.last)
            #expect(error.key == "port")
            #expect(error.location?.file == pair.path)
            #expect(!error.consequence.isEmpty && !error.remedy.isEmpty)
        }
    }

    @Test("a newer commit that is noticed by the retry alone is not overwritten by it")
    func noticedByRetry() async throws {
        try await withPair { pair in
            assign(1, in: pair)
            try pair.elsewhere.set(2)
            try save(in: pair)
            pair.expectBoth(2)
            #expect(codes == [.writeFailed, dropped])
        }
    }

    @Test("a newer removal by another process drops it, too")
    func newerRemoval() async throws {
        try await withPair { pair in
            assign(1, in: pair)
            try pair.elsewhere.suite.removeAll()
            try save(in: pair)
            pair.expectBoth(0)
            #expect(!pair.here.isSet)
            #expect(codes == [.writeFailed, dropped])
        }
    }

    @Test("a later edit of the file drops it")
    func laterEdit() async throws {
        try await withPair { pair in
            try pair.suite.checkpoint()
            assign(1, in: pair)
            try pair.path.replaceFile(with: #"{"port": 9}"#)
            pair.store.look()
            #expect(pair.here.value == 9)
            try save(in: pair)
            pair.expectBoth(9)
            #expect(codes == [.writeFailed, dropped])
        }
    }

    @Test("a commit that was made before the assignment and is noticed after it drops nothing")
    func olderCommit() async throws {
        try await withPair { pair in
            try pair.elsewhere.set(2)
            assign(1, in: pair)
            try save(in: pair)
            pair.expectBoth(1)
            #expect(codes == [.writeFailed])
        }
    }

    @Test("an edit of the file before the assignment drops nothing, although no read has noticed it")
    func olderEdit() async throws {
        try await withPair { pair in
            try pair.suite.checkpoint()
            try pair.path.replaceFile(with: #"{"port": 9, "host": "a"}"#)
            assign(1, in: pair)
            pair.store.look()
            #expect(pair.suite.contains("host"))
            #expect(pair.here.value == 1)
            try save(in: pair)
            pair.expectBoth(1)
            #expect(codes == [.writeFailed])
        }
    }

    @Test("a commit of another key drops nothing")
    func otherKey() async throws {
        try await withPair { pair in
            assign(1, in: pair)
            try pair.elsewhere.suite.setStoredValue("a", forKey: "host")
            #expect(pair.suite.contains("host"))
            #expect(pair.here.value == 1)
            try save(in: pair)
            pair.expectBoth(1)
            #expect(codes == [.writeFailed])
        }
    }

    @Test("a commit of the same value elsewhere leaves nothing to save, and is no change")
    func equalCommit() async throws {
        try await withPair { pair in
            assign(1, in: pair)
            let changes = pair.suite.changes
            try pair.elsewhere.set(1)
            #expect(pair.here.value == 1)
            // Nothing can be saved here as yet, and nothing has to be.
            try pair.suite.synchronize()
            try pair.elsewhere.suite.setStoredValue("a", forKey: "host")
            #expect(pair.suite.contains("host"))
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next()?.keys == ["host"])
            #expect(codes == [.writeFailed])
        }
    }

    @Test("a later set of this process takes its place, silently", arguments: [2, 7])
    func laterSet(value: Int) async throws {
        try await withPair { pair in
            assign(1, in: pair)
            faults.stop()
            try pair.here.set(value)
            pair.expectBoth(value)
            #expect(!pair.suite.engine.isPending("port"))
            #expect(codes == [.writeFailed])
        }
    }

    @Test("a transaction that takes it along does not store it over an edit that is noticed meanwhile")
    func editDuringTransaction() async throws {
        try await withPair { pair in
            try pair.suite.checkpoint()
            assign(1, in: pair)
            try pair.suite.transaction { settings in
                // Not before, or the retry could save it first.
                faults.stop()
                #expect(settings[pair.here] == 1)
                try pair.path.replaceFile(with: #"{"port": 9}"#)
                pair.store.look()
                #expect(pair.here.value == 9)
                #expect(codes == [.writeFailed], "nothing is reported under the transaction's locks")
                settings[storedValueFor: "host"] = "a"
            }
            #expect(pair.suite.contains("host"))
            pair.expectBoth(9)
            try pair.suite.synchronize()
            pair.expectBoth(9)
            #expect(codes == [.writeFailed, dropped])
        }
    }

    @Test("what is assigned inside a transaction is stored over what the transaction stores")
    func assignedInside() async throws {
        try await withPair { pair in
            try pair.suite.transaction { settings in
                settings[pair.here] = 1
                pair.here.value = 2
            }
            pair.expectBoth(2)
            #expect(codes == [.nestedTransaction])
        }
    }
}
