// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsCommand
import StoredSettingsEtcd
import Synchronization

/// A suite that the processes of a fleet share in etcd.
struct FleetPlace: ToolPlace {
    /// The options with which a person names the servers.
    struct Options {
        /// The addresses of the servers, with commas between them; empty for a suite in files.
        var servers = ""
        /// The prefix of all keys; empty for that of the suite's name.
        var prefix = ""
        /// The paths of the files with the user and the password; empty for an etcd without users.
        var userFile = ""
        var passwordFile = ""

        /// The property of an option; `nil` when there is no such option.
        private static func property(named name: String) -> WritableKeyPath<Options, String>? {
            switch name {
            case "--etcd": \.servers
            case "--prefix": \.prefix
            case "--user-file": \.userFile
            case "--password-file": \.passwordFile
            default: nil
            }
        }

        /// Removes the options at the beginning of some arguments.
        ///
        /// - Throws: ``CommandFailure`` if an option has no value, or is useless without another one.
        init(removedFrom arguments: inout ArraySlice<String>) throws {
            var given: [String] = []
            while let word = arguments.first {
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                guard let path = Self.property(named: parts[0]) else { break }
                arguments.removeFirst()
                let value = parts.count == 2 ? parts[1] : arguments.popFirst()
                guard let value, !value.isEmpty else {
                    throw CommandFailure.usage("\(parts[0]) has no value", fix: "Add the value after it")
                }
                self[keyPath: path] = value
                given.append(parts[0])
            }
            if servers.isEmpty, let option = given.first {
                throw CommandFailure.usage("\(option) is about etcd", fix: "Add --etcd with the addresses")
            }
            guard userFile.isEmpty == passwordFile.isEmpty else {
                throw CommandFailure.usage(
                    "the user or the password is missing",
                    fix: "Give --user-file and --password-file"
                )
            }
        }
    }

    let word: String
    let suite: SettingsSuite
    private let store: EtcdStore
    private let prefix: String
    private let reporter = ConnectedReporter()

    /// How long a command waits for a server before it fails.
    private static let timeout = Duration.seconds(5)
    /// How long a command waits for a connection to one server.
    private static let connectTimeout = Duration.seconds(1)

    /// Finds the place of a suite, without connecting.
    ///
    /// - Throws: ``CommandFailure`` if there can be no such suite.
    init(_ word: String, _ options: Options) throws {
        self.word = word
        prefix = options.prefix.isEmpty ? "settings/\(word)/" : options.prefix
        // A command uses no replica on the disk: what it prints is what the servers have.
        var configuration = EtcdStore.Configuration()
        (configuration.timeout, configuration.requestTimeout) = (Self.timeout, Self.timeout)
        if !options.userFile.isEmpty {
            configuration.credentials = EtcdStore.Credentials(
                userFile: options.userFile,
                passwordFile: options.passwordFile
            )
        }
        do {
            var limits = SocketTransport.Configuration()
            limits.connectTimeout = Self.connectTimeout
            let servers = options.servers.split(separator: ",").map(String.init)
            let transport = try SocketTransport(servers, configuration: limits)
            store = EtcdStore(transport, prefix: prefix, configuration: configuration)
            suite = SettingsSuite(store: store, name: word, reporter: reporter)
        } catch {
            throw CommandFailure.usage("\(error)", fix: "Correct the addresses after --etcd")
        }
    }

    func refresh() throws {
        try suite.refresh()
        reporter.begin()
    }

    /// Marks the cluster of the servers as that of the suite, and returns a line that says so.
    func acceptCluster() throws -> String {
        "The cluster \(try store.acceptCluster()) is the right one for the keys with the prefix \(prefix)."
    }

    func checkIsThere() throws {
        try refresh()
        guard suite.keys.isEmpty else { return }
        throw CommandFailure(
            CommandExit.noInput,
            "there is no value with the prefix \(prefix) in etcd. Nothing is created. Check the name of the suite and the "
                + "prefix, or set a value, which creates the suite."
        )
    }
}

/// Reports failures on standard error once a command has reached a server.
///
/// Until then, the command itself fails with the reason.
private final class ConnectedReporter: SettingsReporter {
    private let hasBegun = Atomic(false)

    func begin() {
        hasBegun.store(true, ordering: .releasing)
    }

    func report(_ error: SettingsError) {
        guard hasBegun.load(ordering: .acquiring) else { return }
        StandardErrorReporter.shared.report(error)
    }

    func reportRecovery(from error: SettingsError) {
        guard hasBegun.load(ordering: .acquiring) else { return }
        StandardErrorReporter.shared.reportRecovery(from: error)
    }
}
