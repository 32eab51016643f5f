// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

extension SettingsSuite {
    /// Creates a suite that the processes of a fleet share in etcd.
    ///
    /// ```swift
    /// let suite = try SettingsSuite.etcd("acme", endpoints: ["http://10.0.0.1:2379", "http://10.0.0.2:2379"])
    /// ```
    ///
    /// Create it once in a process, because every call creates a store with a connection of its own. The last replica and the
    /// pending assignments are stored in `etcd.json` in the directory of a suite with this name, unless the configuration
    /// names a file. Without such a directory, nothing is stored on the disk, which is reported when a replica or an
    /// assignment cannot be stored.
    ///
    /// - Parameters:
    ///   - name: The name of the suite.
    ///   - endpoints: The servers, as described by ``EtcdEndpoint/init(_:)``; the preferred one first.
    ///   - prefix: The prefix of all keys in etcd; `nil` for `settings/NAME/`. It must not begin with that of another
    ///     suite.
    ///   - configuration: The user, the file of the replica, and the timeouts.
    ///   - sources: The sources of values, in order of precedence: see `SettingsSource`.
    ///   - reporter: Receives failures that cannot be thrown.
    /// - Returns: The suite, which connects when it is first used.
    /// - Throws: ``EtcdTransportError`` if the address of a server is invalid; `SettingsError` if a suite of this process on
    ///   the same servers has some of the keys.
    public static func etcd(
        _ name: String,
        endpoints: [String],
        prefix: String? = nil,
        configuration: EtcdStore.Configuration = EtcdStore.Configuration(),
        sources: [SettingsSource] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) throws -> SettingsSuite {
        let store = try etcdStore(name, endpoints, prefix, configuration)
        return SettingsSuite(store: store, name: name, sources: sources, reporter: reporter)
    }

    /// Creates a suite that the processes of a fleet share in etcd, and waits for its contents.
    ///
    /// ```swift
    /// let (suite, isCurrent) = try await SettingsSuite.etcd("acme", endpoints: ["http://10.0.0.1:2379"], within: .seconds(3))
    /// ```
    ///
    /// It returns as soon as a server has given the contents, or no server can be reached. Without them, the last replica on the
    /// disk is used until there are some, or the defaults if there is none. Cancellation ends the wait, too.
    ///
    /// - Parameters:
    ///   - name: The name of the suite.
    ///   - endpoints: The servers, as described by ``EtcdEndpoint/init(_:)``; the preferred one first.
    ///   - prefix: The prefix of all keys in etcd; `nil` for `settings/NAME/`. It must not begin with that of another
    ///     suite.
    ///   - configuration: The user, the file of the replica, and the timeouts.
    ///   - sources: The sources of values, in order of precedence: see `SettingsSource`.
    ///   - reporter: Receives failures that cannot be thrown.
    ///   - timeout: The maximum time to wait for the contents.
    /// - Returns: The suite, and whether its contents are those that a server has given, with the agreement of a quorum, during the call.
    /// - Throws: The same as ``etcd(_:endpoints:prefix:configuration:sources:reporter:)``.
    public static func etcd(
        _ name: String,
        endpoints: [String],
        prefix: String? = nil,
        configuration: EtcdStore.Configuration = EtcdStore.Configuration(),
        sources: [SettingsSource] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared,
        within timeout: Duration
    ) async throws -> (suite: SettingsSuite, isCurrent: Bool) {
        let store = try etcdStore(name, endpoints, prefix, configuration)
        let suite = SettingsSuite(store: store, name: name, sources: sources, reporter: reporter)
        return (suite, await store.waitForServer(within: timeout))
    }

    private static func etcdStore(
        _ name: String,
        _ endpoints: [String],
        _ prefix: String?,
        _ configuration: EtcdStore.Configuration
    ) throws -> EtcdStore {
        var configuration = configuration
        if configuration.replicaFile == nil {
            configuration.replicaFile = "etcd.json"
            configuration.openReplicaFile = { LocalStores.file(named: $0, besideSuite: name) }
        }
        let transport = try SocketTransport(endpoints)
        let store = EtcdStore(transport, prefix: prefix ?? "settings/\(name)/", configuration: configuration)
        try store.replica.checkOwner()
        return store
    }
}
