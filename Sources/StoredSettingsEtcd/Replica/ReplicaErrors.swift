// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

extension SettingsError.Code {
    /// No server of etcd can be reached, or those that can be reached have no quorum.
    public static let serverUnavailable = Self("serverUnavailable")
    /// etcd refuses the user, or a request of the user.
    public static let serverRefused = Self("serverRefused")
    /// The connection was lost after a change was sent, and it is unknown whether the change is stored.
    public static let outcomeUnknown = Self("outcomeUnknown")
    /// The servers do not seem to be those of the suite: they have another identifier, or none of its keys.
    public static let otherCluster = Self("otherCluster")
    /// A transaction has more changes, or more bytes, than etcd accepts.
    public static let transactionTooLarge = Self("transactionTooLarge")
    /// The prefix of a suite begins with that of another one, so that they have keys in common.
    public static let overlappingPrefix = Self("overlappingPrefix")
}

extension SettingsError {
    /// What an operation that has failed leaves behind.
    enum EtcdConsequence: String {
        case nothingChanged = "nothing is changed"
        case replicaUsed = "the last known values are used, and assigned values are sent later"
        case defaultsUsed = "no values are known, so defaults are used, and assigned values are sent later"
        case assignmentsWait = "the assigned values are used in this process, and are sent later"
        case notCurrent = "newer values may exist"
        case unknown = "the change may or may not be stored"
    }

    /// Creates the error for a failed request.
    init(_ error: EtcdError, _ consequence: EtcdConsequence) {
        let code: Code
        let remedy: String
        switch error.code {
        case .compacted:
            code = .serverUnavailable
            remedy = "compact etcd less often, because a revision is compacted while the suite is read"
        case .unavailable, .timedOut, .canceled, .watchEnded, .futureRevision:
            code = .serverUnavailable
            remedy = "start the servers, or check their addresses and the network"
        case .permissionDenied:
            code = .serverRefused
            remedy = "grant the user the permission to read and write the keys with the prefix of the suite"
        case .authenticationFailed:
            code = .serverRefused
            remedy = "correct the files with the user and the password"
        case .tooManyOperations, .requestTooLarge:
            code = .transactionTooLarge
            remedy = "change at most \(ReplicaCommitter.mostChanges) settings and 1.5 MiB in one transaction"
        case .responseTooLarge:
            code = .readFailed
            remedy = "store large values elsewhere"
        case .noSpace:
            code = .writeFailed
            remedy = "compact and defragment etcd, or raise its quota, and disarm the alarm with 'etcdctl alarm disarm'"
        case .malformedResponse, .rejected:
            code = .serverRefused
            remedy = "check that the addresses are those of the clients' ports of etcd 3.4 or later"
        case .otherCluster:
            code = .otherCluster
            remedy =
                "correct the addresses or restore a backup; if the servers are the right ones, run "
                + "'stored-settings --etcd ADDRESSES --prefix PREFIX SUITE accept-cluster'"
        case .closed:
            code = .suiteFinished
            remedy = "close the store when it is no longer used"
        }
        self.init(
            code,
            fact: error.reason,
            consequence: consequence.rawValue,
            remedy: remedy,
            underlying: error
        )
    }

    /// The error of a commit whose outcome cannot be found out.
    static func outcomeUnknown(_ error: EtcdError) -> SettingsError {
        SettingsError(
            .outcomeUnknown,
            fact: "the connection to etcd was lost after a change was sent"
                + ", and its outcome cannot be found out: \(error.reason)",
            consequence: EtcdConsequence.unknown.rawValue,
            remedy: "read the value when a server can be reached, and repeat the change if it is missing",
            underlying: error
        )
    }

    /// The error of the file with the replica and the pending assignments.
    static func localFailure(_ error: any Error, _ consequence: String) -> SettingsError {
        let cause = SettingsError.wrapping(error, as: .writeFailed)
        return SettingsError(
            cause.code,
            fact: cause.fact,
            consequence: consequence,
            remedy: cause.remedy,
            location: cause.location,
            underlying: cause
        )
    }

    static var storeClosed: SettingsError {
        SettingsError(
            .suiteFinished,
            fact: "the store is closed",
            consequence: EtcdConsequence.nothingChanged.rawValue,
            remedy: "close the store when it is no longer used"
        )
    }

    static var storeInherited: SettingsError {
        SettingsError(
            .suiteFinished,
            fact: "the store belongs to the process that this one was forked from",
            consequence: EtcdConsequence.nothingChanged.rawValue,
            remedy: "create a store, with a transport of its own, after the fork"
        )
    }

    static var noThread: SettingsError {
        SettingsError(
            .threadUnavailable,
            fact: "the system starts no thread for the connection to etcd",
            consequence: "nothing is read from etcd or sent to it",
            remedy: "raise the limit of processes and threads (ulimit -u, or pids.max of the container), or of memory"
        )
    }

    /// The error of a store one of whose keys another store would use.
    static func overlappingPrefix(_ prefix: [UInt8], _ other: [UInt8]) -> SettingsError {
        let (inner, outer) = prefix.count > other.count ? (prefix, other) : (other, prefix)
        func text(_ prefix: [UInt8]) -> String { "'\(String(decoding: prefix, as: UTF8.self))'" }
        return SettingsError(
            .overlappingPrefix,
            fact: "the keys of the suite with the prefix \(text(inner)) are among those of the suite with the prefix "
                + text(outer),
            consequence: "the suite with the prefix \(text(prefix)) is not read, and nothing is changed",
            remedy: "give the suites names or prefixes of which none continues the other after a slash"
        )
    }

    static var alwaysOvertaken: SettingsError {
        SettingsError(
            .lockTimedOut,
            fact: "another process has changed the suite before each of many attempts",
            consequence: EtcdConsequence.nothingChanged.rawValue,
            remedy: "change the suite less often"
        )
    }
}
