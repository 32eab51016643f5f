// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: answers that cannot be trusted", .requiresEtcd, .deadlockLimit)
struct EtcdDoubtTests {
    private static let noSpace =
        #"{"error":"etcdserver: mvcc: database space exceeded","code":8,"#
        + #""message":"etcdserver: mvcc: database space exceeded"}"#

    /// A store whose first commit is answered with "no space".
    private static func full(
        isApplied: Bool,
        _ body: @Sendable (EtcdStore) throws -> Void
    ) async throws {
        let prefix = "\(UUID().uuidString)/"
        let head = ReplicaLayout(prefix: prefix).head
        let isFirst = Atomic(true)
        let forwarder = try EtcdForwarder(to: try await SharedEtcd.cluster) { request, answer, forwarder in
            guard request.writes(head), isFirst.exchange(false, ordering: .relaxed) else { return false }
            if isApplied { _ = forwarder.forward(request) }
            answer.respond(noSpace, status: 429)
            return true
        }
        defer { forwarder.stop() }
        let store = try EtcdStore(urls: [forwarder.url], prefix: prefix)
        try body(store)
        store.close()
    }

    @Test("A commit that etcd has stored before it reports its quota succeeds, once")
    func appliedDespiteQuota() async throws {
        try await Self.full(isApplied: true) { store in
            var runs = 0
            try store.commit { transaction in
                runs += 1
                transaction["a"] = EtcdStoreTests.incremented(transaction["a"])
            }
            #expect(runs == 1)
            #expect(store.value(forKey: "a") == 1)
        }
    }

    @Test("A commit that etcd refuses because of its quota fails, and nothing is changed")
    func refusedBecauseOfQuota() async throws {
        try await Self.full(isApplied: false) { store in
            let error = #expect(throws: SettingsError.self) { try store.write(1, forKey: "a") }
            #expect(error?.code == .writeFailed)
            #expect(error?.consequence == "nothing is changed")
            try store.refresh()
            #expect(store.value(forKey: "a") == nil)
        }
    }

    @Test("The answer to an earlier fence is not taken for that of the current one")
    func repeatedFence() async throws {
        let prefix = "\(UUID().uuidString)/"
        let layout = ReplicaLayout(prefix: prefix)
        let recorded = Mutex<String?>(nil)
        let isRepeated = Atomic(false)
        let forwarder = try EtcdForwarder(to: try await SharedEtcd.cluster) { request, answer, forwarder in
            if request.writes(layout.head) {
                // The commit is stored, and its answer is lost.
                _ = forwarder.forward(request)
                return true
            }
            guard request.writes(layout.fence) else { return false }
            if let response = recorded.withLock({ $0 }), !isRepeated.exchange(true, ordering: .relaxed) {
                answer.send(response)
                return true
            }
            let response = forwarder.forward(request)
            recorded.withLock { $0 = response }
            answer.send(response)
            return true
        }
        defer { forwarder.stop() }
        let store = try EtcdStore(urls: [forwarder.url], prefix: prefix)
        try await blocking {
            for number in 1...3 {
                try store.commit { $0["count"] = EtcdStoreTests.incremented($0["count"]) }
                try store.refresh()
                #expect(store.value(forKey: "count") == .integer(Int128(number)))
            }
        }
        store.close()
    }

