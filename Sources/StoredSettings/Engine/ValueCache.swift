// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "A small value is read with loads alone".

public import Synchronization

/// The newest known value of a setting, shared by all copies of the setting.
///
/// A value of at most 8 bytes that is copied bit by bit is stored in a word. It is read with loads alone: without a lock, a
/// call or a reference count. Beside the value, the cache stores the contents of two version words, one that this process
/// changes and one that other processes change as well. The value is current while both words have these contents.
/// For other types the word is the address of a ``CacheSlots``.
///
/// Unchecked: the memory is only accessed through atomics. The setting's box owns it and everything that it refers to, and
/// each owner of a cache owns the box as well.
@usableFromInline
struct ValueCache: @unchecked Sendable {
    /// `nil` for a store without a version.
    @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>?

    // The indices of the words. The first one is 0 while the others are written.
    @usableFromInline static var local: Int { 0 }
    @usableFromInline static var localAddress: Int { 1 }
    @usableFromInline static var shared: Int { 2 }
    @usableFromInline static var sharedAddress: Int { 3 }
    /// The bits of the value, or the address of the slots.
    @usableFromInline static var bits: Int { 4 }
    static let count = 5

    @inlinable
    static func fits<Value>(_ type: Value.Type) -> Bool {
        _isPOD(type) && MemoryLayout<Value>.size <= MemoryLayout<UInt64>.size
    }

    /// The value, from the word or from a slot; `nil` if this thread does not find the newest one.
    @inlinable
    func currentValue<Value>(as type: Value.Type) -> Value? {
        guard !Self.fits(type) else { return load(as: type) }
        // Written out, and not by ``current(as:)``: a client then has it in one piece, which `.ci/check-hot-reads` checks.
        guard let slot = takeCurrent() else { return nil }
        defer { slot.pointee.release() }
        return slot.pointee.currentValue(as: type)
    }

    /// The value in the word; `nil` if it is not the newest one.
    @inlinable
    func load<Value>(as type: Value.Type) -> Value? {
        guard Self.fits(type), let words else { return nil }
        let local = words[Self.local].load(ordering: .acquiring)
        let shared = words[Self.shared].load(ordering: .acquiring)
        var bits = words[Self.bits].load(ordering: .acquiring)
        // Both addresses are those of words that exist as long as the box. They are 0 while the cache is empty.
        guard local != 0,
            let sharedWord = UnsafePointer<Atomic<UInt64>>(
                bitPattern: UInt(words[Self.sharedAddress].load(ordering: .acquiring))
            ),
            let localWord = UnsafePointer<Atomic<UInt64>>(
                bitPattern: UInt(words[Self.localAddress].load(ordering: .relaxed))
            ),
            sharedWord.pointee.load(ordering: .acquiring) == shared,
            localWord.pointee.load(ordering: .acquiring) == local,
            words[Self.local].load(ordering: .relaxed) == local
        else { return nil }
        // The type is trivial and no larger than the word, so the first bytes of the word are a value of it.
        return withUnsafeBytes(of: &bits) { $0.load(as: type) }
    }

    /// The value and its version: see ``currentValue(as:)``.
    @inlinable
    func current<Value>(as type: Value.Type) -> (value: Value, version: StoreVersion.Version)? {
        if Self.fits(type) {
            guard let words else { return nil }
            // The value is of the version before and after it.
            let before = Self.version(in: words)
            guard let value = load(as: type), Self.version(in: words) == before else { return nil }
            return (value, before)
        }
        guard let slot = takeCurrent() else { return nil }
        defer { slot.pointee.release() }
        return (slot.pointee.currentValue(as: type), slot.pointee.version)
    }

    @inlinable
    static func version(in words: UnsafeMutablePointer<Atomic<UInt64>>) -> StoreVersion.Version {
        StoreVersion.Version(
            local: words[local].load(ordering: .acquiring),
            address: words[sharedAddress].load(ordering: .acquiring),
            shared: words[shared].load(ordering: .acquiring)
        )
    }
}

extension ValueCache {
    /// Creates an empty cache.
    init(localAddress: UInt64?) {
        guard let localAddress else {
            words = nil
            return
        }
        let words = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: Self.count)
        for index in 0..<Self.count { (words + index).initialize(to: Atomic(0)) }
        words[Self.localAddress].store(localAddress, ordering: .relaxed)
        self.words = words
    }

    /// A cache without memory, which never has a value.
    static let empty = ValueCache(localAddress: nil)

    /// Frees the memory.
    ///
    /// No copy may be used afterwards.
    func deallocate<Value>(_ type: Value.Type) {
        if !Self.fits(type) { slots?.deallocate(type) }
        words?.deinitialize(count: Self.count)
        words?.deallocate()
    }

    /// Writes a value into the word.
    ///
    /// The caller excludes other writers.
    func store<Value>(_ value: Value, _ version: StoreVersion.Version) {
        guard let words else { return }
        var bits: UInt64 = 0
        withUnsafeMutableBytes(of: &bits) { $0.storeBytes(of: value, as: Value.self) }
        words[Self.local].store(0, ordering: .sequentiallyConsistent)
        words[Self.sharedAddress].store(version.address, ordering: .releasing)
        words[Self.shared].store(version.shared, ordering: .releasing)
        words[Self.bits].store(bits, ordering: .releasing)
        words[Self.local].store(version.local, ordering: .releasing)
    }
}

// MARK: - Types that do not fit

