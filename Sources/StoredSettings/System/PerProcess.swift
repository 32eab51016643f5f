// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An object of which a forked child creates its own instance.
///
/// A fork copies locks that are held by threads which it does not copy. So the child must not use an object that has
/// threads.
package struct PerProcess<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    private final class Entry: Sendable {
        let forks: Int
        let object: Object

        init(forks: Int, object: Object) {
            (self.forks, self.object) = (forks, object)
        }
    }

    /// The address of the retained entry of this process or, after a fork, of its parent; 0 initially.
    private let address = Atomic<UInt>(0)
    private let create: @Sendable () -> Object

    package init(_ create: @escaping @Sendable () -> Object) {
        self.create = create
    }

    /// The object of this process.
    package var current: Object {
        while true {
            let forks = Forks.count
            let known = address.load(ordering: .acquiring)
            if let entry = entry(at: known), entry.forks == forks { return entry.object }
            let new = Unmanaged.passRetained(Entry(forks: forks, object: create()))
            let (isFirst, _) = address.compareExchange(
                expected: known,
                desired: UInt(bitPattern: new.toOpaque()),
                ordering: .acquiringAndReleasing
            )
            // A published entry is never released, because another thread may be about to retain it. In a forked child,
            // the entry of the parent is leaked.
            if !isFirst { new.release() }
        }
    }

    /// Returns the entry at an address that is 0 or that of a permanently retained entry.
    private func entry(at address: UInt) -> Entry? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged<Entry>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// A flag of this process, which a forked child does not inherit: for example, whether work is scheduled on a thread.
///
/// The accesses are relaxed: the lock of the state that the work reads after it has cleared the flag orders them. See
/// Documentation/MemoryOrdering.md.
package struct ProcessFlag: ~Copyable, Sendable {
    /// 0, or one more than the fork count of the process that has set the flag.
    private let mark = Atomic(0)

    package init() {}

    var isSet: Bool { mark.load(ordering: .relaxed) == Forks.count + 1 }

    /// Sets the flag.
    ///
    /// - Returns: Whether it was not set, so that the caller has to do or to schedule the work.
    package func set() -> Bool {
        !isSet && mark.exchange(Forks.count + 1, ordering: .relaxed) != Forks.count + 1
    }

    package func clear() {
        mark.store(0, ordering: .relaxed)
    }
}

/// Distinguishes a process from the process that it was forked from.
///
/// A file lock belongs to the open file description, which a forked child shares with its parent. The lock does not
/// exclude the two from each other, so the child must open the files again.
package enum Forks {
    private static let number = Atomic(0)

    private static let isWatching = pthread_atfork(nil, nil) { Forks.number.add(1, ordering: .relaxed) } == 0

    /// The number of forks between the first use of the library and this process.
    package static var count: Int {
        _ = isWatching
        return number.load(ordering: .relaxed)
    }
}
