// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Journal-and-locks.md, "Short records are copied into shared memory".

import Synchronization

/// The part of a journal's file into which records are copied without a system call: a mapping that all processes share.
///
/// The file system allocates the space in advance, so a full disk is met there and not by the copy. If the file is
/// truncated nevertheless, or the file system has not kept its promise, the copy fails like a write.
///
/// Unchecked: the memory is mapped while this object exists, and only the thread that holds the journal's lock writes to
/// it. No thread reads it.
final class RecordSpace: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    private let file: FileHandle
    private let page: SharedPage
    private let system: SystemCalls

    /// The result of copying a record.
    enum Copy {
        case done
        /// The record has to be written.
        case noSpace
        /// The file no longer has the space, so that it has to be examined.
        case lost
    }

    /// The length of the mapping, in bytes.
    ///
    /// It is more than the usual length of a journal. Later records are written.
    private static let length = 1 << 23
    /// The space to allocate at once.
    ///
    /// It is less than ``Journal/keptSize``, so that a checkpoint does not free it.
    private static let step = 1 << 15

    /// Maps a journal.
    ///
    /// The caller holds the journal's lock.
    ///
    /// - Throws: ``SystemError`` when the file cannot be mapped.
    init(_ file: FileHandle, _ page: SharedPage, _ system: SystemCalls) throws(SystemError) {
        (self.file, self.page, self.system) = (file, page, system)
        start = try system.mapShared(file, Self.length, isWritable: true)
        BusErrors.watch(start, Self.length)
    }

    deinit {
        BusErrors.unwatch(start)
        system.unmap(start, Self.length)
    }

    /// Copies a record into the file.
    ///
    /// The caller holds the journal's lock.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - offset: The offset in the file, which is not within its first page.
    /// - Returns: The result.
    /// - Throws: ``SystemError`` if the file cannot be examined, or a test makes the copy fail.
    func copy(_ record: UnsafeRawBufferPointer, to offset: Int) throws(SystemError) -> Copy {
        let end = offset + record.count
        guard end <= Self.length else { return .noSpace }
        if UInt64(end) > page[.allocated] {
            // If the file was truncated within its header, the word is 0 as well.
            guard file.isOpen, try system.status(of: file).size >= offset else { return .lost }
            guard allocate(to: end) else { return .noSpace }
        }
        let errors = BusErrors.count
        // A test can make this fail like a write. The bytes are within the mapping.
        _ = try system.call(.write, file.path) {
            let target = UnsafeMutableRawBufferPointer(start: start + offset, count: record.count)
            target.copyMemory(from: record)
            return 0
        }
        // The number is read after the copy.
        atomicMemoryFence(ordering: .acquiringAndReleasing)
        return BusErrors.count == errors ? .done : .lost
    }

    /// Makes space writable again after it was written to the disk.
    ///
    /// The first store to such a page makes its thread wait for the file system: for 2.3 µs on ext4, several times as long as a
    /// set. Any thread may call this, without a lock. No byte is changed. After a failure, the next copy waits.
    ///
    /// - Parameter offset: The offset of the next record.
    func prepare(at offset: Int) {
        let end = min(offset + SharedPage.size, Int(clamping: page[.allocated]), Self.length)
        if offset < end { system.makeWritable(start + offset, end - offset) }
    }

    /// Allocates space for a record and further ones.
    ///
    /// - Returns: Whether that has succeeded. If not, there may still be space for the record.
    private func allocate(to end: Int) -> Bool {
        let newEnd = min((end + Self.step) / SharedPage.size * SharedPage.size + SharedPage.size, Self.length)
        do {
            // From the first byte: a copy of the file may have holes.
            try system.allocate(0..<newEnd, of: file)
            page[.allocated] = UInt64(newEnd)
            return true
        } catch {
            return false
        }
    }
}
