// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Numbers shared by all processes of a run: changes started, changes acknowledged, and values read.
///
/// The ledger is a file that every process maps. A number outlives the process that wrote it, like the bytes in a pipe,
/// and costs no system call. So a kill almost always hits an operation on the settings.
final class Ledger: Sendable {
    /// The kind of a number.
    ///
    /// Each area has rows, for writers or processes, and columns.
    enum Area: Int {
        /// Row 0: the phase of the run.
        case run
        /// By process: whether it has started and whether it is idle.
        case process
        /// By writer: the number of the last started change.
        case begun
        /// By writer: the number of the last change whose call has returned.
        case acknowledged
        /// By writer or process: operation counts.
        case done
        /// By process: the last value of a stream.
        case seen
        /// By writer: the value stored at the end.
        case stored
    }

    private static let rows = 64
    private static let columns = 16
    private static let areas = 8

    private let words: Words

    init(at path: String) throws {
        words = try Words(at: path, count: Self.areas * Self.rows * Self.columns)
    }

    subscript(area: Area, row: Int, column: Int = 0) -> Word {
        precondition((0..<Self.rows).contains(row) && (0..<Self.columns).contains(column))
        return words[(area.rawValue * Self.rows + row) * Self.columns + column]
    }

    /// The changes by one writer in one column.
    func tally(_ row: Int, _ column: Int = 0) -> Tally {
        Tally(begun: self[.begun, row, column], acknowledged: self[.acknowledged, row, column])
    }

    /// The sum of a column over all rows.
    func sum(_ area: Area, _ column: Int = 0) -> Int {
        (0..<Self.rows).reduce(0) { $0 + self[area, $1, column].value }
    }

    func clear() {
        words.clear()
    }
}

/// A memory-mapped file of numbers.
final class Words: Sendable {
    private let count: Int
    private let first: Word

    init(at path: String, count: Int) throws {
        let size = count * MemoryLayout<Int>.size
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(size)) == 0,
            let base = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), base != MAP_FAILED
        else { throw Failure("cannot map \(path): errno \(errno)") }
        close(descriptor)
        self.count = count
        // The mapping has this length, is page-aligned, and lives as long as the process.
        first = Word(base.bindMemory(to: Atomic<Int>.self, capacity: count))
    }

    subscript(index: Int) -> Word {
        precondition((0..<count).contains(index))
        return first.advanced(by: index)
    }

    func clear() {
        for index in 0..<count { self[index].value = 0 }
    }
}

/// A number that all processes share.
///
/// Unchecked: the pointer refers to an atomic in memory that is never released.
struct Word: @unchecked Sendable {
    private let pointer: UnsafeMutablePointer<Atomic<Int>>

    init(_ pointer: UnsafeMutablePointer<Atomic<Int>>) {
        self.pointer = pointer
    }

    var value: Int {
        get { pointer.pointee.load(ordering: .sequentiallyConsistent) }
        nonmutating set { pointer.pointee.store(newValue, ordering: .sequentiallyConsistent) }
    }

    func add(_ number: Int = 1) {
        pointer.pointee.add(number, ordering: .sequentiallyConsistent)
    }

    /// Replaces the number and returns the previous one.
    func exchange(_ number: Int) -> Int {
        pointer.pointee.exchange(number, ordering: .sequentiallyConsistent)
    }

    /// Replaces the number if the new one is larger.
    func raise(to number: Int) {
        pointer.pointee.max(number, ordering: .sequentiallyConsistent)
    }

    fileprivate func advanced(by count: Int) -> Word {
        Word(pointer + count)
    }
}

/// The changes by one writer in one column.
struct Tally {
    let begun: Word
    let acknowledged: Word

    /// Makes the next numbered change: 1, 2, 3 and so on.
    ///
    /// If the process is killed during the change, its number is used up.
    ///
    /// - Throws: The error of the change, which then counts as not made.
    func next(_ change: (Int) throws -> Void) throws {
        let number = begun.value + 1
        begun.value = number
        do {
            try change(number)
            acknowledged.value = number
        } catch {
            begun.value = number - 1
            throw error
        }
    }

    /// Makes one more counted change.
    ///
    /// If the process is killed during the change, it stays counted as started.
    ///
    /// - Throws: The error of the change, which then counts as not made.
    func increment<Result>(_ change: () throws -> Result) throws -> Result {
        begun.add()
        do {
            let result = try change()
            acknowledged.add()
            return result
        } catch {
            begun.add(-1)
            throw error
        }
    }
}
