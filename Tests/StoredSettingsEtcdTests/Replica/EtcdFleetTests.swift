// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: processes of a fleet", .requiresEtcd, .deadlockLimit)
struct EtcdFleetTests {
    private static let clients = 4

    /// The number of increments of each process.
    ///
    /// The environment variable `STORED_SETTINGS_INCREMENTS` replaces it.
    private static var increments: Int {
        ProcessInfo.processInfo.environment["STORED_SETTINGS_INCREMENTS"].flatMap(Int.init)
            ?? TestRun.count(quick: 16, exhaustive: 40)
    }

    /// Tokens that expire while a process waits for a leader.
    private static let options = ["--auth-token-ttl", "2", "--bcrypt-cost", "4"]

    @Test(
        "Increments of four processes are exact while leaders die, connections fail, history is compacted, and tokens expire"
    )
    func history() async throws {
        let count = Self.increments
        try await withEtcd(members: 3, options: Self.options) { cluster in
            let proxies = try (0..<3).map { try FaultyProxy(to: cluster.port($0)) }
            defer { for proxy in proxies { proxy.stop() } }
            try await EtcdUserTests.enableUsers(cluster)
            try await withTemporaryDirectory { directory in
                try "u".write(toFile: directory + "/user", atomically: false, encoding: .utf8)
                try "secret".write(toFile: directory + "/password", atomically: false, encoding: .utf8)
                let observer = try EtcdStore(urls: cluster.urls, prefix: "p/fleet") { configuration in
                    configuration.credentials = EtcdStore.Credentials(
                        userFile: directory + "/user",
                        passwordFile: directory + "/password"
                    )
                }
                let recorder = ReplicaTrial.Observer()
                observer.setObserver(recorder)
                try await blocking { try observer.commit { $0["count"] = 0 } }
                let programs = try (0..<Self.clients)
                    .map { client in
                        // Each process prefers another member.
                        let urls = (0..<3).map { proxies[(client + $0) % 3].url }.joined(separator: ",")
                        let arguments = [urls, "p/fleet", "-", "increments", "\(client)", "\(count)"]
                        return try Program("etcd-probe", arguments, in: directory)
                    }
                try await blocking {
                    var disturbance = Disturbance(cluster, proxies, seed: TestRun.seed)
                    while programs.contains(where: \.isRunning) { try disturbance.next() }
                    try disturbance.end()
                    for program in programs {
                        let output = try program.finish()
                        #expect(output.hasPrefix("own \(count) findings []"), "\(output)")
                    }
                    // The quick tier may end before the first one.
                    #expect(disturbance.compactions > 0 || !TestRun.isExhaustive)
                }
                try await blocking { try observer.refresh() }
                var expected: [String: StoredValue] = ["count": .integer(Int128(Self.clients * count))]
                for client in 0..<Self.clients { expected["client/\(client)"] = .integer(Int128(count)) }
                #expect(observer.contents() == expected)
                // The stream of a process without own commits has never gone backwards, and has reached the end.
                let counts = recorder.commits.withLock { $0.compactMap { $0.values["count"] ?? nil } }.map(Self.number)
                #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 < $1 })
                #expect(counts.last == Self.clients * count)
                observer.close()
            }
        }
    }

    private static func number(_ value: StoredValue) -> Int {
        if case .integer(let number) = value { Int(number) } else { -1 }
    }
}

/// Kills and restarts leaders, compacts the history, and disturbs connections, in an order that a seed determines.
struct Disturbance {
    private let cluster: EtcdCluster
    private let proxies: [FaultyProxy]
    private let user: String?
    private var generator: SeededGenerator
    private var dead: Int?
    private var step = 0
    /// The number of compactions that have succeeded.
    private(set) var compactions = 0

    init(_ cluster: EtcdCluster, _ proxies: [FaultyProxy], seed: UInt64, user: String? = "root:pw") {
        (self.cluster, self.proxies, self.user) = (cluster, proxies, user)
        generator = SeededGenerator(seed: seed)
    }

    mutating func next() throws {
        step += 1
        for proxy in proxies {
            for direction in FaultyProxy.Direction.allCases {
                let choice = Int.random(in: 0..<12, using: &generator)
                let size = Int.random(in: 0...2_000, using: &generator)
                proxy.change(direction) { faults in
                    faults = FaultyProxy.Faults()
                    switch choice {
                    case 0: faults.bytesUntilEnd = size
                    case 1: faults.delay = 0.005
                    case 2: faults.pieceSize = 1 + size % 50
                    // A piece can be a whole request, which is then executed twice, or the answer to it.
                    case 3: faults.duplicates = 1
                    default: break
                    }
                }
            }
            if Int.random(in: 0..<30, using: &generator) == 0 {
                proxy.dropConnections(reset: Bool.random(using: &generator))
            }
        }
        switch step % 60 {
        case 2, 30, 50: compact()
        case 20:
            dead = cluster.leader
            if let dead { cluster.kill(dead) }
        case 40: try revive()
        default: break
        }
        // The pace of the disturbances, not a wait.
        usleep(50_000)
    }

    /// Removes the history up to now, also the part that a process which is cut off has not received.
    private mutating func compact() {
        do {
            let status = try cluster.control(["get", "p/none", "-w", "json"], user: user, member: member)
            guard let revision = status.firstMatch(of: /"revision":(\d+)/)?.1 else { return }
            try cluster.control(["compact", String(revision)], user: user, member: member)
            compactions += 1
        } catch {
            // There is no leader at the moment.
        }
    }

    private mutating func revive() throws {
        if let dead { try cluster.start(dead) }
        dead = nil
    }

    /// A member that runs.
    var member: Int { dead == 0 ? 1 : 0 }

    /// Notes that all members were started again.
    mutating func noteRestart() { dead = nil }

    mutating func end() throws {
        for proxy in proxies { proxy.heal() }
        try revive()
        try cluster.waitUntilReady()
    }
}