    @Test("The answer to an earlier commit is not taken for that of the current one")
    func repeatedCommit() async throws {
        let prefix = "\(UUID().uuidString)/"
        let layout = ReplicaLayout(prefix: prefix)
        let recorded = Mutex<String?>(nil)
        let forwarder = try EtcdForwarder(to: try await SharedEtcd.cluster) { request, answer, forwarder in
            guard request.writes(layout.head), !request.writes(layout.fence) else { return false }
            if let response = recorded.withLock({ $0 }) {
                // The second commit never arrives. The revision of the answer is made greater than that of the base.
                answer.send(response)
                recorded.withLock { $0 = nil }
                return true
            }
            let response = forwarder.forward(request)
            recorded.withLock { $0 = Self.later(response) }
            answer.send(response)
            return true
        }
        defer { forwarder.stop() }
        let store = try EtcdStore(urls: [forwarder.url], prefix: prefix)
        try await blocking {
            try store.commit { $0["count"] = 1 }
            try store.commit { $0["count"] = EtcdStoreTests.incremented($0["count"]) }
            let other = try EtcdStore(urls: [forwarder.url], prefix: prefix)
            try other.refresh()
            #expect(other.value(forKey: "count") == 2)
            other.close()
        }
        store.close()
    }

    /// The response with a greater revision in its header.
    private static func later(_ response: String) -> String {
        guard let name = response.range(of: "\"revision\":\"") else { return response }
        let digits = response[name.upperBound...].prefix { $0.isNumber }
        // The length of the response must not change.
        let greatest = String(repeating: "9", count: digits.count)
        return response.replacingCharacters(in: digits.startIndex..<digits.endIndex, with: greatest)
    }

    @Test("A watch that always fails is reported once, and changes arrive all the same")
    func failingWatch() async throws {
        let cluster = try await SharedEtcd.cluster
        let prefix = "\(UUID().uuidString)/"
        let forwarder = try EtcdForwarder(to: cluster) { request, answer, _ in
            guard request.path == "/v3/watch" else { return false }
            answer.beginStream()
            answer.endStream()
            return true
        }
        defer { forwarder.stop() }
        let store = try EtcdStore(urls: [forwarder.url], prefix: prefix) { $0.outageTolerance = .zero }
        let observer = ReplicaTrial.Observer()
        store.setObserver(observer)
        try await blocking { try store.write(1, forKey: "a") }
        let other = try EtcdStore(urls: cluster.urls, prefix: prefix)
        try await blocking { try other.write(2, forKey: "a") }
        await eventually("the value arrives") { store.value(forKey: "a") == 2 }
        await eventually("the failure is reported") { observer.errors.withLock { $0.count } == 1 }
        await eventually("more watches have failed") { forwarder.requests("/v3/watch").count >= 6 }
        #expect(observer.errors.withLock { $0.count } == 1)
        #expect(observer.recoveries.withLock { $0.count } == 0)
        store.close()
    }

    @Test("A key whose letters have another form in etcd is one setting, whose key in etcd stays the same")
    func equivalentKeys() async throws {
        let (client, prefix) = try await EtcdClient.shared()
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try await client.put("\(prefix)k/\(decomposed)", "1")
        let store = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix)
        let range = EtcdKeyRange(prefix: "\(prefix)k/")
        try await blocking { try store.write(2, forKey: composed) }
        #expect(try await client.contents(of: range).keyValues.map(\.value) == [Array("2".utf8)])
        #expect(try await client.contents(of: range).keyValues.map(\.key) == [Array("\(prefix)k/\(decomposed)".utf8)])
        // Another program writes the other form. The last write wins, and a write of the library removes the other one.
        try await client.put("\(prefix)k/\(composed)", "3")
        try await client.put("\(prefix)k/\(decomposed)", "4")
        let second = try EtcdStore(urls: try await SharedEtcd.cluster.urls, prefix: prefix)
        try await blocking { try second.refresh() }
        #expect(second.contents() == [composed: 4])
        try await blocking { try second.write(nil, forKey: composed) }
        #expect(try await client.contents(of: range).keyValues == [])
        await eventually("the removal has arrived") { store.contents() == [:] }
        store.close()
        second.close()
    }

    @Test("A child of a fork uses a store of its own, and the store of its parent refuses writes there")
    func fork() async throws {
        let urls = try await SharedEtcd.cluster.urls.joined(separator: ",")
        try await withTemporaryDirectory { directory in
            let prefix = "\(UUID().uuidString)/"
            let program = try Program(
                "etcd-probe",
                [urls, prefix, "\(directory)/replica.json", "fork", "a", "5"],
                in: directory
            )
            let output = try await blocking { try program.finish() }
            #expect(output == "parent 6 child 0\n")
        }
    }

    @Test("A program that closes all descriptors connects again, and its own files stay as they are")
    func closedDescriptors() async throws {
        let urls = try await SharedEtcd.cluster.urls.joined(separator: ",")
        try await withTemporaryDirectory { directory in
            let other = URL(fileURLWithPath: "\(directory)/other")
            try Data("own contents\n".utf8).write(to: other)
            let arguments = [urls, "\(UUID().uuidString)/", "\(directory)/replica.json", "closeAll", "a", "4"]
            let program = try Program("etcd-probe", arguments, in: directory)
            let output = try await blocking { try program.finish() }
            #expect(output == "1\n2\n3\n4\n")
            #expect(try Data(contentsOf: other) == Data("own contents\n".utf8))
        }
    }
}

