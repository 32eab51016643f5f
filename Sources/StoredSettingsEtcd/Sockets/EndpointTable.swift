// SPDX-License-Identifier: Apache-2.0

/// The servers of a transport, and which of them to use next.
///
/// The server that was used last is used again until it fails. One that has failed is used last for a while, which doubles
/// with every failure.
struct EndpointTable: Sendable {
    private struct Entry {
        let endpoint: EtcdEndpoint
        var failures = 0
        var avoidedUntil: ContinuousClock.Instant?
        var addresses: [SocketAddress] = []
        var addressesExpire: ContinuousClock.Instant?
        var isLookedUp = false
    }

    static let shortestAvoidance = Duration.seconds(1)
    static let longestAvoidance = Duration.seconds(16)
    /// The time for which the addresses of a host are used before it is looked up again.
    static let addressLifetime = Duration.seconds(30)

    private var entries: [Entry]
    private var current = 0

    init(_ endpoints: [EtcdEndpoint]) {
        entries = endpoints.map { Entry(endpoint: $0) }
    }

    var count: Int { entries.count }

    subscript(index: Int) -> EtcdEndpoint { entries[index].endpoint }

    /// The indices of all servers, the one to use first at the front.
    func order(_ now: ContinuousClock.Instant) -> [Int] {
        let rotated = entries.indices.map { (current + $0) % entries.count }
        let healthy = rotated.filter { (entries[$0].avoidedUntil ?? now) <= now }
        let avoided = rotated.filter { (entries[$0].avoidedUntil ?? now) > now }
        return healthy + avoided.sorted { (entries[$0].avoidedUntil ?? now) < (entries[$1].avoidedUntil ?? now) }
    }

    mutating func didSucceed(_ index: Int) {
        current = index
        entries[index].failures = 0
        entries[index].avoidedUntil = nil
    }

    mutating func didFail(_ index: Int, _ now: ContinuousClock.Instant) {
        let doublings = min(entries[index].failures, 4)
        entries[index].failures = doublings + 1
        entries[index].avoidedUntil = now + min(Self.shortestAvoidance * (1 << doublings), Self.longestAvoidance)
        if current == index { current = (index + 1) % entries.count }
    }

    // MARK: - Addresses

    /// The addresses of a server.
    enum Addresses {
        case known([SocketAddress])
        /// The host must be looked up.
        case unknown(host: String, port: UInt16)
        /// The host is being looked up.
        case lookedUp
    }

    /// Returns the addresses of a server, and records that its host is looked up if they are unknown.
    mutating func addresses(of index: Int, _ now: ContinuousClock.Instant) -> Addresses {
        switch entries[index].endpoint.address {
        case .unix(let path): return .known([SocketAddress(unixPath: path)])
        case .tcp(let host, let port):
            if let expiry = entries[index].addressesExpire, expiry > now { return .known(entries[index].addresses) }
            guard !entries[index].isLookedUp else { return .lookedUp }
            if case .addresses(let addresses) = SocketAddress.lookUp(host, port: port, isNumeric: true) {
                // The address of a number never changes, but a zone may get another number.
                setAddresses(addresses, of: index, now)
                return .known(addresses)
            }
            entries[index].isLookedUp = true
            return .unknown(host: host, port: port)
        }
    }

    /// Records the result of a lookup.
    ///
    /// After a failure, the previous addresses are used, if there are any.
    mutating func didLookUp(_ index: Int, _ result: SocketAddress.Lookup, _ now: ContinuousClock.Instant) {
        entries[index].isLookedUp = false
        switch result {
        case .addresses(let addresses): setAddresses(addresses, of: index, now)
        case .failure:
            guard !entries[index].addresses.isEmpty else { return }
            entries[index].addressesExpire = now + Self.addressLifetime
        }
    }

    private mutating func setAddresses(_ addresses: [SocketAddress], of index: Int, _ now: ContinuousClock.Instant) {
        entries[index].addresses = addresses
        entries[index].addressesExpire = now + Self.addressLifetime
    }
}
