// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsEtcd
import Synchronization

/// An etcd in memory whose data a test replaces by those of a backup, step by step.
///
/// A watch that was created before a backup is restored stays open, like one behind a proxy. It sends only events of its own
/// history. Names and values are ASCII.
final class MemoryEtcd: EtcdTransport {
    /// Answers a request, throws as a transport does, or returns `nil` so that the request is executed.
    ///
    /// The answer to the request for a watch is that of a watch without messages.
    typealias Intercept = @Sendable (EtcdRequest, MemoryEtcd) async throws -> EtcdResponse?

    fileprivate struct Event {
        var revision: Int64
        var name: String
        var json: String
    }

    /// The data of a cluster.
    struct Contents {
        var cluster: UInt64 = 1
        fileprivate(set) var revision: Int64 = 1
        fileprivate var values: [String: (value: String, revision: Int64)] = [:]
        fileprivate var events: [Event] = []
    }

    private struct NameRange {
        let start: String
        /// The name after the range; `nil` for a range of one name.
        let end: String?

        init(_ object: [String: Any]) {
            (start, end) = (MemoryEtcd.text(object["key"]) ?? "", MemoryEtcd.text(object["range_end"]))
        }

        func contains(_ name: String) -> Bool { end.map { start <= name && name < $0 } ?? (name == start) }
    }

    private struct Watch {
        let range: NameRange
        let lines: AsyncStream<String>.Continuation
        var held: [String] = []
        var isFormer = false
    }

    private struct State {
        var contents = Contents()
        var watches: [Watch] = []
        var holdsEvents = false
        var intercept: Intercept?
    }

    private let state = Mutex(State())

    static let lostConnection = EtcdTransportError(
        .connectionLost,
        mayHaveArrived: true,
        reason: "the connection is lost"
    )

    // MARK: - Control

    /// The data, as a backup has them.
    var contents: Contents { state.withLock { $0.contents } }

    var revision: Int64 { contents.revision }

    /// The number of watches that were ever created.
    var watches: Int { state.withLock { $0.watches.count } }

    func value(of name: String) -> String? { contents.values[name]?.value }

    func intercept(_ intercept: Intercept?) {
        state.withLock { $0.intercept = intercept }
    }

    /// Writes a key, as another program does.
    func put(_ name: String, _ value: String) {
        state.withLock { state in
            state.contents.revision += 1
            Self.put(name, value, &state)
            Self.notify(&state)
        }
    }

    /// Replaces the data.
    ///
    /// - Parameters:
    ///   - backup: The new data.
    ///   - revision: The revision that writes outside the suite have reached since.
    func restore(_ backup: Contents, grownTo revision: Int64? = nil) {
        state.withLock { state in
            for index in state.watches.indices { state.watches[index].isFormer = true }
            state.contents = backup
            if let revision { state.contents.revision = max(backup.revision, revision) }
        }
    }

    /// Holds back the events of all watches, or sends those that were held back.
    func holdEvents(_ holds: Bool) {
        state.withLock { state in
            state.holdsEvents = holds
            guard !holds else { return }
            for index in state.watches.indices {
                for line in state.watches[index].held { state.watches[index].lines.yield(line) }
                state.watches[index].held = []
            }
        }
    }

    /// Ends all watches, as a connection that is lost does.
    func endWatches() {
        for watch in state.withLock({ $0.watches }) { watch.lines.finish() }
    }

    // MARK: - The transport

    func send(_ request: EtcdRequest) async throws -> EtcdResponse {
        if let intercept = state.withLock({ $0.intercept }), let response = try await intercept(request, self) {
            return response
        }
        return try execute(request)
    }

