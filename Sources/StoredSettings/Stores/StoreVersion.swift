// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Shows without a lock whether values that were read from a store are still current.
///
/// A store that changes only through its own object creates one, and calls ``invalidate()`` with every change. Any thread may use it.
///
/// A reader takes a *version* together with the values. Two words invalidate a version when they change. The *local*
/// word changes with every change that this process knows of. Other processes change the *shared* word. The store
/// writes the local word under its lock; any thread reads it.
///
/// Unchecked `Sendable`: the two words allocated here are accessed only through atomics and are freed only in `deinit`.
public final class StoreVersion: @unchecked Sendable {
    @usableFromInline
    package struct Version: Equatable {
        /// The local word; 0 for a version that is never current.
        @usableFromInline let local: UInt64
        /// The address of the shared word, and its value.
        @usableFromInline let address: UInt64
        @usableFromInline let shared: UInt64

        @inlinable
        init(local: UInt64, address: UInt64, shared: UInt64) {
            (self.local, self.address, self.shared) = (local, address, shared)
        }

        /// The version of values that must not be cached.
        var outdated: Self { Self(local: 0, address: address, shared: shared) }

        /// Returns whether nothing has changed since the version was taken.
        ///
        /// - Parameter localAddress: The local address of the object that returned the version, which must still exist.
        /// - Returns: Whether the values that were read then are current.
        func isCurrent(localAddress: UInt64) -> Bool {
            SharedPage.load(at: UInt(address)) == shared && SharedPage.load(at: UInt(localAddress)) == local
        }
    }

    /// The local word, and a constant 0 that replaces the shared word of a store that shares nothing.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>

    /// The address of the shared word.
    private let address: Atomic<UInt64>
    /// The shared word that the contents in memory correspond to.
    private let seen = Atomic<UInt64>(0)
    private let current = Atomic<UInt64>(0)
    /// Initially `true` for a store that looks at a file, so that the first read does.
    private let isLookDue: Atomic<Bool>
    /// Whether the store looks at a file, and then calls ``takeLookDue()``.
    private let isLooking: Bool
    /// Whether the store's observer needs changes of this process.
    ///
    /// An engine without subscribers and pending writes needs none. The flag changes only while the store's lock is held.
    let needsChanges = Atomic(true)
    /// The mapping of the page that is shared with other processes, once there is one.
    private let window = Locked<PageWindow?>(nil)

    /// Creates the version of a store that looks at no file.
    public convenience init() {
        self.init(isLooking: false)
    }

    /// - Parameter isLooking: Whether the store looks at a file.
    init(isLooking: Bool) {
        self.isLooking = isLooking
        isLookDue = Atomic(isLooking)
        words = .allocate(capacity: 2)
        words.initialize(to: Atomic(1))
        (words + 1).initialize(to: Atomic(0))
        address = Atomic(UInt64(UInt(bitPattern: words + 1)))
    }

    deinit {
        words.deinitialize(count: 2)
        words.deallocate()
    }

    /// The address of the local word, valid while this object exists.
    var localAddress: UInt64 { UInt64(UInt(bitPattern: words)) }

    /// The version of the values that a reader obtains while it holds the store's lock.
    package var version: Version {
        // First: a call of ``mustLook()`` that sets the flag after it was read also changes this word.
        let local = words[0].load(ordering: .acquiring)
        // When no thread can watch the file, every read has to look at it: 0 is never current.
        let mustLook = isLookDue.load(ordering: .acquiring) || WorkScheduler.shared.isStarved
        return Version(
            local: mustLook ? 0 : local,
            address: address.load(ordering: .acquiring),
            shared: seen.load(ordering: .acquiring)
        )
    }

    /// Returns whether nothing has changed since a version was taken.
    package func isCurrent(_ version: Version) -> Bool {
        version.isCurrent(localAddress: localAddress)
    }

    /// Whether the contents in memory are current.
    var areContentsCurrent: Bool { isCurrent(version) }

    /// The shared word that the contents in memory correspond to.
    var seenWord: UInt64 { seen.load(ordering: .relaxed) }
}

// MARK: - Changes

extension StoreVersion {
    /// Makes cached values outdated.
    ///
    /// Call it under the lock under which a change is recorded, when a read can see the change. It takes about 10 ns.
    public func invalidate() {
        words[0].add(1, ordering: .sequentiallyConsistent)
    }

    /// Publishes the state of the contents in memory.
    ///
    /// - Parameters:
    ///   - page: The page that is shared with other processes, if there is one.
    ///   - word: The shared word that the contents correspond to.
    ///   - version: The version of the contents.
    func update(_ page: SharedPage?, seen word: UInt64, version: UInt64) {
        var address = UInt64(UInt(bitPattern: words + 1))
        var word = page == nil ? 0 : word
        var isOther = false
        if let page {
            if !page.mayBeSuperseded, let (shown, isNew) = show(page) {
                (address, isOther) = (shown, isNew)
            } else {
                // The constant word is 0, so every read asks the store.
                word = 1
            }
        }
        if self.address.load(ordering: .relaxed) != address { isOther = true }
        let isChanged = current.load(ordering: .relaxed) != version
        guard isOther || isChanged || seen.load(ordering: .relaxed) != word else { return }
        // The version first: a reader that finds the new word also finds the new version, or a later one.
        current.store(version, ordering: .releasing)
        self.address.store(address, ordering: .releasing)
        seen.store(word, ordering: .releasing)
        // Last: this invalidates a version that was taken of both old and new words.
        if isOther || isChanged { invalidate() }
    }

    /// Publishes a change of the contents in memory, which were current, through the page that is shown.
    ///
    /// - Parameters:
    ///   - word: The shared word that the contents correspond to.
    ///   - version: The version of the contents.
    func advance(toSeen word: UInt64, version: UInt64) {
        // In the order of ``update(_:seen:version:)``.
        current.store(version, ordering: .releasing)
        seen.store(word, ordering: .releasing)
        invalidate()
    }

    /// Whether the contents in memory were current when a word was the shared one, and no look at the file is due.
    func isCurrent(atSeen word: UInt64, version: UInt64) -> Bool {
        !isLookDue.load(ordering: .acquiring) && seen.load(ordering: .relaxed) == word
            && current.load(ordering: .relaxed) == version
    }

    /// Maps a page at the address that versions contain.
    ///
    /// - Returns: The address of its shared word, and whether another page was mapped there before; `nil` when mapping
    ///   fails.
    private func show(_ page: SharedPage) -> (address: UInt64, isNew: Bool)? {
        window.withLock { window in
            if window == nil { window = PageWindow() }
            guard let isNew = window?.show(page),
                let address = window?.address(of: .position)
            else { return nil }
            return (UInt64(address), isNew)
        }
    }

    /// Makes the next read look at the file, if the store has one, and invalidates all versions.
    func mustLook() {
        if isLooking { isLookDue.store(true, ordering: .releasing) }
        invalidate()
    }

    /// Returns whether a look at the file is due, and marks it as done.
    func takeLookDue() -> Bool {
        guard isLookDue.load(ordering: .relaxed) else { return false }
        return isLookDue.exchange(false, ordering: .acquiring)
    }

    /// Makes the contents in memory the last ones, and releases the page.
    func close() {
        address.store(UInt64(UInt(bitPattern: words + 1)), ordering: .releasing)
        seen.store(0, ordering: .releasing)
        invalidate()
        window.withLock { $0?.hide() }
    }
}
