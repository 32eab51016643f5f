// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsEtcd

/// A round trip to a server: fixed bytes over a blocking socket, and the response to them.
///
/// It has no client: the request is written once, and only the length of the response is read.
final class BlockingExchange {
    private let descriptor: CInt
    private let request: [UInt8]
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)

    /// Connects to a server.
    ///
    /// - Parameters:
    ///   - address: The URL of the server, with the number of its host.
    ///   - request: The request.
    /// - Throws: ``Failure`` when the server cannot be connected.
    init(_ address: String, _ request: EtcdRequest) throws {
        guard let url = URL(string: address), let host = url.host, let port = url.port else {
            throw Failure("the address of etcd has no host or no port")
        }
        let head =
            "POST \(request.path) HTTP/1.1\r\nHost: \(host):\(port)\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(request.body.count)\r\n\r\n"
        self.request = Array(head.utf8) + request.body
        #if canImport(Glibc)
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        guard descriptor >= 0, inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
            throw Failure("the host of etcd is not an address of IPv4")
        }
        let result = withUnsafePointer(to: &address) { address in
            // An IPv4 address is a socket address.
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure("etcd cannot be connected: \(String(cString: strerror(errno)))") }
        var isOn: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<CInt>.size))
    }

    deinit {
        close(descriptor)
    }

    /// Sends the request, and receives the whole response.
    func run() throws {
        guard send(descriptor, request, request.count, 0) == request.count else { throw Failure("a send has failed") }
        var response: [UInt8] = []
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw Failure("etcd has closed the connection") }
            response += buffer[..<count]
            if try Self.isComplete(response) { return }
        }
    }

    private static func isComplete(_ response: [UInt8]) throws -> Bool {
        guard let end = response.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
        guard response.starts(with: "HTTP/1.1 200".utf8),
            let name = response[..<end.lowerBound].firstRange(of: Array("Content-Length: ".utf8)),
            let length = Int(String(decoding: response[name.upperBound...].prefix { $0 != 0x0D }, as: UTF8.self))
        else { throw Failure("etcd has sent an unexpected response") }
        return response.count - end.upperBound >= length
    }
}

/// A transport that stores a request, and sends nothing.
final class RequestRecorder: EtcdTransport {
    private let request = Locked<EtcdRequest?>(nil)

    func send(_ request: EtcdRequest) async throws -> EtcdResponse {
        self.request.withLock { $0 = request }
        return EtcdResponse(status: 503)
    }

    func stream(
        _ request: EtcdRequest,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws -> EtcdResponse {
        try await send(request)
    }

    /// Returns the request of a transaction.
    static func request(of transaction: EtcdTransaction) async throws -> EtcdRequest {
        let recorder = RequestRecorder()
        do {
            _ = try await EtcdClient(recorder).execute(transaction)
        } catch {
            // There is no server.
        }
        guard let request = recorder.request.withLock({ $0 }) else { throw Failure("there is no request") }
        return request
    }
}
