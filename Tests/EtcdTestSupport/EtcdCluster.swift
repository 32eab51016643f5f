// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport
import StoredSettings
import Synchronization
import TestSupport

/// Members of etcd on the loopback interface, with their data in a temporary directory.
///
/// The methods wait, so call them on a thread of your own, for example with ``blocking(_:)``. If this process ends without
/// ``stop()``, the members are killed and the directory is removed all the same.
package final class EtcdCluster: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct Member {
        let clientPort: UInt16
        let peerPort: UInt16
        var process: ChildProcess?
    }

    /// The path of etcd; `nil` if it is not installed.
    ///
    /// The environment variable `STORED_SETTINGS_ETCD` replaces it.
    package static let program = find("etcd", variable: "STORED_SETTINGS_ETCD")

    /// The path of `etcdctl`, which belongs to another package of Debian; `nil` if it is not installed.
    private static let controlProgram = find("etcdctl", variable: nil)

    /// Whether both etcd and `etcdctl` are installed.
    package static var isInstalled: Bool { program != nil && controlProgram != nil }

    /// The directory of the data and the logs of the members.
    private let directory: URL
    private let members: Mutex<[Member]>
    private let options: [String]
    /// A process that cleans up when its input ends, which happens at the latest when this process ends.
    private let guardian: ChildProcess

    private static func find(_ name: String, variable: String?) -> String? {
        let environment = ProcessInfo.processInfo.environment
        if let variable, let path = environment[variable] {
            return FileManager.default.isExecutableFile(atPath: path) ? path : nil
        }
        let directories = (environment["PATH"] ?? "").split(separator: ":") + ["/usr/bin", "/usr/local/bin"]
        return directories.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    // MARK: - Starting and stopping

    /// Starts a cluster, and waits until it is ready.
    ///
    /// - Parameters:
    ///   - count: The number of members.
    ///   - options: Further options of each member.
    /// - Throws: ``Failure`` when a member ends, or is not ready in time.
    package init(members count: Int = 1, options: [String] = []) throws {
        // In memory, because etcd gives up when other tests keep the disk busy. Each member allocates 64 MB for its log.
        let parent = URL(fileURLWithPath: temporaryDirectory(inMemory: true, leastSpace: 8 << 30))
        directory = parent.appendingPathComponent("StoredSettings-etcd-\(UUID().uuidString.prefix(8))")
        self.options = options
        let ports = try Self.freePorts(2 * count)
        members = Mutex((0..<count).map { Member(clientPort: ports[2 * $0], peerPort: ports[2 * $0 + 1]) })
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        guardian = try Self.startGuardian(directory.path)
        do {
            for index in 0..<count { try start(index) }
            try waitUntilReady()
        } catch {
            stopAfterFailure()
            throw error
        }
    }

    /// Stops after a failure, which is more important than one of stopping.
    package func stopAfterFailure() {
        do {
            try stop()
        } catch {
            print("a cluster of etcd cannot be stopped: \(error)")
        }
    }

    /// Returns ports that are free now.
    private static func freePorts(_ count: Int) throws -> [UInt16] {
        // The sockets are open at the same time, so that the ports differ, and closed when the function returns.
        try (0..<count).map { _ in try LoopbackSocket.listening() }.map(\.port)
    }

    /// Starts a cluster, and tries again if another process has taken one of its ports meanwhile.
    package static func start(members count: Int = 1, options: [String] = []) throws -> EtcdCluster {
        for _ in 1..<mostAttempts {
            do {
                return try EtcdCluster(members: count, options: options)
            } catch is Failure {
                // The next one has other ports.
                continue
            }
        }
        return try EtcdCluster(members: count, options: options)
    }

    private static let mostAttempts = 4

    private static func startGuardian(_ directory: String) throws -> ChildProcess {
        let script =
            "cat >/dev/null; for file in \"$1\"/*.pid; do [ ! -f \"$file\" ] || kill -9 \"$(cat \"$file\")\"; done; rm -rf \"$1\""
        return try ChildProcess(["/bin/sh", "-c", script, "sh", directory], in: "/", input: .pipe)
    }

    /// Kills all members, and removes their data.
    package func stop() throws {
        for index in members.withLock({ $0.indices }) { kill(index) }
        guardian.closeInput()
        try guardian.waitUntilEnd()
    }

    /// Starts a member that was never started, or was killed.
    ///
    /// Does not wait until it is ready.
    package func start(_ index: Int) throws {
        guard let program = Self.program else { throw Failure(description: "etcd is not installed") }
        let all = members.withLock { $0.map { ($0.clientPort, $0.peerPort) } }
        let (client, peer) = ("http://127.0.0.1:\(all[index].0)", "http://127.0.0.1:\(all[index].1)")
        let arguments = [
            program, "--name", "m\(index)", "--data-dir", "m\(index)",
            "--listen-client-urls", "\(client),unix://m\(index):0", "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", all.indices.map { "m\($0)=http://127.0.0.1:\(all[$0].1)" }.joined(separator: ","),
            "--logger", "zap", "--log-outputs", directory.appendingPathComponent("m\(index).log").path,
        ]
        // A killed member leaves its Unix socket, which would keep it from starting.
        unlink(directory.appendingPathComponent("m\(index):0").path)
        // The path of a Unix socket is relative to the current directory.
        let process = try ChildProcess(arguments + options, in: directory.path)
        try "\(process.identifier)".write(to: pidFile(index), atomically: true, encoding: .utf8)
        members.withLock { $0[index].process = process }
    }

    /// Kills a member with `SIGKILL`, and waits for its end.
    package func kill(_ index: Int) {
        let process = members.withLock { members in
            defer { members[index].process = nil }
            return members[index].process
        }
        guard let process else { return }
        process.end()
        do {
            try FileManager.default.removeItem(at: pidFile(index))
        } catch {
            // The directory was removed.
        }
    }

    private func pidFile(_ index: Int) -> URL { directory.appendingPathComponent("m\(index).pid") }

    // MARK: - State

    /// The port for the clients of a member.
    package func port(_ index: Int = 0) -> UInt16 { members.withLock { $0[index].clientPort } }

    package var urls: [String] { members.withLock { $0.map { "http://127.0.0.1:\($0.clientPort)" } } }

    /// The URL of a member's Unix socket.
    package func unixURL(_ index: Int = 0) -> String { "unix:\(directory.path)/m\(index):0" }

    /// Waits until all running members answer with the agreement of a quorum.
    package func waitUntilReady() throws {
        var deadline = Deadline(after: Deadline.longest)
        for index in members.withLock({ $0.indices }) {
            while true {
                guard let process = members.withLock({ $0[index].process }) else { break }
                // A member whose port another etcd has taken ends, and that one answers.
                let isHealthy = get("/health", of: index)?.contains("\"true\"") == true
                guard process.isRunning else {
                    throw Failure(description: "member \(index) has ended\(log(of: index))")
                }
                if isHealthy { break }
                guard !deadline.hasPassed else {
                    throw Failure(description: "member \(index) is not ready: \(process)\(log(of: index))")
                }
                deadline.pauseOnThread()
            }
        }
    }

    /// The last lines of a member's log.
    private func log(of index: Int) -> String {
        let path = directory.appendingPathComponent("m\(index).log").path
        let text = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return "\n  its log: " + text.split(separator: "\n").suffix(12).joined(separator: "\n    ")
    }

    /// The member that is the leader, if the members that run have one.
    package var leader: Int? {
        for index in members.withLock({ $0.indices }) {
            guard let status = post("/v3/maintenance/status", "{}", to: index),
                let member = Self.value("member_id", in: status), let leader = Self.value("leader", in: status)
            else { continue }
            if member == leader { return index }
        }
        return nil
    }

    private static func value(_ name: String, in text: String) -> Substring? {
        guard let start = text.range(of: "\"\(name)\":\"") else { return nil }
        return text[start.upperBound...].prefix { $0 != "\"" }
    }

    // MARK: - Requests that do not use the library

    /// Sends JSON to the gateway of a member.
    ///
    /// - Returns: The response with its head; `nil` if the member does not answer.
    private func post(_ path: String, _ json: String, to index: Int) -> String? {
        exchange(
            "POST \(path) HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n"
                + "Content-Length: \(json.utf8.count)\r\n\r\n\(json)",
            index
        )
    }

    private func get(_ path: String, of index: Int) -> String? {
        exchange("GET \(path) HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n", index)
    }

    private func exchange(_ request: String, _ index: Int) -> String? {
        do {
            let socket = try LoopbackSocket.connected(to: port(index))
            guard socket.write(request.utf8) else { return nil }
            var response: [UInt8] = []
            while true {
                let bytes = socket.read()
                guard !bytes.isEmpty else { break }
                response += bytes
            }
            return response.isEmpty ? nil : String(decoding: response, as: UTF8.self)
        } catch {
            return nil
        }
    }

    /// Runs `etcdctl` with the address of a member.
    ///
    /// - Parameters:
    ///   - arguments: The command and its arguments.
    ///   - user: The user and the password, with a colon between them.
    ///   - index: The member.
    /// - Returns: Its output.
    /// - Throws: ``Failure`` when the command fails.
    @discardableResult
    package func control(_ arguments: [String], user: String? = nil, member index: Int = 0) throws -> String {
        guard let program = Self.controlProgram else {
            throw Failure(description: "etcdctl is not installed")
        }
        // `etcdctl` gives up after 5 s by default, and etcd executes the command all the same. A member of a busy machine needs longer.
        let words =
            ["/usr/bin/env", "ETCDCTL_API=3", program, "--endpoints", "http://127.0.0.1:\(port(index))"]
            + ["--dial-timeout", "30s", "--command-timeout", "30s"] + (user.map { ["--user", $0] } ?? []) + arguments
        let process = try ChildProcess(words, in: directory.path)
        guard try process.waitUntilEnd() == .exit(0) else { throw Failure(description: "\(process)") }
        return process.output.text
    }

    /// The errors of `etcdctl` after which a command may have been executed.
    private static let unknownOutcomes = ["timed out", "deadline exceeded", "leader", "unavailable", "Unavailable"]

    /// The errors of a command that creates users, when it is repeated after it was executed.
    private static let repetitions = ["already exists", "user name is empty"]

    /// Runs commands that create users, and repeats each whose outcome is unknown.
    ///
    /// etcd answers with an error after 7 s when the disks are busy, and can execute the command all the same.
    ///
    /// - Throws: ``Failure`` when a command is refused.
    package func configureUsers(_ commands: [[String]]) throws {
        for command in commands { try controlUntilKnown(command) }
    }

    /// Runs a command, and repeats it while its outcome is unknown.
    private func controlUntilKnown(_ arguments: [String], user: String? = nil, member index: Int = 0) throws {
        var attempt = 0
        while true {
            do {
                try control(arguments, user: user, member: index)
                return
            } catch let failure as Failure {
                let has = { (words: [String]) in words.contains { failure.description.contains($0) } }
                if attempt > 0, has(Self.repetitions) { return }
                attempt += 1
                guard attempt < Self.mostRepetitions, has(Self.unknownOutcomes) else { throw failure }
            }
        }
    }

    private static let mostRepetitions = 20

    // MARK: - Backups

    /// Writes a backup of a member, with everything that was committed before.
    package func saveBackup(_ name: String = "backup", user: String? = nil, member index: Int = 0) throws {
        // A snapshot has what its member has applied, which may be less. The read waits until that is everything.
        try controlUntilKnown(["get", "--consistency=l", "key"], user: user, member: index)
        try control(["snapshot", "save", name], user: user, member: index)
    }

    /// Kills all members, replaces their data by a backup, and starts them on the same addresses.
    ///
    /// - Parameters:
    ///   - name: The backup.
    ///   - token: The token of the new cluster. With another one than before, its identifier is another one, too.
    ///   - prepare: Called while all members are stopped.
    /// - Throws: ``Failure`` when the backup cannot be restored.
    package func restoreBackup(
        _ name: String = "backup",
        token: String = "etcd-cluster",
        whileStopped prepare: () -> Void = {}
    ) throws {
        let peers = members.withLock { $0.map { "http://127.0.0.1:\($0.peerPort)" } }
        for index in peers.indices { kill(index) }
        prepare()
        let all = peers.enumerated().map { "m\($0.offset)=\($0.element)" }.joined(separator: ",")
        for (index, peer) in peers.enumerated() {
            try FileManager.default.removeItem(at: directory.appendingPathComponent("m\(index)"))
            try control(
                [
                    "snapshot", "restore", name, "--name", "m\(index)", "--data-dir", "m\(index)",
                    "--initial-cluster", all, "--initial-cluster-token", token, "--initial-advertise-peer-urls", peer,
                ]
            )
        }
        for index in peers.indices { try start(index) }
        try waitUntilReady()
    }
}

/// Starts a cluster, and stops it after the body.
package func withEtcd<Result>(
    members: Int = 1,
    options: [String] = [],
    _ body: (EtcdCluster) async throws -> Result
) async throws -> Result {
    try await withPermit {
        let cluster = try await blocking { try EtcdCluster.start(members: members, options: options) }
        do {
            let result = try await body(cluster)
            try await blocking { try cluster.stop() }
            return result
        } catch {
            await blocking { cluster.stopAfterFailure() }
            throw error
        }
    }
}
