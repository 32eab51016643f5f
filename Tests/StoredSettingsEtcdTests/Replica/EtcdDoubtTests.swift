// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import ProcessSupport
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: other programs, forks and descriptors", .requiresEtcd, .deadlockLimit)
struct EtcdDoubtTests {
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
        try await blocking { try second.refresh(mayWait: true) }
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
            let program = try ChildProcess(
                program: "etcd-probe",
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
            let program = try ChildProcess(program: "etcd-probe", arguments, in: directory)
            let output = try await blocking { try program.finish() }
            #expect(output == "1\n2\n3\n4\n")
            #expect(try Data(contentsOf: other) == Data("own contents\n".utf8))
        }
    }
}

@Suite("The health of a connection")
struct LinkHealthTests {
    private static let problem = SettingsError(EtcdError(.watchEnded, "the server has ended the watch"), .replicaUsed)

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