@Suite("The health of a connection")
struct LinkHealthTests {
    private static let problem = SettingsError(EtcdError(.watchEnded, "the server has ended the watch"), .replicaUsed)

    @Test("After three watches that showed nothing, creating another one is no connection, and a message is one")
    func emptyWatches() {
        var health = LinkHealth()
        for _ in 1...3 {
            health.watchBegins()
            let isConnected = health.watchCreated()
            #expect(isConnected)
            health.attemptEnds()
        }
        health.watchBegins()
        let isConnected = health.watchCreated()
        #expect(!isConnected)
        health.messageArrived()
        health.attemptEnds()
        #expect(!health.isDoubtful)
    }

    @Test("A watch that lasts is a connection if the server has created it")
    func lastingWatch() {
        var health = LinkHealth()
        for _ in 1...3 {
            health.watchBegins()
            health.attemptEnds()
        }
        health.watchBegins()
        let answers = [health.watchLasts(), health.watchCreated(), health.watchLasts()]
        #expect(answers == [false, false, true])
        #expect(!health.isDoubtful)
    }

    @Test("A failure is reported once until it is settled, and delays grow until a message")
    func failures() {
        var health = LinkHealth()
        let now = ContinuousClock.now
        let reports = [
            health.failed(Self.problem, isUrgent: false, tolerance: .seconds(5), now),
            health.failed(Self.problem, isUrgent: false, tolerance: .seconds(5), now + .seconds(5)),
            health.failed(Self.problem, isUrgent: true, tolerance: .zero, now + .seconds(6)),
        ]
        #expect(reports == [false, true, false])
        let settled = [health.takeReported(), health.takeReported()]
        #expect(settled.map { $0.map(\.message) } == [[Self.problem.message], []])
        let delays = (1...3).map { _ in health.nextDelay() }
        #expect(delays == delays.sorted() && Set(delays).count == 3)
        health.messageArrived()
        let delay = health.nextDelay()
        #expect(delay == delays[0])
    }

    @Test("An urgent failure with another fix than the reported ones is reported, once until all of them are settled")
    func otherFailure() {
        var health = LinkHealth()
        let now = ContinuousClock.now
        let refused = SettingsError(EtcdError(.permissionDenied, "permission denied"), .replicaUsed)
        let unknown = SettingsError(EtcdError(.authenticationFailed, "wrong password"), .replicaUsed)
        var reports: [Bool] = []
        for _ in 1...2 {
            for (problem, isUrgent) in [(Self.problem, false), (refused, true), (unknown, true)] {
                reports.append(health.failed(problem, isUrgent: isUrgent, tolerance: .zero, now))
            }
        }
        #expect(reports == [true, true, true, false, false, false])
        let settled = health.takeReported()
        #expect(settled.map(\.message) == [Self.problem, refused, unknown].map(\.message))
        let isReportedAgain = health.failed(refused, isUrgent: true, tolerance: .zero, now)
        #expect(isReportedAgain)
    }
}
