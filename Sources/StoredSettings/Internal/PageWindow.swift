// SPDX-License-Identifier: Apache-2.0

/// A place in memory at which one shared page after another is seen, for readers that hold no lock.
///
/// A store has one for as long as it lives, however many journals it uses. A reader that holds its address may be about to
/// load from it at any time, so the address stays mapped: the system replaces one mapping there by another in one step,
/// and a load finds the old page or the new one.
///
/// The memory is mapped from the initializer until the deinitializer, and is only loaded from, through atomics.
struct PageWindow: ~Copyable {
    private let start: UnsafeMutableRawPointer
    /// The page that is seen; `nil` before the first, and while none could be mapped.
    private var page: SharedPage?

    /// Creates a window that shows zeros; `nil` when there is no memory for it.
    init?() {
        guard let start = SystemCalls.mapZeros(SharedPage.size) else { return nil }
        self.start = start
        BusErrors.watch(start)
    }

    deinit {
        BusErrors.unwatch(start)
        SystemCalls().unmap(start, SharedPage.size)
    }

    /// Where a word of the page is seen, for as long as the window exists.
    func address(ofWord index: Int) -> UInt {
        UInt(bitPattern: start) + UInt(index * 8)
    }

    /// Shows a page.
    ///
    /// - Returns: Whether it was not shown before; `nil` when it cannot be shown, and the window shows zeros.
    mutating func show(_ new: SharedPage) -> Bool? {
        // It shows zeros when the file was cut off meanwhile, even if it is whole again.
        let word = JournalHeader.idWord
        if page === new, SharedPage.load(at: address(ofWord: word)) == new[word] { return false }
        page = nil
        guard new.map(over: start) else {
            _ = SystemCalls.mapZeros(at: UInt(bitPattern: start), SharedPage.size)
            return nil
        }
        page = new
        return true
    }
}
