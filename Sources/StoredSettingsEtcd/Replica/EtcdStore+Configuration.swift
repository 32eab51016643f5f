// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension EtcdStore {
    /// The user, the replica on the disk, and the timeouts of a store.
    public struct Configuration: Sendable {
        /// The files with the user and the password; `nil` for an etcd without users.
        public var credentials: Credentials?
        /// The path of the file with the last replica and the pending assignments, which the stores of one machine share.
        ///
        /// The default is `nil`: without a file, a process that starts without a server has no values, and assignments that were
        /// not acknowledged are lost when the process ends. Use a file of a local disk, and another one for each suite.
        public var replicaFile: String?
        /// The maximum time until a write reaches a server.
        ///
        /// Then it fails, and nothing has changed. The default is 10 s.
        public var timeout = Duration.seconds(10)
        /// The maximum time that the first read waits for the contents of a server, with and without a replica on the disk.
        ///
        /// The default is 3 s, within which a second server is asked if the first one hangs. The wait ends at once if no server can be
        /// reached. In a task, the first read waits for 0.1 s at most, because it blocks a thread of Swift concurrency: `SettingsSuite.etcd(_:endpoints:within:)` suspends it instead.
        public var firstReadTimeout = Duration.seconds(3)
        /// How long servers may be out of reach before that is reported.
        ///
        /// The default is 5 s.
        public var outageTolerance = Duration.seconds(5)
        /// The interval at which the replica is compared with a quorum.
        ///
        /// The default is 60 s.
        public var comparisonInterval = Duration.seconds(60)

        /// The maximum time of one request.
        package var requestTimeout = Duration.seconds(10)
        /// Opens the file at ``replicaFile``.
        var openReplicaFile: @Sendable (String) -> any SettingsStore = LocalStores.file(at:)
        /// How long to try to find out the outcome of a commit whose answer was lost.
        package var settlingTime = Duration.seconds(30)
        /// How long the events of an own commit wait for its sender, which notifies the subscribers before it returns.
        var senderTimeout = Duration.seconds(1)

        /// Creates the default configuration.
        public init() {}
    }

    /// The files with the user and the password.
    ///
    /// They are regular files, and are read whenever a token is requested, so a changed password is used without a restart.
    /// They contain text in UTF-8, of which a byte order mark and one line break at the end are ignored.
    public struct Credentials: Sendable, Hashable {
        /// The path of the file with the name of the user.
        public var userFile: String
        /// The path of the file with the password.
        public var passwordFile: String

        /// Creates the paths of the files.
        ///
        /// A newline at the end of a file is ignored.
        public init(userFile: String, passwordFile: String) {
            (self.userFile, self.passwordFile) = (userFile, passwordFile)
        }
    }
}

extension EtcdStore.Credentials {
    /// The maximum size of a file, in bytes.
    private static let longestSecret = 4_096

    @Sendable func read() async throws -> EtcdCredentials {
        EtcdCredentials(user: try Self.contents(of: userFile), password: try Self.contents(of: passwordFile))
    }

    private static func contents(of path: String) throws(EtcdError) -> String {
        let system = SystemCalls()
        let bytes: [UInt8]?
        do throws(SystemError) {
            // Opening a named pipe would wait for a writer.
            let file = try system.open(FilePath(path), OpenFlags.readOnly | OpenFlags.nonBlocking)
            bytes = try system.status(of: file).isRegular ? system.contents(of: file, limit: longestSecret) : nil
        } catch {
            throw unreadable("\(error)")
        }
        guard let bytes else { throw unreadable("\(path) is not a regular file") }
        guard let text = String(valueIn: bytes) else { throw unreadable("\(path) is not text in UTF-8") }
        return text
    }

    private static func unreadable(_ reason: String) -> EtcdError {
        EtcdError(.authenticationFailed, "the user and the password cannot be read: \(reason)")
    }
}
