// SPDX-License-Identifier: Apache-2.0

/// The keys from `start` up to, but not including, `end`; the key `start` alone if there is no `end`.
package struct EtcdKeyRange: Hashable, Sendable {
    package var start: [UInt8]
    package var end: [UInt8]?

    /// A single key.
    package init(key: [UInt8]) {
        start = key
    }

    /// A range of keys.
    package init(from start: [UInt8], to end: [UInt8]) {
        self.start = start
        self.end = end
    }

    /// All keys with a prefix.
    ///
    /// An empty prefix means all keys.
    package init(prefix: [UInt8]) {
        guard !prefix.isEmpty else {
            self.init(from: [0], to: [0])
            return
        }
        // The first key after those with the prefix. A single NUL means that there is none.
        var end = prefix
        while let last = end.popLast() {
            guard last == 0xFF else {
                end.append(last + 1)
                break
            }
        }
        self.init(from: prefix, to: end.isEmpty ? [0] : end)
    }
}

/// What etcd reports with every response.
package struct EtcdHeader: Hashable, Sendable {
    package var clusterID: UInt64
    package var memberID: UInt64
    /// The revision of the store when the request was executed; 0 if etcd has omitted it.
    package var revision: Int64
    package var raftTerm: UInt64
}

/// A key with its value.
package struct EtcdKeyValue: Hashable, Sendable {
    package var key: [UInt8]
    /// The value; empty if only keys were requested, and in the event of a deletion.
    package var value: [UInt8]
    package var createRevision: Int64
    /// The revision of the last change.
    ///
    /// In the event of a deletion, that of the deletion.
    package var modRevision: Int64
    /// The number of changes since the key was created; 0 in the event of a deletion.
    package var version: Int64
}

/// A request for keys.
package struct EtcdRangeRequest: Hashable, Sendable {
    package var range: EtcdKeyRange
    /// The revision to read at; 0 for the current one.
    package var revision: Int64 = 0
    /// The maximum number of keys; 0 for all.
    package var limit: Int64 = 0
    package var isKeysOnly = false
    /// Whether any member may answer from its own state, which may be old.
    package var isSerializable = false

    package init(
        _ range: EtcdKeyRange,
        revision: Int64 = 0,
        limit: Int64 = 0,
        isKeysOnly: Bool = false,
        isSerializable: Bool = false
    ) {
        self.range = range
        self.revision = revision
        self.limit = limit
        self.isKeysOnly = isKeysOnly
        self.isSerializable = isSerializable
    }
}

/// The keys of a range, in the order of their bytes.
package struct EtcdRangeResult: Hashable, Sendable {
    package var header: EtcdHeader
    package var keyValues: [EtcdKeyValue]
    /// Whether the range has more keys than the limit.
    package var hasMore: Bool
    /// The number of keys in the range, regardless of the limit.
    package var count: Int64
}

/// A condition of a transaction.
package struct EtcdCompare: Hashable, Sendable {
    package enum Relation: String, Hashable, Sendable {
        case equal = "EQUAL"
        case notEqual = "NOT_EQUAL"
        case greater = "GREATER"
        case less = "LESS"
    }

    package enum Target: Hashable, Sendable {
        /// The revision of the last change; 0 if the key does not exist.
        case modRevision(Int64)
        /// The number of changes since the key was created; 0 if it does not exist.
        case version(Int64)
        /// The value. The condition is false if the key does not exist.
        case value([UInt8])
    }

    /// The keys, each of which must fulfill the condition.
    ///
    /// A range without a key is treated like a key that does not exist.
    package var range: EtcdKeyRange
    package var relation: Relation
    package var target: Target

    package init(_ key: [UInt8], _ relation: Relation = .equal, _ target: Target) {
        self.init(EtcdKeyRange(key: key), relation, target)
    }

    package init(_ range: EtcdKeyRange, _ relation: Relation, _ target: Target) {
        self.range = range
        self.relation = relation
        self.target = target
    }
}

/// A part of a transaction.
package enum EtcdOperation: Hashable, Sendable {
    case put([UInt8], [UInt8])
    case delete(EtcdKeyRange)
    case range(EtcdRangeRequest)
}

/// A transaction.
///
/// etcd refuses one that changes a key twice.
package struct EtcdTransaction: Hashable, Sendable {
    package var conditions: [EtcdCompare]
    /// The operations if all conditions are true.
    package var success: [EtcdOperation]
    /// The operations otherwise.
    package var failure: [EtcdOperation]

    package init(if conditions: [EtcdCompare], then success: [EtcdOperation], else failure: [EtcdOperation] = []) {
        self.conditions = conditions
        self.success = success
        self.failure = failure
    }
}

/// The result of a transaction.
package struct EtcdTransactionResult: Hashable, Sendable {
    package enum Operation: Hashable, Sendable {
        case put
        case delete(count: Int64)
        case range(EtcdRangeResult)
    }

    /// The header.
    ///
    /// Its revision is that of the transaction if it has changed something.
    package var header: EtcdHeader
    package var succeeded: Bool
    /// The results of the operations of the branch that was executed, in order.
    package var operations: [Operation]
}

/// A part of the response to a watch.
package enum EtcdWatchMessage: Hashable, Sendable {
    /// The watch has begun. Always the first message.
    case created(EtcdHeader)
    /// Changes. A revision is never divided between two messages.
    ///
    /// etcd 3.4 can repeat changes: ignore those whose ``EtcdKeyValue/modRevision`` is known.
    case events([EtcdEvent], EtcdHeader)
    /// All changes up to the revision of the header have been sent.
    case progress(EtcdHeader)
}

/// A change of a key.
package struct EtcdEvent: Hashable, Sendable {
    package var isDeletion: Bool
    package var keyValue: EtcdKeyValue
}

/// The state of a member.
package struct EtcdStatus: Hashable, Sendable {
    package var header: EtcdHeader
    /// The version of the server, such as 3.4.23.
    package var version: String
    /// The member that is the leader; 0 if there is none.
    package var leader: UInt64
    /// The size of the database, in bytes.
    package var databaseSize: Int64
}

/// The limits of etcd with its default options.
package struct EtcdLimits: Hashable, Sendable {
    /// The maximum number of conditions, and of operations in each branch.
    package var operations = 128
    /// The maximum size of a request, in bytes.
    package var requestSize = 1_572_864
    /// The maximum size of a response, in bytes.
    package var responseSize = 64 << 20
    /// The maximum size of one message of a watch, in bytes.
    package var messageSize = 64 << 20
    /// The maximum size of the keys and values of a range that is read in pages, in bytes.
    package var contentsSize = 1 << 30

    package init() {}
}
