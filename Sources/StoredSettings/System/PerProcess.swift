// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An object that a forked child creates anew.
///
/// A fork copies locks that are held by threads which it does not copy. So what has threads must not be used in the child.
struct PerProcess<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    private final class Entry: Sendable {
        let forks: Int
        let object: Object

        init(forks: Int, object: Object) {
            (self.forks, self.object) = (forks, object)
        }
    }

    /// The address of the retained entry of the newest process; 0 at first.
    private let address = Atomic<UInt>(0)
    private let create: @Sendable () -> Object

    init(_ create: @escaping @Sendable () -> Object) {
        self.create = create
    }

    /// The object of this process.
    var current: Object {
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
            // An entry that was in use is never released: another thread may be about to retain it. In a forked child,
            // that of the parent stays as it is for good.
            if !isFirst { new.release() }
        }
    }

    /// The address is 0 or that of an entry that was retained for good.
    private func entry(at address: UInt) -> Entry? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged<Entry>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Whether work is scheduled that a thread of this process is to do: a forked child, which has no such thread, begins
/// without.
struct ScheduledFlag: ~Copyable, Sendable {
    /// 0, or one more than the number of forks that lie before the process in which the work was scheduled.
    private let mark = Atomic(0)

    func load(ordering: AtomicLoadOrdering) -> Bool {
        mark.load(ordering: .relaxed) == Forks.count + 1
    }

    func exchange(_ isScheduled: Bool, ordering: AtomicUpdateOrdering) -> Bool {
        mark.exchange(isScheduled ? Forks.count + 1 : 0, ordering: .relaxed) == Forks.count + 1
    }

    func store(_ isScheduled: Bool, ordering: AtomicStoreOrdering) {
        mark.store(isScheduled ? Forks.count + 1 : 0, ordering: .relaxed)
    }
}

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
