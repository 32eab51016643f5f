// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import StoredSettings
import StoredSettingsEtcd
import Synchronization
import TestSupport
import Testing

/// The messages of a watch, recorded by a task.
final class WatchRecorder: Sendable {
    private let recorded = Mutex<[EtcdWatchMessage]>([])
    private let failure = Mutex<(any Error)?>(nil)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ client: EtcdClient, _ range: EtcdKeyRange, from revision: Int64, requiresLeader: Bool = true) {
        let task = Task {
            do {
                try await client.watch(range, from: revision, requiresLeader: requiresLeader) { message in
                    self.recorded.withLock { $0.append(message) }
                }
            } catch {
                self.failure.withLock { $0 = error }
            }
        }
        self.task.withLock { $0 = task }
    }

    var messages: [EtcdWatchMessage] { recorded.withLock { $0 } }

    var error: EtcdError? { failure.withLock { $0 as? EtcdError } }

    var isCreated: Bool { !messages.isEmpty }

    var batches: [[EtcdEvent]] {
        messages.compactMap { message in
            if case .events(let events, _) = message { events } else { nil }
        }
    }

    var events: [EtcdEvent] { batches.flatMap { $0 } }

    /// Cancels the watch, and waits for its end.
    func cancel() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }
}

/// What the client rests on, observed with etcd 3.4.23.
@Suite("etcd: watches", .requiresEtcd, .deadlockLimit)
struct EtcdWatchFactTests {
    @Test("A watch sends the history from a revision, and then every change")
    func history() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        let first = try await client.put("\(prefix)a", "1")
        let second = try await client.put("\(prefix)b", "2")
        let watch = WatchRecorder(client, EtcdKeyRange(prefix: prefix), from: first)
        await eventually("the history has arrived") { watch.events.count == 2 }
        let deletion = EtcdOperation.delete(EtcdKeyRange("\(prefix)a"))
        let third = try await client.execute(EtcdTransaction(if: [], then: [deletion])).header.revision
        await eventually("the deletion has arrived") { watch.events.count == 3 }
        #expect(watch.events.map(\.keyValue.modRevision) == [first, second, third])
        #expect(watch.events.map(\.isDeletion) == [false, false, true])
        #expect(watch.events.last?.keyValue.value == [])
        guard case .created = watch.messages.first else {
            Issue.record("the first message is another one")
            return
        }
        await watch.cancel()
        #expect(watch.error?.code == .canceled)
    }

    @Test("The changes of a transaction arrive in one message")
    func atomicity() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        let watch = WatchRecorder(client, EtcdKeyRange(prefix: prefix), from: 0)
        await eventually("the watch is created") { watch.isCreated }
        let puts = (0..<100).map { EtcdOperation.put(Array("\(prefix)\($0)".utf8), []) }
        for _ in 0..<5 { _ = try await client.execute(EtcdTransaction(if: [], then: puts)) }
        await eventually("all changes have arrived") { watch.events.count >= 500 }
        for batch in watch.batches {
            for (_, events) in Dictionary(grouping: batch, by: \.keyValue.modRevision) { #expect(events.count == 100) }
        }
        await watch.cancel()
    }

    @Test("A large history arrives completely, in fragments that the client joins")
    func largeHistory() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        let value = String(repeating: "x", count: 500_000)
        let first = await client.put("\(prefix)0", value, until: "the first key is set")
        for number in 1..<30 { await client.put("\(prefix)\(number)", value, until: "the next key is set") }
        let watch = WatchRecorder(client, EtcdKeyRange(prefix: prefix), from: first)
        await eventually("all changes have arrived") {
            Set(watch.events.map(\.keyValue.key)).count == 30 || watch.error != nil
        }
        #expect(watch.error == nil)
        await watch.cancel()
    }

    @Test("A watch from a revision of the future is created, with the current revision in its header")
    func future() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        let revision = try await client.put(prefix, "1")
        let watch = WatchRecorder(client, EtcdKeyRange(prefix: prefix), from: revision + 1_000_000)
        await eventually("the watch is created") { watch.isCreated }
        guard case .created(let header) = watch.messages.first else {
            Issue.record("the first message is another one")
            return
        }
        // Observed: no error. A client whose revision is that of a lost future must compare it with the header.
        #expect(header.revision < revision + 1_000_000)
        await watch.cancel()
    }

    @Test("A silent watch reports its progress")
    func progress() async throws {
        // By default, the interval is 10 minutes.
        try await withEtcd(options: ["--experimental-watch-progress-notify-interval", "100ms"]) { cluster in
            let client = try etcdClient(cluster.urls)
            let watch = WatchRecorder(client, EtcdKeyRange(prefix: "a/"), from: 0)
            await eventually("the watch is created") { watch.isCreated }
            let revision = try await client.put("b", "not watched")
            await eventually("the progress has arrived") {
                watch.messages.contains { message in
                    if case .progress(let header) = message { header.revision == revision } else { false }
                }
            }
            #expect(watch.events.isEmpty && watch.error == nil)
            await watch.cancel()
        }
    }
}
