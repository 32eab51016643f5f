// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The stores that may need a checkpoint when the process exits.
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
    /// Makes a last checkpoint, unless a commit is in progress: its body may have called `exit`, and would never
    /// return.
    fileprivate func checkpointAtExit() {
        guard writer.withLockIfAvailable({ _ in true }) ?? false else { return }
        checkpoints.runAtEnd()
    }
}
