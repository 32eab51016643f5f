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

    private let addressLifetime: Duration
    private var entries: [Entry]
    private var current = 0

    init(_ endpoints: [EtcdEndpoint], addressLifetime: Duration = Self.addressLifetime) {
        self.addressLifetime = addressLifetime
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
    enum Addresses: Equatable {
        case known([SocketAddress])
        /// The addresses may have changed, and the host is being looked up.
        case expired([SocketAddress])
        /// The host is being looked up.
        case unknown
    }

    /// Returns the addresses of a server.
    ///
    /// Call ``beginLookup(of:_:)`` first.
    func addresses(of index: Int, _ now: ContinuousClock.Instant) -> Addresses {
        if case .unix(let path) = entries[index].endpoint.address { return .known([SocketAddress(unixPath: path)]) }
        let addresses = entries[index].addresses
        if let expiry = entries[index].addressesExpire, expiry > now { return .known(addresses) }
        return addresses.isEmpty ? .unknown : .expired(addresses)
    }

    /// Determines whether the host of a server must be looked up, and records that it is.
    ///
    /// - Returns: The host and the port, once until the result of the lookup; `nil` if there is nothing to look up.
    mutating func beginLookup(of index: Int, _ now: ContinuousClock.Instant) -> (host: String, port: UInt16)? {
        guard !entries[index].isLookedUp, case .tcp(let host, let port) = entries[index].endpoint.address else {
            return nil
        }
        if let expiry = entries[index].addressesExpire, expiry > now { return nil }
        if case .addresses(let addresses) = SocketAddress.lookUp(host, port: port, isNumeric: true) {
            // The address of a number never changes, but a zone may get another number.
            setAddresses(addresses, of: index, now)
            return nil
        }
        entries[index].isLookedUp = true
        return (host, port)
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
            entries[index].addressesExpire = now + addressLifetime
        }
    }

    private mutating func setAddresses(_ addresses: [SocketAddress], of index: Int, _ now: ContinuousClock.Instant) {
        entries[index].addresses = addresses
        entries[index].addressesExpire = now + addressLifetime
    }
}
