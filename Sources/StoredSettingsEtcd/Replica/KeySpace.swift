// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "No prefix begins with another one".

import StoredSettings

/// The keys of a store, which are not among those of another suite that this process has open on the same servers.
final class KeySpace: Sendable {
    private static let open = Locked(WeakTable<ObjectIdentifier, KeySpace>())

    private let prefix: [UInt8]
    private let transport: any EtcdTransport

    private init(_ prefix: [UInt8], _ transport: any EtcdTransport) {
        (self.prefix, self.transport) = (prefix, transport)
    }

    /// Reserves the keys with a prefix until the result is released.
    ///
    /// - Throws: `SettingsError` if the prefix begins with that of another suite, or that one with it.
    static func reserve(_ prefix: [UInt8], _ transport: any EtcdTransport) throws(SettingsError) -> KeySpace {
        let new = KeySpace(prefix, transport)
        let others = open.withLock { $0.insert(new, forKey: ObjectIdentifier(new)) }
        guard let other = others.first(where: new.overlaps) else { return new }
        new.release()
        throw SettingsError.overlappingPrefix(prefix, other.prefix)
    }

    func release() {
        Self.open.withLock { $0.remove(ObjectIdentifier(self)) }
    }

    private func overlaps(_ other: KeySpace) -> Bool {
        prefix != other.prefix && (prefix.starts(with: other.prefix) || other.prefix.starts(with: prefix))
            && transport.isKnownToShareServers(with: other.transport)
    }
}

extension EtcdTransport {
    /// Whether two transports have an address in common, or are the same object.
    fileprivate func isKnownToShareServers(with other: any EtcdTransport) -> Bool {
        if let own = self as? SocketTransport, let other = other as? SocketTransport {
            return !own.endpoints.isDisjoint(with: other.endpoints)
        }
        return self as AnyObject === other as AnyObject
    }
}
