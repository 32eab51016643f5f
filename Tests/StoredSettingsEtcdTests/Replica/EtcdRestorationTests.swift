// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: a backup that is restored while processes write", .requiresEtcd, .deadlockLimit)
struct EtcdRestorationTests {
    private static let clients = 4

    /// The number of increments of each process in each of the three phases.
    private static var increments: Int {
        ProcessInfo.processInfo.environment["STORED_SETTINGS_INCREMENTS"].flatMap(Int.init)
            ?? TestRun.count(quick: 2, exhaustive: 8)
    }

    private struct ProcessEnded: Error, CustomStringConvertible {
        let description: String
    }

    private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

    @Test(
        "A restored backup loses what was acknowledged since, and everything before and after it is exact",
        arguments: ["etcd-cluster", "another-cluster"].sampled(1)
    )
    func history(token: String) async throws {
        try await withEtcd(members: 3) { cluster in
            let proxies = try (0..<3).map { try FaultyProxy(to: cluster.port($0)) }
            defer { for proxy in proxies { proxy.stop() } }
            try await withTemporaryDirectory { directory in
                let observer = try EtcdStore(urls: cluster.urls, prefix: "p/fleet")
                let programs = try (0..<Self.clients)
                    .map { client in
                        let urls = (0..<3).map { proxies[(client + $0) % 3].url }.joined(separator: ",")
                        // Processes share a file for their replicas in pairs.
                        let file = "\(directory)/replica\(client % 2).json"
                        return try Program(
                            "etcd-probe",
                            [urls, "p/fleet", file, "history", "\(client)", "0"],
                            in: directory
                        )
                    }
                defer { for program in programs { program.kill() } }
                try await blocking {
                    let times = try Self.run(programs, cluster, proxies, token: token) {
                        try "".write(toFile: directory + "/stop", atomically: false, encoding: .utf8)
                        for program in programs { try program.waitForOutput("idle\n") }
                        try observer.write(true, forKey: "end")
                    }
                    var history = FleetHistory(try programs.map { try $0.finish() })
                    try observer.refresh()
                    let contents = observer.contents()
                    let last: String = if case .string(let label)? = contents["last"] { label } else { "" }
                    history.check(contents.compactMapValues(Self.number), last: last, times)
                    #expect(history.findings == [])
                    #expect(history.lost >= Self.clients * Self.increments)
                    #expect(history.later >= Self.clients * Self.increments)
                }
                observer.close()
            }
        }
    }

    /// Disturbs a fleet, saves a backup, and restores it later.
    private static func run(
        _ programs: [Program],
        _ cluster: EtcdCluster,
        _ proxies: [FaultyProxy],
        token: String,
        end: () throws -> Void
    ) throws -> FleetHistory.Times {
        var times = FleetHistory.Times()
        var disturbance = Disturbance(cluster, proxies, seed: TestRun.seed, user: nil)
        let disturb = { (disturbance: inout Disturbance) throws in
            // The first commit to be acknowledged may have begun before.
            let goals = programs.map { acknowledgedCommits(of: $0) + increments + 1 }
            while true {
                if zip(programs, goals).allSatisfy({ acknowledgedCommits(of: $0) >= $1 }) { return }
                guard programs.allSatisfy(\.isRunning) else {
                    throw ProcessEnded(description: "\(programs.map { $0.text.suffix(200) })")
                }
                try disturbance.next()
            }
        }
        try disturb(&disturbance)
        times.saveBegan = now
        try cluster.saveBackup(member: disturbance.member)
        times.saveEnded = now
        try disturb(&disturbance)
        try cluster.restoreBackup(token: token) { times.stopped = now }
        disturbance.noteRestart()
        try disturb(&disturbance)
        try disturbance.end()
        try end()
        return times
    }

    private static func acknowledgedCommits(of program: Program) -> Int {
        program.text.components(separatedBy: "\nok ").count - 1
    }

    private static func number(_ value: StoredValue) -> Int? {
        if case .integer(let number) = value { Int(number) } else { nil }
    }
}
