// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The stores that have something to fold when the process ends.
enum OpenStores {
    private struct Reference {
        weak var store: FileStore?
    }

    private static let references = Locked<[ObjectIdentifier: Reference]>([:])

    private static let isWatchingExit = atexit { OpenStores.foldAll() } == 0

    static func add(_ store: FileStore) {
        _ = isWatchingExit
        references.withLock { $0[ObjectIdentifier(store)] = Reference(store: store) }
    }

    static func remove(_ store: FileStore) {
        references.withLock { $0[ObjectIdentifier(store)] = nil }
    }

    private static func foldAll() {
        let stores = references.withLock { $0.values.compactMap(\.store) }
        for store in stores { store.foldAtExit() }
    }
}

extension FileStore {
    /// Folds, unless a commit is under way: `exit` may have been called by its body, which then never ends.
    fileprivate func foldAtExit() {
        guard !writer.isLocked else { return }
        foldAtEnd()
    }
}
