// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import ProcessSupport
import StoredSettings
import Synchronization
import TestSupport
import Testing

@testable import StoredSettingsEtcd

@Suite("EtcdStore: processes of a fleet", .requiresEtcd, .deadlockLimit)
struct EtcdFleetTests {
    /// The number of increments of each process.
    ///
    /// The environment variable `STORED_SETTINGS_INCREMENTS` replaces it.
    private static var increments: Int {
        ProcessInfo.processInfo.environment["STORED_SETTINGS_INCREMENTS"].flatMap(Int.init)
            ?? TestRun.count(quick: 6, exhaustive: 40)
    }

    /// Tokens that expire while a process waits for a leader.
    private static let options = ["--auth-token-ttl", "2", "--bcrypt-cost", "4"]

    @Test(
        "Increments of four processes are exact while leaders die, connections fail, history is compacted, and tokens expire"
    )
    func history() async throws {
        try await withEtcd(members: 3, options: Self.options) { cluster in
            try await EtcdUserTests.enableUsers(cluster)
            try await Fleet.run(cluster, user: ("u", "secret"), root: "root:pw") { fleet in
                try fleet.disturb(forIncrements: Self.increments)
                // The quick tier may end before the first one.
                #expect(fleet.disturbance.compactions > 0 || !TestRun.isExhaustive)
                let history = try fleet.finish(FleetHistory.Times())
                #expect(history.findings == [])
                #expect(history.lost == 0)
            }
        }
    }

    @Test(
        "A restored backup loses what was acknowledged since, and everything before and after it is exact",
        arguments: ["etcd-cluster", "another-cluster"].sampled(1)
    )
    func restoration(token: String) async throws {
        let increments = TestRun.count(quick: 1, exhaustive: 8)
        try await withEtcd(members: 3) { cluster in
            try await Fleet.run(cluster) { fleet in
                var times = FleetHistory.Times()
                try fleet.disturb(forIncrements: increments)
                times.saveBegan = DispatchTime.now().uptimeNanoseconds
                try cluster.saveBackup(member: fleet.disturbance.member)
                times.saveEnded = DispatchTime.now().uptimeNanoseconds
                try fleet.disturb(forIncrements: increments)
                try cluster.restoreBackup(token: token) { times.stopped = DispatchTime.now().uptimeNanoseconds }
                fleet.disturbance.noteRestart()
                if token != "etcd-cluster" { _ = try fleet.observer.acceptCluster() }
                try fleet.disturb(forIncrements: increments)
                let history = try fleet.finish(times)
                #expect(history.findings == [])
                #expect(history.lost >= Fleet.clients * increments)
                #expect(history.later >= Fleet.clients * increments)
            }
        }
    }
}

/// Processes that increment a number over disturbed connections.
///
/// Its methods wait, so they are called on a thread of their own.
private struct Fleet {
    struct ProcessEnded: Error, CustomStringConvertible {
        let description: String
    }

    static let clients = 4

    let directory: String
    let programs: [ChildProcess]
    /// A store whose connections are not disturbed.
    let observer: EtcdStore
    var disturbance: Disturbance

    /// Starts the processes, runs a body, and kills those that are left.
    ///
    /// - Parameters:
    ///   - cluster: Three members.
    ///   - user: The user and the password of all processes, if users are required.
    ///   - root: The user that may compact the history, with a password.
    ///   - body: A body that runs on a thread of its own.
    /// - Throws: The error of the body, or one of starting the processes.
    static func run(
        _ cluster: EtcdCluster,
        user: (name: String, password: String)? = nil,
        root: String? = nil,
        _ body: @escaping @Sendable (inout Fleet) throws -> Void
    ) async throws {
        let proxies = try (0..<3).map { try FaultyProxy(to: cluster.port($0)) }
        try await withTemporaryDirectory { directory in
            let files = (user: directory + "/user", password: directory + "/password")
            try user?.name.write(toFile: files.user, atomically: false, encoding: .utf8)
            try user?.password.write(toFile: files.password, atomically: false, encoding: .utf8)
            let observer = try EtcdStore(urls: cluster.urls, prefix: "p/fleet") { configuration in
                guard user != nil else { return }
                configuration.credentials = EtcdStore.Credentials(userFile: files.user, passwordFile: files.password)
            }
            let programs = try (0..<clients)
                .map { client in
                    // Each process prefers another member.
                    let urls = (0..<3).map { proxies[(client + $0) % 3].url }.joined(separator: ",")
                    // Processes share a file for their replicas in pairs.
                    let file = "\(directory)/replica\(client % 2).json"
                    let arguments = [urls, "p/fleet", file, "history", "\(client)", "0"]
                    return try ChildProcess(program: "etcd-probe", arguments, in: directory)
                }
            defer { for program in programs { program.end() } }
            try await blocking {
                var fleet = Fleet(
                    directory: directory,
                    programs: programs,
                    observer: observer,
                    disturbance: Disturbance(cluster, proxies, seed: TestRun.seed, user: root)
                )
                try body(&fleet)
            }
            observer.close()
        }
    }

    /// Disturbs the processes until each of them has made so many further increments.
    mutating func disturb(forIncrements count: Int) throws {
        // The first commit to be acknowledged may have begun before.
        let goals = programs.map { Self.acknowledgedCommits(of: $0) + count + 1 }
        while zip(programs, goals).contains(where: { Self.acknowledgedCommits(of: $0) < $1 }) {
            guard programs.allSatisfy(\.isRunning) else {
                throw ProcessEnded(description: "\(programs.map { $0.output.text.suffix(200) })")
            }
            try disturbance.next()
        }
    }

    /// Ends the disturbances and the processes, and checks their history.
    mutating func finish(_ times: FleetHistory.Times) throws -> FleetHistory {
        try disturbance.end()
        try "".write(toFile: directory + "/stop", atomically: false, encoding: .utf8)
        for program in programs { try program.waitForOutput("idle\n") }
        try observer.write(true, forKey: "end")
        var history = FleetHistory(try programs.map { try $0.finish() })
        try observer.refresh(mayWait: true)
        let contents = observer.contents()
        let last: String = if case .string(let label)? = contents["last"] { label } else { "" }
        history.check(contents.compactMapValues(Self.number), last: last, times)
        return history
    }

    private static func acknowledgedCommits(of program: ChildProcess) -> Int {
        program.output.text.components(separatedBy: "\nok ").count - 1
    }

    private static func number(_ value: StoredValue) -> Int? {
        if case .integer(let number) = value { Int(number) } else { nil }
    }
}

/// Kills and restarts leaders, compacts the history, and disturbs connections, in an order that a seed determines.
private struct Disturbance {
    private let cluster: EtcdCluster
    private let proxies: [FaultyProxy]
    private let user: String?
    private var generator: SeededGenerator
    private var dead: Int?
    private var step = 0
    /// The number of compactions that have succeeded.
    private(set) var compactions = 0

    init(_ cluster: EtcdCluster, _ proxies: [FaultyProxy], seed: UInt64, user: String?) {
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
