// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "A small value is read with loads alone".

public import Synchronization

/// Copies of a setting's decoded value, one for each of a few groups of threads, for values that do not fit into a word.
///
/// A reader owns the stripe of its group while it copies the value: one atomic write takes it, another one releases it. A
/// reader never waits. It tries the next stripe when one is taken, and reads the value from the store when all are taken.
/// So concurrent readers seldom meet, and an interrupted thread delays no other.
///
/// Unchecked: the contents of a stripe are accessed only by the thread that has taken it. The setting's box owns the
/// memory, and each owner of a cache owns the box.
struct StripedCache: @unchecked Sendable {
    private static let count = 8
    /// At least a line of the processor's cache, so that no two stripes share one.
    private static let stride = 128

    private let memory: UnsafeMutableRawPointer

    /// The stripes at an ``address``; `nil` for 0.
    init?(address: UInt64) {
        guard let memory = UnsafeMutableRawPointer(bitPattern: UInt(address)) else { return nil }
        self.memory = memory
    }

    /// Creates empty stripes.
    init() {
        memory = .allocate(byteCount: Self.count * Self.stride, alignment: Self.stride)
        for index in 0..<Self.count {
            (memory + index * Self.stride).initializeMemory(as: Stripe.self, to: Stripe())
        }
    }

    var address: UInt64 { UInt64(UInt(bitPattern: memory)) }

    /// Frees the memory.
    ///
    /// No copy may be used afterwards.
    func deallocate<Value>(_ type: Value.Type) {
        for index in 0..<Self.count {
            let stripe = stripe(index)
            CachedValue<Value>.free(stripe.pointee.content)
            stripe.deinitialize(count: 1)
        }
        memory.deallocate()
    }

    /// Takes the stripe of this thread, or another one that is free.
    ///
    /// - Returns: The stripe, to be released at once; `nil` when all are taken.
    func take() -> UnsafeMutablePointer<Stripe>? {
        let first = Self.index(ofThread: SystemCalls.currentThread())
        for offset in 0..<Self.count {
            let stripe = stripe((first + offset) % Self.count)
            if stripe.pointee.take() { return stripe }
        }
        return nil
    }

    /// The index of the stripe that a thread tries first; `thread` is an address of its stack.
    ///
    /// Neighboring stacks, usually 8 MiB and a page of 4, 16 or 64 KiB apart, have different indices.
    static func index(ofThread thread: UInt) -> Int {
        Int((thread >> 12 &+ thread >> 16) % UInt(count))
    }

    private func stripe(_ index: Int) -> UnsafeMutablePointer<Stripe> {
        (memory + index * Self.stride).assumingMemoryBound(to: Stripe.self)
    }
}

/// A place for one decoded value, taken by one thread at a time.
@usableFromInline
struct Stripe: ~Copyable {
    @usableFromInline let isTaken = Atomic(false)
    /// A ``CachedValue`` of the setting's type; `nil` at first.
    @usableFromInline var content: UnsafeMutableRawPointer?
    /// The version of the contents.
    var version = VersionStamp.Version(local: 0, address: 0, shared: 0)

    init() {}

    func take() -> Bool {
        isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
    }

    /// Releases the stripe.
    ///
    /// An exchange, as in `Mutex`, although the old value is not used. The optimizer moves a retain of the copied value past
    /// a store, because a store cannot release an object. By then another thread may have freed the contents. It moves
    /// none past an exchange; `.ci/check-hot-reads` checks that.
    @inlinable
    func release() {
        _ = isTaken.exchange(false, ordering: .releasing)
    }
}

/// A decoded value, and the stored value that it was decoded from.
@usableFromInline
struct CachedValue<Value> {
    @usableFromInline let value: Value
    let stored: StoredValue?
    /// Whether the same stored value always has this value.
    let isRenewable: Bool

    init(_ value: Value, from stored: StoredValue?, isRenewable: Bool) {
        self.value = value
        self.stored = stored
        self.isRenewable = isRenewable
    }

    /// Moves the value into newly allocated memory.
    func allocate() -> UnsafeMutableRawPointer {
        let content = UnsafeMutablePointer<Self>.allocate(capacity: 1)
        content.initialize(to: self)
        return UnsafeMutableRawPointer(content)
    }

    /// Frees memory from ``allocate()`` of the same type.
    static func free(_ content: UnsafeMutableRawPointer?) {
        guard let content = content?.assumingMemoryBound(to: Self.self) else { return }
        content.deinitialize(count: 1)
        content.deallocate()
    }
}
