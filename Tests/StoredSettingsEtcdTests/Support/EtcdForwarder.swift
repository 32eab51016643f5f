// SPDX-License-Identifier: Apache-2.0

import EtcdTestSupport
import Foundation
import StoredSettings
import Synchronization

@testable import StoredSettingsEtcd

/// A server that passes on requests to an etcd, unless a test answers them.
final class EtcdForwarder: Sendable {
    /// Answers a request, or returns `false` so that it is passed on.
    typealias Intercept = @Sendable (ScriptedServer.Request, ScriptedServer.Answer, EtcdForwarder) -> Bool

    private let server: Mutex<ScriptedServer?> = Mutex(nil)
    private let upstreams = Mutex<[LoopbackSocket]>([])
    private let port: UInt16

    init(to cluster: EtcdCluster, _ intercept: @escaping Intercept) throws {
        port = cluster.port()
        let started = try ScriptedServer { [self] request, answer in
            if intercept(request, answer, self) { return answer.close() }
            relay(request) { answer.send($0) }
            answer.close()
        }
        server.withLock { $0 = started }
    }

    var url: String { server.withLock { $0?.url } ?? "" }

    /// The requests with a path.
    func requests(_ path: String) -> [ScriptedServer.Request] {
        server.withLock { $0?.requests ?? [] }.filter { $0.path == path }
    }

    func stop() {
        server.withLock { server in
            server?.stop()
            // The server retains this object.
            server = nil
        }
        for socket in upstreams.withLock({ $0 }) { socket.shutDown() }
    }

    /// Passes on a request.
    ///
    /// - Returns: The whole response.
    func forward(_ request: ScriptedServer.Request) -> String {
        var response = ""
        relay(request) {
            response += $0
            return true
        }
        return response
    }

    private func relay(_ request: ScriptedServer.Request, _ receive: (String) -> Bool) {
        do {
            let upstream = try LoopbackSocket.connected(to: port)
            upstreams.withLock { $0.append(upstream) }
            let headers = request.headers.filter { $0.key.hasPrefix("grpc") }.map { "\($0.key): \($0.value)\r\n" }
            let text =
                "POST \(request.path) HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\(headers.joined())"
                + "Content-Length: \(request.body.utf8.count)\r\n\r\n\(request.body)"
            upstream.write(text.utf8)
            while true {
                let bytes = upstream.read()
                guard !bytes.isEmpty, receive(String(decoding: bytes, as: UTF8.self)) else { return }
            }
        } catch {
            // The client sees a lost connection.
        }
    }
}

extension ScriptedServer.Request {
    /// Whether the request is a transaction that can write a key.
    func writes(_ name: [UInt8]) -> Bool {
        path == "/v3/kv/txn" && body.contains("{\"request_put\":{\"key\":\"\(Data(name).base64EncodedString())\"")
    }
}
