// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "Processes share one page of memory".

import Synchronization

/// The first page of a journal in shared memory: the words of its header.
///
/// The memory is shared with every process that maps the file. Each word is read and written atomically. If another
/// process truncates the file, the page reads as zeros (see `BusErrors`).
///
/// Unchecked: the memory is accessed only through atomics, and is mapped while the page exists.
package final class SharedPage: @unchecked Sendable {
    /// The size of the page, in bytes.
    static let size = 4_096

    /// The words of the page, mapped until the page is deallocated.
    ///
    /// They are atomics, because other threads and processes use them concurrently.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let file: FileHandle
    private let system: SystemCalls
    /// Whether another process may write to a copy of the file, which this memory does not show.
    let mayBeSuperseded: Bool

    /// Maps the first page of a file of at least ``size`` bytes.
    init(_ file: FileHandle, isWritable: Bool, _ system: SystemCalls) throws(SystemError) {
        // Opening a file for writing copies it to the upper layer, so a writable mapping is never outdated.
        mayBeSuperseded = !isWritable && system.isOnOverlay(file)
        let start = try system.mapShared(file, Self.size, isWritable: isWritable)
        // The memory belongs to this page alone, and is only accessed as words.
        words = start.bindMemory(to: Atomic<UInt64>.self, capacity: Self.size / 8)
        self.file = file
        self.system = system
        BusErrors.watch(start, SharedPage.size)
    }

    deinit {
        BusErrors.unwatch(UnsafeMutableRawPointer(words))
        system.unmap(UnsafeMutableRawPointer(words), Self.size)
    }

    /// The address of a word of the page.
    func address(of word: JournalHeader.Word) -> UInt {
        UInt(bitPattern: words + word.rawValue)
    }

    /// Replaces another mapping by a read-only mapping of this page.
    func map(over start: UnsafeMutableRawPointer) -> Bool {
        SystemCalls.mapShared(file, over: start, Self.size)
    }

    /// Reads the word at a mapped address; 0 for the address 0.
    static func load(at address: UInt) -> UInt64 {
        // The address 0 means that there is no page.
        guard let word = UnsafePointer<Atomic<UInt64>>(bitPattern: address) else { return 0 }
        return word.pointee.load(ordering: .acquiring)
    }

    package internal(set) subscript(word: JournalHeader.Word) -> UInt64 {
        get { words[word.rawValue].load(ordering: .acquiring) }
        set { words[word.rawValue].store(newValue, ordering: .releasing) }
    }

    /// One of several words that belong together.
    subscript(first: JournalHeader.Word, offset: Int) -> UInt64 {
        get { self[index: first.rawValue + offset] }
        set { self[index: first.rawValue + offset] = newValue }
    }

    subscript(index index: Int) -> UInt64 {
        get { words[index].load(ordering: .acquiring) }
        set { words[index].store(newValue, ordering: .releasing) }
    }

    /// Replaces a word if it has an expected value, and returns whether it had that value.
    @inline(__always)
    func exchange(_ expected: UInt64, for new: UInt64, in word: JournalHeader.Word) -> Bool {
        words[word.rawValue].compareExchange(expected: expected, desired: new, ordering: .sequentiallyConsistent)
            .exchanged
    }

    /// Stores a number in a word, or all bits if it contains another number.
    ///
    /// Later reads of other words by this thread see what other threads and processes stored before they read this word.
    func add(_ number: UInt64, to word: JournalHeader.Word) {
        let (isFirst, known) = words[word.rawValue]
            .compareExchange(expected: 0, desired: number, ordering: .sequentiallyConsistent)
        if !isFirst, known != number { words[word.rawValue].store(.max, ordering: .sequentiallyConsistent) }
        atomicMemoryFence(ordering: .sequentiallyConsistent)
    }

    /// Returns whether a word differs from the file, because another process has written to a copy of the file.
    ///
    /// - Returns: Whether the file must be mapped again. It is also `true` when the word cannot be read, because
    ///   opening the file again then throws the reason.
    func isSuperseded(at word: JournalHeader.Word) -> Bool {
        guard mayBeSuperseded else { return false }
        let mapped = self[word]
        guard let stored = storedWord(at: word) else { return true }
        // If the memory shows the current file, a concurrent change of the word reaches the memory too.
        return stored != mapped && self[word] == mapped
    }

    /// Reads a word from the file instead of the memory; `nil` when the file cannot be read.
    func storedWord(at word: JournalHeader.Word) -> UInt64? {
        do {
            let offset = word.rawValue * 8
            let bytes = try system.contents(of: file, in: offset..<offset + 8)
            return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        } catch {
            return nil
        }
    }

    /// Passes the stored words to the file, so that synchronizing the file includes them.
    func flush() throws(SystemError) {
        try system.flush(UnsafeMutableRawPointer(words), Self.size, of: file)
    }

    /// Notifies the witness of the system calls that a word was published, for tests.
    func didPublish() {
        system.didPublish(file.path)
    }
}

/// A stable address that shows the current shared page of a store, for readers that hold no lock.
///
/// A store has one window for its whole lifetime, even if its journal is replaced. A reader that has the address may
/// load from it at any time, so the address always stays mapped. The system replaces one mapping by another atomically,
/// so a load reads either the old or the new page.
///
/// The memory is mapped while the window exists, and is only loaded through atomics.
struct PageWindow: ~Copyable {
    private let start: UnsafeMutableRawPointer
    /// The page that is shown; `nil` initially, and after a page could not be mapped.
    private var page: SharedPage?

    /// Creates a window that shows zeros; `nil` when no memory is available.
    init?() {
        guard let start = SystemCalls.mapZeros(SharedPage.size) else { return nil }
        self.start = start
        BusErrors.watch(start, SharedPage.size)
    }

    deinit {
        BusErrors.unwatch(start)
        SystemCalls().unmap(start, SharedPage.size)
    }

    /// The address of a word of the current page, valid while the window exists.
    func address(of word: JournalHeader.Word) -> UInt {
        UInt(bitPattern: start) + UInt(word.rawValue * 8)
    }

    /// Shows a page.
    ///
    /// - Returns: Whether the page was newly mapped; `nil` when it cannot be mapped, and the window shows zeros.
    mutating func show(_ new: SharedPage) -> Bool? {
        // If the file was truncated in the meantime, the window shows zeros, even if the file is complete again.
        if page === new, SharedPage.load(at: address(of: .id)) == new[.id] { return false }
        page = nil
        guard new.map(over: start) else {
            hide()
            return nil
        }
        page = new
        return true
    }

    /// Shows zeros, and releases the page.
    mutating func hide() {
        _ = SystemCalls.mapZeros(at: UInt(bitPattern: start), SharedPage.size)
        page = nil
    }
}
