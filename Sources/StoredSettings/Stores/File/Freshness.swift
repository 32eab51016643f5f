// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Tells without a lock whether what a store has in memory is the newest.
///
/// Written under the store's lock; read by anybody.
final class Freshness: Sendable {
    /// Where the journal's published word is; 0 where there is none.
    private let address = Atomic<UInt>(0)
    /// What that word was when memory was brought up to it.
    private let seen = Atomic<UInt64>(0)
    private let current = Atomic<UInt64>(0)
    private let isLookDue = Atomic(false)
    /// The pages that `address` has led to, which a reader may be looking at until nobody uses the store.
    private let pages = Locked<[SharedPage]>([])

    /// The number of the contents in memory, if those are the newest.
    var generation: UInt64? {
        let address = address.load(ordering: .acquiring)
        let seen = seen.load(ordering: .acquiring)
        // The pages are kept for as long as this object, so the address is that of a page.
        guard address != 0, !isLookDue.load(ordering: .acquiring), SharedPage.load(at: address) == seen else {
            return nil
        }
        return current.load(ordering: .acquiring)
    }

    /// Where the journal's records end, as far as was seen, in bytes.
    var journalEnd: Int {
        Int(JournalGeneration(word: seen.load(ordering: .relaxed)).end)
    }

    /// Takes down what is in memory now.
    func update(_ page: SharedPage?, seen word: UInt64, generation: UInt64) {
        guard let page else {
            address.store(0, ordering: .releasing)
            current.store(generation, ordering: .releasing)
            return
        }
        let newAddress = page.address(ofWord: JournalHeader.generationWord)
        if address.load(ordering: .relaxed) != newAddress {
            address.store(0, ordering: .releasing)
            pages.withLock { pages in
                if !pages.contains(where: { $0 === page }) { pages.append(page) }
            }
        }
        // The number first: who finds the new word has the new number, or a later one.
        current.store(generation, ordering: .releasing)
        seen.store(word, ordering: .releasing)
        address.store(newAddress, ordering: .releasing)
    }

    /// Makes the next read look at the file.
    func mustLook() {
        isLookDue.store(true, ordering: .releasing)
    }

    /// Whether somebody wants the file looked at, and is now told that it is.
    func takeLookDue() -> Bool {
        guard isLookDue.load(ordering: .relaxed) else { return false }
        return isLookDue.exchange(false, ordering: .acquiring)
    }

    func close() {
        address.store(0, ordering: .releasing)
    }
}
