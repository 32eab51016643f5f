// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What was decoded for a setting last, once for each of a few groups of threads.
///
/// Threads that read at the same time seldom meet on a lock, and never on the reference count of one value: each group
/// has a value of its own. The type of the value is not known here, so that this code is the same for all.
///
/// Unchecked: each slot is under a lock of its own. The box of the setting owns the memory; who holds a copy holds the box.
struct ThreadSlots: @unchecked Sendable {
    struct Entry {
        var ticket: Freshness.Ticket
        var stored: StoredValue?
        /// A `DecodedValue` of the setting's type.
        var value: any AnyObject & Sendable
    }

    private struct Slot: ~Copyable {
        let entry = Locked<Entry?>(nil)
        /// So that two slots never share a line of the processor's cache.
        private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    }

    private static let count = 8

    private let slots: UnsafeMutablePointer<Slot>

    /// The slots at an address that ``address`` has given; `nil` for 0.
    init?(address: UInt64) {
        guard let slots = UnsafeMutablePointer<Slot>(bitPattern: UInt(address)) else { return nil }
        self.slots = slots
    }

    /// Makes empty slots.
    init() {
        slots = .allocate(capacity: Self.count)
        for index in 0..<Self.count { (slots + index).initialize(to: Slot()) }
    }

    var address: UInt64 { UInt64(UInt(bitPattern: slots)) }

    /// Frees the memory: there is no other copy that is used any more.
    func deallocate() {
        slots.deinitialize(count: Self.count)
        slots.deallocate()
    }

    /// The entry for this thread.
    var entry: Entry? {
        get { slot.pointee.entry.withLock(\.self) }
        nonmutating set {
            let old = slot.pointee.entry.withLock { entry in
                defer { entry = newValue }
                return entry
            }
            // After the lock: the end of a value of the user's may run code of theirs.
            _ = consume old
        }
    }

    /// The value for this thread, if it is the newest.
    func value(localAddress: UInt64) -> AnyObject? {
        slot.pointee.entry.withLock { entry in
            guard let entry, entry.ticket.isCurrent(localAddress: localAddress) else { return nil }
            return entry.value
        }
    }

    private var slot: UnsafeMutablePointer<Slot> {
        // The addresses of threads differ in the middle bits.
        let thread = SystemCalls.currentThread()
        return slots + Int((thread >> 12 ^ thread >> 20) % UInt(Self.count))
    }
}
