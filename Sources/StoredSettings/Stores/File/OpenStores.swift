// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The stores that have something to checkpoint when the process ends.
enum OpenStores {
    private struct Reference {
        weak var store: FileStore?
    }

    private static let references = Locked<[ObjectIdentifier: Reference]>([:])

    private static let isWatchingExit = atexit { OpenStores.checkpointAll() } == 0

    static func add(_ store: FileStore) {
        _ = isWatchingExit
        references.withLock { $0[ObjectIdentifier(store)] = Reference(store: store) }
    }

    static func remove(_ store: FileStore) {
        references.withLock { $0[ObjectIdentifier(store)] = nil }
    }

    private static func checkpointAll() {
        let stores = references.withLock { $0.values.compactMap(\.store) }
        for store in stores { store.checkpointAtExit() }
    }
}

extension FileStore {
    /// Checkpoints, unless a commit is under way: `exit` may have been called by its body, which then never ends.
    fileprivate func checkpointAtExit() {
        guard writer.withLockIfAvailable({ _ in true }) ?? false else { return }
        checkpointAtEnd()
    }
}