    func stream(
        _ request: EtcdRequest,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws -> EtcdResponse {
        if let intercept = state.withLock({ $0.intercept }), let response = try await intercept(request, self) {
            return response
        }
        let (lines, continuation) = AsyncStream<String>.makeStream()
        try state.withLock { state in
            let create = try Self.object(request)["create_request"] as? [String: Any] ?? [:]
            let range = NameRange(create)
            let start = (create["start_revision"] as? String).flatMap { Int64($0) } ?? 0
            continuation.yield("{\"result\":{\(Self.header(state.contents)),\"created\":true}}\n")
            let known = state.contents.events.filter { $0.revision >= start && range.contains($0.name) }
            // All events of a revision are in one message.
            for events in Dictionary(grouping: known, by: \.revision).sorted(by: { $0.key < $1.key }) {
                continuation.yield(Self.line(events.value.map(\.json), state.contents))
            }
            state.watches.append(Watch(range: range, lines: continuation))
        }
        for await line in lines { try await receive(Array(line.utf8)) }
        throw EtcdTransportError(.canceled, mayHaveArrived: true, reason: "the task was canceled")
    }

    /// Executes a request.
    @discardableResult
    func execute(_ request: EtcdRequest) throws -> EtcdResponse {
        let body = try state.withLock { state in
            let object = try Self.object(request)
            return request.path == "/v3/kv/range"
                ? Self.range(object, state.contents) : Self.execute(object, &state)
        }
        return EtcdResponse(status: 200, body: Array(body.utf8))
    }

    // MARK: - Requests

    private static func object(_ request: EtcdRequest) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any] ?? [:]
    }

    private static func text(_ value: Any?) -> String? {
        (value as? String).flatMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func encoded(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private static func header(_ contents: Contents) -> String {
        "\"header\":{\"cluster_id\":\"\(contents.cluster)\",\"member_id\":\"1\",\"revision\":\"\(contents.revision)\","
            + "\"raft_term\":\"1\"}"
    }

    private static func keyValue(_ name: String, _ value: String, _ revision: Int64) -> String {
        "{\"key\":\"\(encoded(name))\",\"create_revision\":\"1\",\"mod_revision\":\"\(revision)\",\"version\":\"1\","
            + "\"value\":\"\(encoded(value))\"}"
    }

    private static func range(_ request: [String: Any], _ contents: Contents) -> String {
        let range = NameRange(request)
        let found = contents.values.filter { range.contains($0.key) }.sorted { $0.key < $1.key }
        let keyValues = found.map { keyValue($0.key, $0.value.value, $0.value.revision) }.joined(separator: ",")
        return "{\(header(contents)),\"kvs\":[\(keyValues)],\"count\":\"\(found.count)\"}"
    }

    private static func put(_ name: String, _ value: String, _ state: inout State) {
        let revision = state.contents.revision
        state.contents.values[name] = (value, revision)
        let json = "{\"kv\":\(keyValue(name, value, revision))}"
        state.contents.events.append(Event(revision: revision, name: name, json: json))
    }

    private static func delete(_ range: [String: Any], _ state: inout State) {
        let revision = state.contents.revision
        let range = NameRange(range)
        for name in state.contents.values.keys where range.contains(name) {
            state.contents.values[name] = nil
            let json = "{\"type\":\"DELETE\",\"kv\":\(keyValue(name, "", revision))}"
            state.contents.events.append(Event(revision: revision, name: name, json: json))
        }
    }

    private static func line(_ events: [String], _ contents: Contents) -> String {
        "{\"result\":{\(header(contents)),\"events\":[\(events.joined(separator: ","))]}}\n"
    }

    /// Sends the events of the last revision.
    private static func notify(_ state: inout State) {
        let new = state.contents.events.filter { $0.revision == state.contents.revision }
        for index in state.watches.indices where !state.watches[index].isFormer {
            let events = new.filter { state.watches[index].range.contains($0.name) }.map(\.json)
            guard !events.isEmpty else { continue }
            let line = line(events, state.contents)
            if state.holdsEvents {
                state.watches[index].held.append(line)
            } else {
                state.watches[index].lines.yield(line)
            }
        }
    }

    private static func holds(_ condition: [String: Any], _ contents: Contents) -> Bool {
        let range = NameRange(condition)
        let found = contents.values.filter { range.contains($0.key) }.map(\.value)
        let revision = (condition["mod_revision"] as? String).flatMap { Int64($0) } ?? 0
        switch condition["target"] as? String {
        // The library compares whole ranges only in this way.
        case "MOD": return found.allSatisfy { $0.revision < revision }
        case "VALUE": return found.first?.value == text(condition["value"])
        default: return found.isEmpty
        }
    }

    private static func execute(_ request: [String: Any], _ state: inout State) -> String {
        let conditions = request["compare"] as? [[String: Any]] ?? []
        let succeeded = conditions.allSatisfy { holds($0, state.contents) }
        let operations = request[succeeded ? "success" : "failure"] as? [[String: Any]] ?? []
        let writes = operations.contains { $0["request_range"] == nil }
        if writes { state.contents.revision += 1 }
        var responses: [String] = []
        for operation in operations {
            if let put = operation["request_put"] as? [String: Any] {
                Self.put(text(put["key"]) ?? "", text(put["value"]) ?? "", &state)
                responses.append("{\"response_put\":{}}")
            } else if let range = operation["request_delete_range"] as? [String: Any] {
                delete(range, &state)
                responses.append("{\"response_delete_range\":{\(header(state.contents))}}")
            } else {
                let range = operation["request_range"] as? [String: Any] ?? [:]
                responses.append("{\"response_range\":\(Self.range(range, state.contents))}")
            }
        }
        if writes { notify(&state) }
        let list = responses.joined(separator: ",")
        return "{\(header(state.contents)),\"succeeded\":\(succeeded),\"responses\":[\(list)]}"
    }
}

extension EtcdRequest {
    /// Whether the request is a transaction that writes a key if its conditions hold.
    func writes(_ name: String) -> Bool {
        let key = Data(name.utf8).base64EncodedString()
        return path == "/v3/kv/txn"
            && String(decoding: body, as: UTF8.self).contains("{\"request_put\":{\"key\":\"\(key)\"")
    }

    /// Whether the request reads all keys of a prefix.
    var readsPrefix: Bool {
        path == "/v3/kv/range" && String(decoding: body, as: UTF8.self).contains("range_end")
    }
}
