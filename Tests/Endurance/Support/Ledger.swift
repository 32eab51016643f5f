// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Numbers that all processes of a run share: what is about to be done, what has been done, and what was seen.
///
/// It is a file that every process maps, so that a number outlives the process that wrote it, as the bytes in a pipe
/// do, and costs no system call: a process that is killed is then killed in what it does with the settings.
final class Ledger: Sendable {
    /// What a number is about.
    ///
    /// Each has rows, for writers or processes, and columns.
    enum Area: Int {
        /// Row 0: how far the run is.
        case run
        /// By process: whether it has begun and whether it has come to rest.
        case process
        /// By writer: the change that is about to be made.
        case begun
        /// By writer: the change whose call has returned.
        case acknowledged
        /// By writer or process: how often something was done.
        case done
        /// By process: what a stream has given last.
        case seen
        /// By writer: what was found in the end.
        case kept
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

    /// What one writer has done of one thing.
    func tally(_ row: Int, _ column: Int = 0) -> Tally {
        Tally(begun: self[.begun, row, column], acknowledged: self[.acknowledged, row, column])
    }

    /// All that one writer or process has done of one thing, of all rows.
    func sum(_ area: Area, _ column: Int = 0) -> Int {
        (0..<Self.rows).reduce(0) { $0 + self[area, $1, column].value }
    }

    func clear() {
        words.clear()
    }
}

/// A file of numbers, mapped.
final class Words: Sendable {
    private let count: Int
    private let first: Word

    init(at path: String, count: Int) throws {
        let size = count * MemoryLayout<Int>.size
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(size)) == 0,
            let base = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), base != MAP_FAILED
        else { throw Failure("cannot map \(path): error \(errno)") }
        close(descriptor)
        self.count = count
        // The mapping is as long as it is told here, aligned to a page, and stays for as long as the process.
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

/// One number that all processes share.
///
/// The pointer is unchecked because it leads to an atomic, and to memory that is never given back.
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

    /// Puts a number in another one's place, and gives the other.
    func exchange(_ number: Int) -> Int {
        pointer.pointee.exchange(number, ordering: .sequentiallyConsistent)
    }

    /// Keeps the larger number.
    func raise(to number: Int) {
        pointer.pointee.max(number, ordering: .sequentiallyConsistent)
    }

    fileprivate func advanced(by count: Int) -> Word {
        Word(pointer + count)
    }
}

/// The changes of one thing by one writer.
struct Tally {
    let begun: Word
    let acknowledged: Word

    /// Makes the next change of those that are numbered: 1, 2, 3 and so on.
    ///
    /// A change that was under way when its process was killed keeps its number, made or not.
    ///
    /// - Throws: What the change throws, which is then taken for not made.
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

    /// Makes one more change of those that are only counted.
    ///
    /// A change that was under way when its process was killed stays begun, made or not.
    ///
    /// - Throws: What the change throws, which is then taken for not made.
    func oneMore<Result>(_ change: () throws -> Result) throws -> Result {
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
