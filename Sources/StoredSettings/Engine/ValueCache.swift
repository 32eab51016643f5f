// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The newest known value of a setting, shared by all copies of it.
///
/// For a type of at most 8 bytes that is copied bit by bit it is in a word, which is read with loads alone: without a lock, a
/// call or a reference count. The cell says which words have to be what for its value to be the newest: one that this
/// process changes, and one that others change, too. For other types the cell leads to slots with values.
///
/// Unchecked: the memory is only touched through atomics. The box of the setting owns it, and all that it leads to is
/// there as long as the box: whoever holds a cell holds the box as well.
@usableFromInline
struct ValueCache: @unchecked Sendable {
    /// `nil` over a store that cannot tell without being asked whether anything has changed.
    @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>?

    // What is in which word. The first is 0 while the others are written.
    @usableFromInline static var local: Int { 0 }
    @usableFromInline static var localAddress: Int { 1 }
    @usableFromInline static var shared: Int { 2 }
    @usableFromInline static var sharedAddress: Int { 3 }
    /// The value's, or the address of the slots.
    @usableFromInline static var bits: Int { 4 }
    static let count = 5

    @inlinable
    static func fits<Value>(_ type: Value.Type) -> Bool {
        _isPOD(type) && MemoryLayout<Value>.size <= MemoryLayout<UInt64>.size
    }

    /// The value, if this thread finds the newest, be it in the word or in a slot.
    @inlinable
    func currentValue<Value>(as type: Value.Type) -> Value? {
        guard !Self.fits(type) else { return load(as: type) }
        guard let slot = takeCurrent() else { return nil }
        defer { slot.pointee.release() }
        // What is in the slots was put there by the box of the cell, which is one for values of this type; and one that is
        // the newest has content.
        let content = slot.pointee.content.unsafelyUnwrapped
        return content.assumingMemoryBound(to: CachedValue<Value>.self).pointee.value
    }

    /// The value, if it is in the word and the newest.
    @inlinable
    func load<Value>(as type: Value.Type) -> Value? {
        guard Self.fits(type), let words else { return nil }
        let local = words[Self.local].load(ordering: .acquiring)
        let shared = words[Self.shared].load(ordering: .acquiring)
        var bits = words[Self.bits].load(ordering: .acquiring)
        // Both lead to words that are there as long as the box, or nowhere, while the cell is empty.
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
        // The type is trivial and no larger than the word, so that the word's first bytes are a value of it.
        return withUnsafeBytes(of: &bits) { $0.load(as: type) }
    }
}

extension ValueCache {
    /// Makes an empty cell.
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

    /// A cell without memory, which never has a value.
    static let empty = ValueCache(localAddress: nil)

    /// Frees the memory: there is no other copy that is used any more.
    func deallocate<Value>(_ type: Value.Type) {
        if !Self.fits(type) { slots?.deallocate(type) }
        words?.deinitialize(count: Self.count)
        words?.deallocate()
    }

    /// Puts a value into the word.
    ///
    /// The caller sees to it that nobody else does at the same time.
    func store<Value>(_ value: Value, _ version: VersionStamp.Version) {
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
    /// Takes a slot with the newest value, if this thread's has it.
    ///
    /// - Returns: The slot, with content in it, to be given back as soon as the value is copied.
    @usableFromInline
    func takeCurrent() -> UnsafeMutablePointer<Stripe>? {
        guard let words, let slot = slots?.take() else { return nil }
        let localAddress = words[Self.localAddress].load(ordering: .relaxed)
        if slot.pointee.content != nil, slot.pointee.version.isCurrent(localAddress: localAddress) { return slot }
        slot.pointee.release()
        return nil
    }

    private var slots: StripedCache? {
        words.flatMap { StripedCache(address: $0[Self.bits].load(ordering: .acquiring)) }
    }

    /// The value in this thread's slot if it was decoded from the same; then it is as new as the version.
    func renewedValue<Value>(from stored: StoredValue?, _ version: VersionStamp.Version, as type: Value.Type) -> Value? {
        guard let slot = slots?.take() else { return nil }
        defer { slot.pointee.release() }
        // What is in the slots was put there by the box of the cell, which is one for values of this type.
        guard let content = slot.pointee.content?.assumingMemoryBound(to: CachedValue<Value>.self),
            content.pointee.stored == stored
        else { return nil }
        slot.pointee.version = version
        return content.pointee.value
    }

    /// Puts a value into this thread's slot.
    func store<Value>(_ value: Value, from stored: StoredValue?, _ version: VersionStamp.Version) {
        guard let slot = makeStripes()?.take() else { return }
        let old = slot.pointee.content
        slot.pointee.content = CachedValue(value, from: stored).allocate()
        slot.pointee.version = version
        slot.pointee.release()
        // Last: the end of a value of the user's may run code of theirs.
        CachedValue<Value>.free(old)
    }

    /// The slots, made if there are none yet.
    private func makeStripes() -> StripedCache? {
        guard let words else { return nil }
        if let slots { return slots }
        let new = StripedCache()
        let (isFirst, known) = words[Self.bits]
            .compareExchange(
                expected: 0,
                desired: new.address,
                ordering: .acquiringAndReleasing
            )
        guard !isFirst else { return new }
        new.deallocate(Never.self)
        return StripedCache(address: known)
    }
}
