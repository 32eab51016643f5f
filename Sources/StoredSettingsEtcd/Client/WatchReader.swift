// SPDX-License-Identifier: Apache-2.0

/// The state machine that reads the messages of a watch, which are lines of JSON in pieces of any size.
///
/// It joins the fragments of a large message. The fragments, and so its memory, are limited.
package struct WatchReader: Sendable {
    private let limit: Int
    /// The beginning of a line whose end has not arrived.
    private var line: [UInt8] = []
    /// The events of the fragments that have arrived, and their size as JSON.
    private var fragments: [EtcdEvent] = []
    private var fragmentSize = 0
    private var isCreated = false

    /// - Parameter limit: The maximum size of a message, in bytes.
    package init(limit: Int) {
        self.limit = limit
    }

    /// The messages of a piece, and the error that ends the watch after them.
    package struct Output: Sendable {
        package var messages: [EtcdWatchMessage] = []
        package var end: EtcdError?
        /// Whether the watch has ended because of the token, so that a new token helps.
        package var isAboutToken = false
    }

    /// Reads a piece of the response.
    ///
    /// After an output with an error, the reader must not be used.
    package mutating func read(_ piece: [UInt8]) -> Output {
        var output = Output()
        var rest = piece[...]
        do throws(GatewayObject.Malformed) {
            while let end = rest.firstIndex(of: 0x0A), output.end == nil {
                line += rest[..<end]
                rest = rest[(end + 1)...]
                guard line.count <= limit else { return tooLarge(output) }
                let whole = line
                line = []
                try read(line: whole, into: &output)
            }
        } catch {
            output.end = EtcdError(.malformedResponse, error.reason)
            return output
        }
        guard output.end == nil else { return output }
        line += rest
        return line.count <= limit ? output : tooLarge(output)
    }

    /// Handles the end of the response.
    ///
    /// - Returns: The error that ends the watch.
    package mutating func finish() -> Output {
        // The last line may have no line break.
        var output = line.isEmpty ? Output() : read([0x0A])
        if output.end == nil { output.end = EtcdError(.watchEnded, "the server has ended the watch") }
        return output
    }

    private func tooLarge(_ output: Output) -> Output {
        var output = output
        output.end = EtcdError(.responseTooLarge, "a message of a watch is larger than \(limit) bytes")
        return output
    }

    private mutating func read(line: [UInt8], into output: inout Output) throws(GatewayObject.Malformed) {
        // An empty line has no meaning.
        guard line.contains(where: { $0 > 0x20 }) else { return }
        let object = try GatewayObject(line)
        if let error = try object.object("error") {
            // The gateway names the code differently in a stream and in a response.
            let code = try error.contains("grpc_code") ? error.smallInteger("grpc_code") : error.smallInteger("code")
            let message = try error.string("message")
            output.end = EtcdError(grpcCode: code, message: message)
            output.end?.mayHaveHappened = false
            output.isAboutToken = EtcdError.isAboutToken(grpcCode: code, message: message)
            return
        }
        guard let result = try object.object("result") else { throw .init("a message of a watch has no 'result'") }
        let header = try EtcdHeader(in: result)
        if try result.bool("canceled") { return try cancel(result, &output) }
        if try result.bool("created") {
            guard !isCreated else { throw .init("a watch was created twice") }
            isCreated = true
            output.messages.append(.created(header))
        }
        let events = try result.objects("events")
        guard isCreated else { throw .init("the first message of a watch is another one than its creation") }
        for event in events { fragments.append(try EtcdEvent(event)) }
        let isFragment = try result.bool("fragment")
        if isFragment || !fragments.isEmpty { fragmentSize += line.count }
        guard fragmentSize <= limit || !isFragment else {
            output = tooLarge(output)
            return
        }
        guard !isFragment else { return }
        if !fragments.isEmpty {
            output.messages.append(.events(fragments, header))
        } else if try !result.bool("created") {
            output.messages.append(.progress(header))
        }
        (fragments, fragmentSize) = ([], 0)
    }

    /// Ends a watch that etcd has canceled, possibly in the message that creates it.
    private func cancel(_ result: GatewayObject, _ output: inout Output) throws(GatewayObject.Malformed) {
        let revision: Int64 = try result.integer("compact_revision")
        let reason = try result.string("cancel_reason")
        if revision > 0 {
            output.end = EtcdError(.compacted(revision), "the revision of the watch has been compacted")
        } else if reason.contains("permission denied") {
            output.end = EtcdError(.permissionDenied, "etcd has refused the watch: permission denied")
        } else if EtcdError.isAboutToken(grpcCode: 0, message: reason) {
            output.isAboutToken = true
            output.end = EtcdError(.authenticationFailed, "etcd has refused the watch: \(EtcdError.printable(reason))")
        } else if reason.contains("compacted") {
            output.end = EtcdError(.compacted(nil), "the revision of the watch has been compacted")
        } else {
            let reason = reason.isEmpty ? "without a reason" : EtcdError.printable(reason)
            output.end = EtcdError(.watchEnded, "etcd has canceled the watch: \(reason)")
        }
    }
}
