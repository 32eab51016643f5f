// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// What was decoded for a setting last, once for each of a few groups of threads: for values that do not fit into a word.
///
/// A reader takes the slot of its group for as long as it copies the value: an atomic write to take it, another to give it
/// back. Nobody waits for a slot. Who finds one taken tries the next, and where all are taken the value is read the slow
/// way. So threads that read at the same time seldom meet, and a thread that is interrupted holds up nobody.
///
/// Unchecked: what is in a slot is only touched by whoever has taken it. The box of the setting owns the memory; who holds
/// a copy holds the box.
struct StripedCache: @unchecked Sendable {
    private static let count = 8
    /// A line of the processor's cache, or more, so that no two slots share one.
    private static let stride = 128

    private let memory: UnsafeMutableRawPointer

    /// The slots at an address that ``address`` has given; `nil` for 0.
    init?(address: UInt64) {
        guard let memory = UnsafeMutableRawPointer(bitPattern: UInt(address)) else { return nil }
        self.memory = memory
    }

    /// Makes empty slots.
    init() {
        memory = .allocate(byteCount: Self.count * Self.stride, alignment: Self.stride)
        for index in 0..<Self.count {
            (memory + index * Self.stride).initializeMemory(as: Stripe.self, to: Stripe())
        }
    }

    var address: UInt64 { UInt64(UInt(bitPattern: memory)) }

    /// Frees the memory: there is no other copy that is used any more.
    func deallocate<Value>(_ type: Value.Type) {
        for index in 0..<Self.count {
            let slot = slot(index)
            CachedValue<Value>.free(slot.pointee.content)
            slot.deinitialize(count: 1)
        }
        memory.deallocate()
    }

    /// Takes the slot of this thread, or another that is free.
    ///
    /// - Returns: The slot, to be given back at once; `nil` when all are taken.
    func take() -> UnsafeMutablePointer<Stripe>? {
        // The addresses of threads differ in the middle bits.
        let thread = SystemCalls.currentThread()
        let first = Int((thread >> 12 ^ thread >> 20) % UInt(Self.count))
        for offset in 0..<Self.count {
            let slot = slot((first + offset) % Self.count)
            if slot.pointee.take() { return slot }
        }
        return nil
    }

    private func slot(_ index: Int) -> UnsafeMutablePointer<Stripe> {
        (memory + index * Self.stride).assumingMemoryBound(to: Stripe.self)
    }
}

/// A place for one decoded value, taken by one thread at a time.
@usableFromInline
struct Stripe: ~Copyable {
    @usableFromInline let isTaken = Atomic(false)
    /// A ``CachedValue`` of the setting's type; `nil` until there is one.
    @usableFromInline var content: UnsafeMutableRawPointer?
    /// What outruns the content.
    var version = VersionStamp.Version(local: 0, address: 0, shared: 0)

    init() {}

    func take() -> Bool {
        isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
    }

    /// Lets others have the slot.
    ///
    /// By an exchange, as `Mutex` does it, though nobody wants to know what was there. To the optimiser a store can release
    /// no object, so it moves a retain behind it, and the content may be gone by then. It moves none behind an exchange:
    /// `.ci/check-hot-reads` looks at that.
    @inlinable
    func release() {
        _ = isTaken.exchange(false, ordering: .releasing)
    }
}

/// A decoded value, and what it was decoded from.
@usableFromInline
struct CachedValue<Value> {
    @usableFromInline let value: Value
    let stored: StoredValue?

    @usableFromInline
    init(_ value: Value, from stored: StoredValue?) {
        self.value = value
        self.stored = stored
    }

    /// Puts it into memory of its own.
    func allocate() -> UnsafeMutableRawPointer {
        let content = UnsafeMutablePointer<Self>.allocate(capacity: 1)
        content.initialize(to: self)
        return UnsafeMutableRawPointer(content)
    }

    /// Frees memory that ``allocate()`` gave, for the same type.
    static func free(_ content: UnsafeMutableRawPointer?) {
        guard let content = content?.assumingMemoryBound(to: Self.self) else { return }
        content.deinitialize(count: 1)
        content.deallocate()
    }
}
