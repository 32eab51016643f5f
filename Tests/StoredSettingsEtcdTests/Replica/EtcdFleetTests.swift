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
        ProcessInfo.processInfo.environment["STORED_SETTINGS_INCREMENTS"].flatMap(Int.init) ?? 40
    }

    @Test("Increments of four processes are exact while leaders are killed and connections are disturbed")
    func history() async throws {
        let count = Self.increments
        try await withEtcd(members: 3) { cluster in
            let proxies = try (0..<3).map { try FaultyProxy(to: cluster.port($0)) }
            defer { for proxy in proxies { proxy.stop() } }
            let observer = try EtcdStore(urls: cluster.urls, prefix: "fleet")
            let recorder = ReplicaTrial.Observer()
            observer.setObserver(recorder)
            try await blocking { try observer.commit { $0["count"] = 0 } }
            try await withTemporaryDirectory { directory in
                let programs = try (0..<Self.clients)
                    .map { client in
                        // Each process prefers another member.
                        let urls = (0..<3).map { proxies[(client + $0) % 3].url }.joined(separator: ",")
                        let arguments = [urls, "fleet", "-", "increments", "\(client)", "\(count)"]
                        return try Program("etcd-probe", arguments, in: directory)
                    }
                try await blocking {
                    var disturbance = Disturbance(cluster, proxies, seed: 1)
                    while programs.contains(where: \.isRunning) { try disturbance.next() }
                    try disturbance.end()
                    for program in programs {
                        let output = try program.finish()
                        #expect(output.hasPrefix("own \(count) findings []"), "\(output)")
                    }
                }
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

    private static func number(_ value: StoredValue) -> Int {
        if case .integer(let number) = value { Int(number) } else { -1 }
    }
}

/// Kills and restarts leaders, and disturbs connections, in an order that a seed determines.
private struct Disturbance {
    private let cluster: EtcdCluster
    private let proxies: [FaultyProxy]
    private var generator: SeededGenerator
    private var dead: Int?
    private var step = 0

    init(_ cluster: EtcdCluster, _ proxies: [FaultyProxy], seed: UInt64) {
        (self.cluster, self.proxies) = (cluster, proxies)
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
        case 20:
            dead = cluster.leader
            if let dead { cluster.kill(dead) }
        case 40: try revive()
        default: break
        }
        usleep(50_000)
    }

    private mutating func revive() throws {
        if let dead { try cluster.start(dead) }
        dead = nil
    }

    mutating func end() throws {
        for proxy in proxies { proxy.heal() }
        try revive()
        try cluster.waitUntilReady()
    }
}
