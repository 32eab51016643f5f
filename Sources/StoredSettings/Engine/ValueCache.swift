// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The value of a setting as it was decoded last.
///
/// It is kept several times, and each thread goes to one of them, so that threads which read at the same time seldom meet
/// on a lock or on a reference count. Nothing is allocated before the first read.
///
/// Unchecked: the memory is published once, through an atomic, and each part of it is under a lock of its own.
final class ValueCache<Value: Sendable>: @unchecked Sendable {
    struct Entry {
        var ticket: Freshness.Ticket
        var stored: StoredValue?
        var value: Value
    }

    /// Wide enough for two of them never to share a line of the processor's cache.
    private struct Slot: ~Copyable {
        let entry = Locked<Entry?>(nil)
        private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    }

    private let count: Int
    private let slots = Atomic<UInt>(0)

    /// - Parameter isForThreads: Whether many threads are going to read at the same time.
    init(isForThreads: Bool) {
        count = isForThreads ? 8 : 1
    }

    deinit {
        guard let slots = UnsafeMutablePointer<Slot>(bitPattern: slots.load(ordering: .acquiring)) else { return }
        slots.deinitialize(count: count)
        slots.deallocate()
    }

    /// Gives the entry for this thread to a body, which may change it.
    func withEntry<Result>(_ body: (inout sending Entry?) -> sending Result) -> sending Result {
        slot.pointee.entry.withLock(body)
    }

    private var slot: UnsafeMutablePointer<Slot> {
        let slots = UnsafeMutablePointer<Slot>(bitPattern: slots.load(ordering: .acquiring)) ?? makeSlots()
        guard count > 1 else { return slots }
        // The addresses of threads differ in the middle bits.
        let thread = SystemCalls.currentThread()
        return slots + Int((thread >> 12 ^ thread >> 20) % UInt(count))
    }

    private func makeSlots() -> UnsafeMutablePointer<Slot> {
        let new = UnsafeMutablePointer<Slot>.allocate(capacity: count)
        for index in 0..<count { (new + index).initialize(to: Slot()) }
        let (isExchanged, known) = slots.compareExchange(
            expected: 0,
            desired: UInt(bitPattern: new),
            ordering: .acquiringAndReleasing
        )
        guard !isExchanged, let known = UnsafeMutablePointer<Slot>(bitPattern: known) else { return new }
        new.deinitialize(count: count)
        new.deallocate()
        return known
    }
}
