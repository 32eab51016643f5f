// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// A client of etcd's JSON gateway (etcd 3.4 and later).
///
/// Every method ends at once when its task is canceled. Every request has a timeout. A request that changes something is never
/// repeated if etcd may have executed it: the error says so, and the caller finds out.
package final class EtcdClient: Sendable {
    package struct Configuration: Sendable {
        package var limits = EtcdLimits()
        /// The maximum time of a request.
        ///
        /// etcd itself gives up after 7 s by default.
        package var timeout = Duration.seconds(10)
        /// The maximum time without a message of a watch.
        ///
        /// etcd sends its progress every 10 minutes.
        package var watchIdleTimeout = Duration.seconds(900)
        /// The number of keys that ``EtcdClient/contents(of:revision:isSerializable:)`` requests at a time.
        package var pageSize: Int64 = 1_000

        package init() {}
    }

    private let configuration: Configuration
    private let gateway: EtcdGateway

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - transport: The connection to the servers.
    ///   - configuration: The limits and timeouts.
    ///   - credentials: A closure that returns the user and the password whenever a token is requested, for example from
    ///     files; `nil` for an etcd without users.
    ///   - executor: The executor of requests that several callers share; `nil` for the default one.
    package init(
        _ transport: any EtcdTransport,
        configuration: Configuration = Configuration(),
        credentials: (@Sendable () async throws -> EtcdCredentials)? = nil,
        executor: (any TaskExecutor)? = nil
    ) {
        self.configuration = configuration
        gateway = EtcdGateway(transport, configuration, credentials, executor)
    }

    /// Prefers another server from now on, because the one that has answered last is not one of the suite.
    func avoidCurrentServer() { gateway.avoidCurrentServer() }

    // MARK: - Requests

    /// Returns the keys of a range.
    ///
    /// - Parameters:
    ///   - request: The range.
    ///   - needsNewConnection: Whether the answer must not be that to an earlier request, which a proxy could repeat.
    /// - Returns: The keys.
    /// - Throws: ``EtcdError``.
    package func range(
        _ request: EtcdRangeRequest,
        needsNewConnection: Bool = false
    ) async throws(EtcdError) -> EtcdRangeResult {
        try await gateway.send("/v3/kv/range", request.body, needsNewConnection: needsNewConnection) {
            (object) throws(GatewayObject.Malformed) in try EtcdRangeResult(object)
        }
    }

    /// Returns all keys of a range at one revision, in pages.
    ///
    /// A page whose response is too large is requested again with fewer keys. The method starts again when the revision was
    /// compacted meanwhile.
    ///
    /// - Parameters:
    ///   - range: The range.
    ///   - revision: The revision; 0 for the current one.
    ///   - isSerializable: Whether the first page may be that of a member whose state is old.
    ///   - needsNewConnection: Whether no page must be the answer to an earlier request, which a proxy could repeat.
    /// - Returns: The keys with the header of the first page, whose revision is that of the contents.
    /// - Throws: ``EtcdError``.
    package func contents(
        of range: EtcdKeyRange,
        revision: Int64 = 0,
        isSerializable: Bool = false,
        needsNewConnection: Bool = false
    ) async throws(EtcdError) -> EtcdRangeResult {
        var attempts = 0
        while true {
            do throws(EtcdError) {
                return try await pages(of: range, revision, isSerializable, needsNewConnection)
            } catch {
                attempts += 1
                guard case .compacted = error.code, revision == 0, attempts < 3 else { throw error }
            }
        }
    }

    private func pages(
        of range: EtcdKeyRange,
        _ revision: Int64,
        _ isSerializable: Bool,
        _ needsNewConnection: Bool
    ) async throws(EtcdError) -> EtcdRangeResult {
        var page = EtcdRangeRequest(range, revision: revision, isSerializable: isSerializable)
        page.limit = range.end == nil ? 0 : max(1, configuration.pageSize)
        var contents: EtcdRangeResult?
        var size = 0
        while true {
            let result: EtcdRangeResult
            do throws(EtcdError) {
                result = try await self.range(page, needsNewConnection: needsNewConnection)
            } catch {
                guard error.code == .responseTooLarge, page.limit > 1 else { throw error }
                page.limit /= 2
                continue
            }
            try check(result, for: page.range)
            // A balancer can lead to two clusters.
            guard contents.map({ $0.header.clusterID == result.header.clusterID }) ?? true else {
                throw EtcdError(.unavailable, "the servers have answered as two clusters")
            }
            size += result.keyValues.reduce(0) { $0 + $1.key.count + $1.value.count }
            guard size <= configuration.limits.contentsSize else {
                throw EtcdError(.responseTooLarge, "a range is larger than \(configuration.limits.contentsSize) bytes")
            }
            contents?.keyValues += result.keyValues
            var whole = contents ?? result
            guard result.hasMore else {
                whole.hasMore = false
                return whole
            }
            let previous = page.range.start
            guard let last = result.keyValues.last?.key, !last.lexicographicallyPrecedes(previous),
                whole.header.revision > 0
            else { throw EtcdError(.malformedResponse, "a page of a range has no revision, or makes no progress") }
            contents = whole
            page.range.start = last + [0]
            if page.revision == 0 { page.revision = whole.header.revision }
        }
    }

    /// Throws if a page has a key that is not in its range, or not after the previous one.
    private func check(_ page: EtcdRangeResult, for range: EtcdKeyRange) throws(EtcdError) {
        var isExpected = range.end != nil || page.keyValues.count <= 1
        var previous: [UInt8]?
        for key in page.keyValues.map(\.key) {
            let isInside = range.end.map { $0 == [0] || key.lexicographicallyPrecedes($0) } ?? (key == range.start)
            let isAfterStart = !key.lexicographicallyPrecedes(range.start)
            let isNext = previous.map { $0.lexicographicallyPrecedes(key) } ?? isAfterStart
            isExpected = isExpected && isInside && isNext
            previous = key
        }
        guard isExpected else { throw EtcdError(.malformedResponse, "a range has keys that were not requested") }
    }

    /// Executes a transaction.
    ///
    /// The gateway does not say which request a response belongs to. A proxy that duplicates bytes could pass off an older
    /// response as that of this transaction. To exclude that, write a unique value and read it in the same branch: the
    /// result of ``EtcdOperation/range(_:)`` then contains it.
    ///
    /// - Parameters:
    ///   - transaction: The transaction.
    ///   - isIdempotent: Whether the transaction may be sent again when it is unknown if etcd has executed it.
    /// - Returns: The result of the branch that was executed.
    /// - Throws: ``EtcdError``, whose ``EtcdError/mayHaveHappened`` says whether the transaction may have been executed.
    package func execute(
        _ transaction: EtcdTransaction,
        isIdempotent: Bool = false
    ) async throws(EtcdError) -> EtcdTransactionResult {
        try check(transaction)
        return try await gateway.send(
            Self.transactionPath,
            transaction.body,
            isReadOnly: false,
            isIdempotent: isIdempotent
        ) { (object) throws(GatewayObject.Malformed) in
            try EtcdTransactionResult(object, for: transaction)
        }
    }

    /// Executes a transaction like ``execute(_:isIdempotent:)``, but on the calling thread, which waits for the response.
    ///
    /// The caller must not be a thread that runs the tasks of replicas.
    ///
    /// - Returns: The result; `nil` if the transaction was not executed, because there is no connection that the thread can use,
    ///   or because a token must be requested first.
    /// - Throws: ``EtcdError``.
    package func executeBlocking(_ transaction: EtcdTransaction) throws(EtcdError) -> EtcdTransactionResult? {
        try check(transaction)
        return try gateway.sendBlocking(Self.transactionPath, transaction.body) {
            (object) throws(GatewayObject.Malformed) in try EtcdTransactionResult(object, for: transaction)
        }
    }

    private static let transactionPath = "/v3/kv/txn"

    /// Throws if etcd refuses a transaction of this size.
    private func check(_ transaction: EtcdTransaction) throws(EtcdError) {
        let limits = configuration.limits
        let counts = [transaction.conditions.count, transaction.success.count, transaction.failure.count]
        guard counts.allSatisfy({ $0 <= limits.operations }) else {
            throw EtcdError(
                .tooManyOperations,
                "a transaction has more than \(limits.operations) conditions or operations"
            )
        }
        guard transaction.greatestSize <= limits.requestSize else {
            throw EtcdError(.requestTooLarge, "a transaction is larger than \(limits.requestSize) bytes")
        }
    }

    /// Returns the state of the member that answers.
    package func status() async throws(EtcdError) -> EtcdStatus {
        try await gateway.send("/v3/maintenance/status", GatewayWriter.object { _ in }) {
            (object) throws(GatewayObject.Malformed) in try EtcdStatus(object)
        }
    }

    // MARK: - Watching

    /// Watches a range until the task is canceled.
    ///
    /// - Parameters:
    ///   - range: The range.
    ///   - revision: The first revision whose changes are sent; 0 for those after the creation of the watch.
    ///   - requiresLeader: Whether the watch ends when the member loses its leader, instead of being silent.
    ///   - receive: A closure that receives the messages, in order. The next message follows when it has returned.
    /// - Throws: ``EtcdError``, or the error of the closure. The method never returns without an error.
    package func watch(
        _ range: EtcdKeyRange,
        from revision: Int64,
        requiresLeader: Bool = true,
        receive: @escaping @Sendable (EtcdWatchMessage) async throws -> Void
    ) async throws {
        let create = GatewayWriter.object { text in
            text.writeObject("create_request") { text in
                text.writeTrue("fragment")
                range.write(to: &text)
                text.writeTrue("progress_notify")
                if revision != 0 { text.write("start_revision", revision) }
            }
        }
        var request = gateway.request("/v3/watch", create, isIdempotent: true)
        request.idleTimeout = configuration.watchIdleTimeout
        // The gateway passes on a header with this prefix to etcd.
        if requiresLeader { request.headers.append(.init("Grpc-Metadata-Hasleader", "true")) }

        let token = try await gateway.authenticator?.token()
        let end = try await watch(request, token, receive)
        guard end.isAboutToken, let authenticator = gateway.authenticator else { throw end.error }
        let newToken = try await authenticator.token(insteadOf: token)
        throw try await watch(request, newToken, receive).error
    }

    private struct WatchEnd: Error {
        var error: EtcdError
        var isAboutToken = false
    }

    /// An error of a closure that receives messages, which must not be taken for one of the transport.
    private struct ReceiverError: Error {
        let underlying: any Error
    }

    private func watch(
        _ request: EtcdRequest,
        _ token: String?,
        _ receive: @escaping @Sendable (EtcdWatchMessage) async throws -> Void
    ) async throws -> WatchEnd {
        let box = WatchReaderBox(WatchReader(limit: configuration.limits.messageSize))
        let handle: @Sendable (WatchReader.Output) async throws -> Void = { output in
            for message in output.messages {
                do { try await receive(message) } catch { throw ReceiverError(underlying: error) }
            }
            if let end = output.end { throw WatchEnd(error: end, isAboutToken: output.isAboutToken) }
        }
        do {
            let response = try await gateway.transport.stream(gateway.authorized(request, token)) { piece in
                try await handle(box.read(piece))
            }
            guard response.status == 200 else {
                return WatchEnd(error: EtcdError(response), isAboutToken: EtcdGateway.isAboutToken(response))
            }
            try await handle(box.finish())
            return WatchEnd(error: EtcdError(.watchEnded, "the server has ended the watch"))
        } catch let end as WatchEnd {
            return end
        } catch let error as ReceiverError {
            throw error.underlying
        } catch {
            var error = EtcdError(error)
            // A watch changes nothing.
            error.mayHaveHappened = false
            if error.code == .timedOut, let token { gateway.authenticator?.discard(token) }
            return WatchEnd(error: error)
        }
    }
}

/// A reader that a closure can use.
private final class WatchReaderBox: Sendable {
    private let reader: Locked<WatchReader>

    init(_ reader: WatchReader) {
        self.reader = Locked(reader)
    }

    func read(_ piece: [UInt8]) -> WatchReader.Output { reader.withLock { $0.read(piece) } }

    func finish() -> WatchReader.Output { reader.withLock { $0.finish() } }
}
