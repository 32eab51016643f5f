// SPDX-License-Identifier: Apache-2.0

import StoredSettings

// The requests of etcd's gateway as JSON, and its responses as values.

extension EtcdKeyRange {
    var members: [String: StoredValue] {
        var members: [String: StoredValue] = ["key": .string(Base64.encode(start))]
        if let end { members["range_end"] = .string(Base64.encode(end)) }
        return members
    }
}

extension EtcdRangeRequest {
    var message: StoredValue {
        var members = range.members
        if revision != 0 { members["revision"] = .string("\(revision)") }
        if limit != 0 { members["limit"] = .string("\(limit)") }
        if isKeysOnly { members["keys_only"] = .bool(true) }
        if isSerializable { members["serializable"] = .bool(true) }
        return .dictionary(members)
    }
}

extension EtcdCompare {
    var message: StoredValue {
        var members = range.members
        members["result"] = .string(relation.rawValue)
        switch target {
        case .modRevision(let revision):
            members["target"] = .string("MOD")
            members["mod_revision"] = .string("\(revision)")
        case .version(let version):
            members["target"] = .string("VERSION")
            members["version"] = .string("\(version)")
        case .value(let value):
            members["target"] = .string("VALUE")
            members["value"] = .string(Base64.encode(value))
        }
        return .dictionary(members)
    }
}

extension EtcdOperation {
    var message: StoredValue {
        switch self {
        case .put(let key, let value):
            let put: [String: StoredValue] = [
                "key": .string(Base64.encode(key)), "value": .string(Base64.encode(value)),
            ]
            return .dictionary(["request_put": .dictionary(put)])
        case .delete(let range): return .dictionary(["request_delete_range": .dictionary(range.members)])
        case .range(let request): return .dictionary(["request_range": request.message])
        }
    }
}

extension EtcdTransaction {
    var message: StoredValue {
        .dictionary([
            "compare": .array(conditions.map(\.message)),
            "success": .array(success.map(\.message)),
            "failure": .array(failure.map(\.message)),
        ])
    }

    /// An upper bound of the size as Protocol Buffers, which etcd limits: the bytes, and what can surround them.
    var greatestSize: Int {
        let conditions = conditions.reduce(0) { sum, condition in
            let size = sum + condition.range.start.count + (condition.range.end?.count ?? 0) + 32
            guard case .value(let value) = condition.target else { return size }
            return size + value.count
        }
        return (success + failure)
            .reduce(conditions + 64) { sum, operation in
                switch operation {
                case .put(let key, let value): sum + key.count + value.count + 24
                case .delete(let range): sum + range.start.count + (range.end?.count ?? 0) + 24
                case .range(let request): sum + request.range.start.count + (request.range.end?.count ?? 0) + 48
                }
            }
    }
}

// MARK: - Responses

extension EtcdHeader {
    /// Creates a header from the member `header` of a response.
    init(in response: GatewayObject) throws(GatewayObject.Malformed) {
        guard let object = try response.object("header") else { throw .init("a response has no 'header'") }
        clusterID = try object.integer("cluster_id", as: UInt64.self)
        memberID = try object.integer("member_id", as: UInt64.self)
        revision = try object.integer("revision")
        raftTerm = try object.integer("raft_term", as: UInt64.self)
        // The library asks for what follows a revision.
        guard 0..<Int64.max ~= revision else { throw .init("'revision' is negative, or none can follow it") }
    }
}

extension EtcdKeyValue {
    init(_ object: GatewayObject) throws(GatewayObject.Malformed) {
        key = try object.bytes("key")
        value = try object.bytes("value")
        createRevision = try object.integer("create_revision")
        modRevision = try object.integer("mod_revision")
        version = try object.integer("version")
        guard !key.isEmpty, 1..<Int64.max ~= modRevision else {
            throw .init("a key has no name, or no 'mod_revision' that another one can follow")
        }
    }
}

extension EtcdRangeResult {
    init(_ object: GatewayObject) throws(GatewayObject.Malformed) {
        // A connection that repeats bytes can deliver the answer to an earlier request.
        guard !object.contains("succeeded"), !object.contains("responses") else {
            throw .init("the answer to a range is that to a transaction")
        }
        header = try EtcdHeader(in: object)
        keyValues = []
        for entry in try object.objects("kvs") { keyValues.append(try EtcdKeyValue(entry)) }
        hasMore = try object.bool("more")
        count = try object.integer("count")
    }
}

extension EtcdTransactionResult {
    init(_ object: GatewayObject, for transaction: EtcdTransaction) throws(GatewayObject.Malformed) {
        header = try EtcdHeader(in: object)
        succeeded = try object.bool("succeeded")
        operations = []
        let requested = succeeded ? transaction.success : transaction.failure
        let responses = try object.objects("responses")
        guard responses.count == requested.count else {
            throw .init("a transaction has another number of responses than of operations")
        }
        for (operation, response) in zip(requested, responses) {
            switch operation {
            case .put:
                guard response.contains("response_put") else { throw Self.wrongKind }
                operations.append(.put)
            case .delete:
                guard let result = try response.object("response_delete_range") else { throw Self.wrongKind }
                operations.append(.delete(count: try result.integer("deleted")))
            case .range:
                guard let result = try response.object("response_range") else { throw Self.wrongKind }
                operations.append(.range(try EtcdRangeResult(result)))
            }
        }
    }

    private static var wrongKind: GatewayObject.Malformed { .init("a response of a transaction has another kind") }
}

extension EtcdEvent {
    init(_ object: GatewayObject) throws(GatewayObject.Malformed) {
        switch try object.string("type") {
        case "", "PUT": isDeletion = false
        case "DELETE": isDeletion = true
        default: throw .init("an event has an unknown type")
        }
        guard let keyValue = try object.object("kv") else { throw .init("an event has no 'kv'") }
        self.keyValue = try EtcdKeyValue(keyValue)
    }
}

extension EtcdStatus {
    init(_ object: GatewayObject) throws(GatewayObject.Malformed) {
        header = try EtcdHeader(in: object)
        version = try object.string("version")
        leader = try object.integer("leader", as: UInt64.self)
        databaseSize = try object.integer("dbSize")
    }
}
