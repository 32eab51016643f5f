// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Tells without a lock whether what was read from a store is still the newest.
///
/// What was read is as new as a *version* that was taken with it. A version is outrun by one of two words: the *local* one,
/// which changes with whatever this process knows to have changed, and the *shared* one, which other processes change.
/// The store writes under its lock; anybody reads.
///
/// Unchecked: the two words that are allocated here are only touched through atomics, and last as long as this object.
final class VersionStamp: @unchecked Sendable {
    struct Version: Equatable {
        /// The local word; 0 for a version that is never current.
        var local: UInt64
        /// Where the shared word is, and what it was.
        var address: UInt64
        var shared: UInt64

        /// Whether nothing has changed since the version was taken.
        ///
        /// - Parameter localAddress: That of the object that gave the version, which is still there.
        /// - Returns: Whether what was read then is the newest.
        func isCurrent(localAddress: UInt64) -> Bool {
            SharedPage.load(at: UInt(address)) == shared && SharedPage.load(at: UInt(localAddress)) == local
        }
    }

    /// The local word, and one that stands for the shared word of a store that shares nothing.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>

    /// Where the shared word is.
    private let address: Atomic<UInt64>
    /// What the shared word was when memory was brought up to it.
    private let seen = Atomic<UInt64>(0)
    private let current = Atomic<UInt64>(0)
    /// At first, so that the first read looks.
    private let isLookDue = Atomic(true)
    /// Where a page that is shared with other processes is seen, once there is one.
    private let window = Locked<PageWindow?>(nil)

    init() {
        words = .allocate(capacity: 2)
        words.initialize(to: Atomic(1))
        (words + 1).initialize(to: Atomic(0))
        address = Atomic(UInt64(UInt(bitPattern: words + 1)))
    }

    deinit {
        words.deinitialize(count: 2)
        words.deallocate()
    }

    /// Where the local word is, for as long as this object.
    var localAddress: UInt64 { UInt64(UInt(bitPattern: words)) }

    /// What a reader who holds the store's lock has read is as new as this.
    var version: Version {
        // Where no thread can watch the file, every read is to look: 0 is never current.
        Version(
            local: WorkScheduler.shared.isStarved ? 0 : words[0].load(ordering: .acquiring),
            address: address.load(ordering: .acquiring),
            shared: seen.load(ordering: .acquiring)
        )
    }

    /// Whether nothing has changed since a version was taken.
    func isCurrent(_ version: Version) -> Bool {
        version.isCurrent(localAddress: localAddress)
    }

    /// The number of the contents in memory, if those are the newest.
    var contentsVersion: UInt64? {
        let version = version
        guard !isLookDue.load(ordering: .acquiring), isCurrent(version) else { return nil }
        return current.load(ordering: .acquiring)
    }

    /// Where the journal's records end, as far as was seen, in bytes.
    var journalEnd: Int {
        Int(JournalPosition(word: seen.load(ordering: .relaxed)).end)
    }
}

// MARK: - Changes

extension VersionStamp {
    /// Outruns all versions.
    func invalidate() {
        words[0].add(1, ordering: .sequentiallyConsistent)
    }

    /// Takes down what is in memory now.
    ///
    /// - Parameters:
    ///   - page: The page that is shared with other processes, if there is one.
    ///   - word: What its word was.
    ///   - version: The number of the contents.
    func update(_ page: SharedPage?, seen word: UInt64, version: UInt64) {
        var address = UInt64(UInt(bitPattern: words + 1))
        var word = page == nil ? 0 : word
        var isOther = false
        if let page {
            if !page.mayBeSuperseded, let (shown, isNew) = show(page) {
                (address, isOther) = (shown, isNew)
            } else {
                // The other word is 0, so every read asks the store.
                word = 1
            }
        }
        if self.address.load(ordering: .relaxed) != address { isOther = true }
        let isChanged = current.load(ordering: .relaxed) != version
        guard isOther || isChanged || seen.load(ordering: .relaxed) != word else { return }
        // The number first: who finds the new word has the new number, or a later one.
        current.store(version, ordering: .releasing)
        self.address.store(address, ordering: .releasing)
        seen.store(word, ordering: .releasing)
        // Last: who took a version of both old and new words is outrun.
        if isOther || isChanged { invalidate() }
    }

    /// Makes the shared word of a page seen where versions have it.
    ///
    /// - Returns: Its address, and whether another page was seen there before; `nil` when that is impossible.
    private func show(_ page: SharedPage) -> (address: UInt64, isNew: Bool)? {
        window.withLock { window in
            if window == nil { window = PageWindow() }
            guard let isNew = window?.show(page),
                let address = window?.address(ofWord: JournalHeader.positionWord)
            else { return nil }
            return (UInt64(address), isNew)
        }
    }

    /// Makes the next read look at the file.
    func mustLook() {
        isLookDue.store(true, ordering: .releasing)
        invalidate()
    }

    /// Whether somebody wants the file looked at, and is now told that it is.
    func takeLookDue() -> Bool {
        guard isLookDue.load(ordering: .relaxed) else { return false }
        return isLookDue.exchange(false, ordering: .acquiring)
    }

    func close() {
        address.store(UInt64(UInt(bitPattern: words + 1)), ordering: .releasing)
        seen.store(0, ordering: .releasing)
        invalidate()
    }
}

/// A store that tells without a lock, and without a call, whether what was read from it is still the newest.
protocol VersionedStore: SettingsStore {
    /// Its versions are as new as what is read in ``SettingsStore/withValue(forKey:_:)``, when taken there.
    var versionStamp: VersionStamp { get }
}
