// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Tells a process from the one it was forked from.
///
/// A lock of a file belongs to whoever opened the file and to all that were forked from it since, so that it excludes
/// none of them from the others: after a fork, files have to be opened anew.
enum Forks {
    private static let number = Atomic(0)

    private static let isWatching: Bool = {
        #if canImport(Darwin) || canImport(Glibc) || canImport(Musl)
        pthread_atfork(nil, nil) { Forks.number.add(1, ordering: .relaxed) } == 0
        #endif
    }()

    /// How many forks lie between the first use of the library and this process.
    static var count: Int {
        _ = isWatching
        return number.load(ordering: .relaxed)
    }
}
