// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The first page of a file, in memory that is shared with every process that maps it: an array of 8-byte words, each
/// read and written whole.
///
/// A file that somebody cuts short while it is mapped reads as zeros (see `BusErrors`).
///
/// Unchecked: the memory is only touched through atomics, and lasts as long as the page.
final class SharedPage: @unchecked Sendable {
    /// The length of the page, in bytes.
    static let size = 4_096

    /// Valid until the page is let go of; atomics, since other threads and processes use them at the same time.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let file: FileHandle
    private let system: SystemCalls
    /// Whether another process may write to a copy of the file, which this memory does not show.
    let mayBeSuperseded: Bool

    /// Maps the first page of a file.
    ///
    /// - Parameters:
    ///   - file: A file of at least ``size`` bytes.
    ///   - isWritable: Whether words are going to be stored.
    ///   - system: Makes the calls.
    /// - Throws: ``SystemError`` when it cannot be mapped.
    init(_ file: FileHandle, isWritable: Bool, _ system: SystemCalls) throws(SystemError) {
        // A file that is open for writing has been copied.
        mayBeSuperseded = !isWritable && system.isOnOverlay(file)
        let start = try system.mapShared(file, Self.size, isWritable: isWritable)
        // The memory is the page's own, and is used as words and as nothing else.
        words = start.bindMemory(to: Atomic<UInt64>.self, capacity: Self.size / 8)
        self.file = file
        self.system = system
        BusErrors.watch(start)
    }

    deinit {
        BusErrors.unwatch(UnsafeMutableRawPointer(words))
        system.unmap(UnsafeMutableRawPointer(words), Self.size)
    }

    /// Where a word of the page is in memory, as a number.
    func address(ofWord index: Int) -> UInt {
        UInt(bitPattern: words + index)
    }

    /// Maps the page in the place of another mapping, to be read there.
    func map(over start: UnsafeMutableRawPointer) -> Bool {
        SystemCalls.mapShared(file, over: start, Self.size)
    }

    /// Reads a word at an address that is mapped.
    static func load(at address: UInt) -> UInt64 {
        // Null is for no page, and is not followed.
        guard let word = UnsafePointer<Atomic<UInt64>>(bitPattern: address) else { return 0 }
        return word.pointee.load(ordering: .acquiring)
    }

    subscript(index: Int) -> UInt64 {
        get { words[index].load(ordering: .acquiring) }
        set { words[index].store(newValue, ordering: .releasing) }
    }

    /// Whether the file has another word than this memory, because another process has written to a copy of the file.
    ///
    /// - Parameter index: The word to compare.
    /// - Returns: Whether the file has to be mapped again. Also when the word cannot be read: opening the file again
    ///   throws the reason.
    func isSuperseded(at index: Int) -> Bool {
        guard mayBeSuperseded else { return false }
        let mapped = self[index]
        do {
            let bytes = try system.contents(of: file, in: index * 8..<index * 8 + 8)
            let stored = bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
            // The word in memory changes too where the file was copied before it was mapped.
            return stored != mapped && self[index] == mapped
        } catch {
            return true
        }
    }

    /// Tells a test that something was published.
    func didPublish() {
        system.didPublish(file.path)
    }
}

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
