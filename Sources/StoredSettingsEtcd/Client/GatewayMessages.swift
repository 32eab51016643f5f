// SPDX-License-Identifier: Apache-2.0

import StoredSettings

// The requests of etcd's gateway as JSON, and its responses as values.

extension EtcdKeyRange {
    func write(to text: inout GatewayWriter) {
        text.write("key", base64: start)
        if let end { text.write("range_end", base64: end) }
    }
}

extension EtcdRangeRequest {
    var body: [UInt8] { GatewayWriter.object(write) }

    func write(to text: inout GatewayWriter) {
        range.write(to: &text)
        if isKeysOnly { text.writeTrue("keys_only") }
        if limit != 0 { text.write("limit", limit) }
        if revision != 0 { text.write("revision", revision) }
        if isSerializable { text.writeTrue("serializable") }
    }
}

extension EtcdCompare {
    func write(to text: inout GatewayWriter) {
        range.write(to: &text)
        text.write("result", relation.rawValue)
        switch target {
        case .modRevision(let revision):
            text.write("target", "MOD")
            text.write("mod_revision", revision)
        case .version(let version):
            text.write("target", "VERSION")
            text.write("version", version)
        case .value(let value):
            text.write("target", "VALUE")
            text.write("value", base64: value)
        }
    }
}

extension EtcdOperation {
    func write(to text: inout GatewayWriter) {
        switch self {
        case .put(let key, let value):
            text.writeObject("request_put") { text in
                text.write("key", base64: key)
                text.write("value", base64: value)
            }
        case .delete(let range): text.writeObject("request_delete_range", range.write)
        case .range(let request): text.writeObject("request_range", request.write)
        }
    }
}

extension EtcdTransaction {
    var body: [UInt8] {
        GatewayWriter.object { text in
            text.writeObjects("compare", conditions) { $0.write(to: &$1) }
            text.writeObjects("failure", failure) { $0.write(to: &$1) }
            text.writeObjects("success", success) { $0.write(to: &$1) }
        }
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