extension ValueCache {
    /// Takes a slot with the newest value.
    ///
    /// - Returns: The slot, with contents, to be released as soon as the value is copied; `nil` if it is outdated.
    @usableFromInline
    func takeCurrent() -> UnsafeMutablePointer<CacheSlot>? {
        guard let words, let slot = slots?.take() else { return nil }
        let localAddress = words[Self.localAddress].load(ordering: .relaxed)
        if slot.pointee.content != nil, slot.pointee.version.isCurrent(localAddress: localAddress) { return slot }
        slot.pointee.release()
        return nil
    }

    private var slots: CacheSlots? {
        words.flatMap { CacheSlots(address: $0[Self.bits].load(ordering: .acquiring)) }
    }

    /// The value in this thread's slot if it was decoded from the same stored value.
    ///
    /// It is then marked as current.
    func renewedValue<Value>(from stored: StoredValue?, _ version: StoreVersion.Version, as type: Value.Type)
        -> Value?
    {
        guard let slot = slots?.take() else { return nil }
        defer { slot.pointee.release() }
        // The contents of the slots were written by the setting's box, which has one type of values.
        guard let content = slot.pointee.content?.assumingMemoryBound(to: CachedValue<Value>.self),
            content.pointee.isRenewable, content.pointee.stored == stored
        else { return nil }
        slot.pointee.version = version
        return content.pointee.value
    }

    /// Writes a value into this thread's slot.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - stored: The stored value that it was decoded from.
    ///   - isRenewable: Whether the same stored value always has this value.
    ///   - version: The version of the value.
    func store<Value>(
        _ value: Value,
        from stored: StoredValue?,
        isRenewable: Bool,
        _ version: StoreVersion.Version
    ) {
        guard let slot = makeSlots()?.take() else { return }
        let old = slot.pointee.content
        slot.pointee.content = CachedValue(value, from: stored, isRenewable: isRenewable).allocate()
        slot.pointee.version = version
        slot.pointee.release()
        // Last: the end of a value may run user code.
        CachedValue<Value>.free(old)
    }

    /// The slots, created if there are none yet.
    private func makeSlots() -> CacheSlots? {
        guard let words else { return nil }
        if let slots { return slots }
        let new = CacheSlots()
        let (isFirst, known) = words[Self.bits]
            .compareExchange(
                expected: 0,
                desired: new.address,
                ordering: .acquiringAndReleasing
            )
        guard !isFirst else { return new }
        new.deallocate(Never.self)
        return CacheSlots(address: known)
    }
}

// MARK: - Slots

/// Copies of a setting's decoded value, one for each of a few groups of threads, for values that do not fit into a word.
///
/// A reader owns the slot of its group while it copies the value: one atomic write takes it, another one releases it. A
/// reader never waits. It tries the next slot when one is taken, and reads the value from the store when all are taken.
/// So concurrent readers seldom meet, and an interrupted thread delays no other.
///
/// Unchecked: the contents of a slot are accessed only by the thread that has taken it. The setting's box owns the
/// memory, and each owner of a cache owns the box.
struct CacheSlots: @unchecked Sendable {
    private static let count = 8
    /// At least a line of the processor's cache, so that no two slots share one.
    private static let stride = 128

    private let memory: UnsafeMutableRawPointer

    /// The slots at an ``address``; `nil` for 0.
    init?(address: UInt64) {
        guard let memory = UnsafeMutableRawPointer(bitPattern: UInt(address)) else { return nil }
        self.memory = memory
    }

    /// Creates empty slots.
    init() {
        memory = .allocate(byteCount: Self.count * Self.stride, alignment: Self.stride)
        for index in 0..<Self.count {
            (memory + index * Self.stride).initializeMemory(as: CacheSlot.self, to: CacheSlot())
        }
    }

    var address: UInt64 { UInt64(UInt(bitPattern: memory)) }

    /// Frees the memory.
    ///
    /// No copy may be used afterwards.
    func deallocate<Value>(_ type: Value.Type) {
        for index in 0..<Self.count {
            let slot = slot(index)
            CachedValue<Value>.free(slot.pointee.content)
            slot.deinitialize(count: 1)
        }
        memory.deallocate()
    }

    /// Takes the slot of this thread, or another one that is free.
    ///
    /// - Returns: The slot, to be released at once; `nil` when all are taken.
    func take() -> UnsafeMutablePointer<CacheSlot>? {
        let first = Self.index(ofThread: SystemCalls.currentThread())
        for offset in 0..<Self.count {
            let slot = slot((first + offset) % Self.count)
            if slot.pointee.take() { return slot }
        }
        return nil
    }

    /// The index of the slot that a thread tries first; `thread` is an address of its stack.
    ///
    /// Neighboring stacks, usually 8 MiB and a page of 4, 16 or 64 KiB apart, have different indices.
    static func index(ofThread thread: UInt) -> Int {
        Int((thread >> 12 &+ thread >> 16) % UInt(count))
    }

    private func slot(_ index: Int) -> UnsafeMutablePointer<CacheSlot> {
        (memory + index * Self.stride).assumingMemoryBound(to: CacheSlot.self)
    }
}

/// A place for one decoded value, taken by one thread at a time.
@usableFromInline
struct CacheSlot: ~Copyable {
    @usableFromInline let isTaken = Atomic(false)
    /// A ``CachedValue`` of the setting's type; `nil` at first.
    @usableFromInline var content: UnsafeMutableRawPointer?
    /// The version of the contents.
    @usableFromInline var version = StoreVersion.Version(local: 0, address: 0, shared: 0)

    init() {}

    func take() -> Bool {
        isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
    }

    /// The value of a slot that is taken and current.
    @inlinable
    func currentValue<Value>(as type: Value.Type) -> Value {
        // The contents of the slots were written by the setting's box, which has one type of values. A current slot
        // has contents.
        content.unsafelyUnwrapped.assumingMemoryBound(to: CachedValue<Value>.self).pointee.value
    }

    /// Releases the slot.
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
