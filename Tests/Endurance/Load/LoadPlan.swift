// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// Who does what under which keys.
enum LoadPlan {
    static let processes = 8
    static let threads = 4
    static let writers = processes * threads

    /// The last processes hold no suite for long, so that files are opened and closed all the time; the others watch.
    static let residents = 6

    /// The writer of a thread.
    static func writer(process: Int, thread: Int) -> Int {
        process * threads + thread
    }

    // MARK: - Sums

    /// Counters that only `update` changes, and a pair of keys that only transactions change, both at once.
    static let counters = 4
    static let pair = counters
    static let sums = counters + 1

    static let pairKeys = ("left", "right")

    /// A key that holds a sum.
    static func sumKey(_ sum: Int) -> String {
        sum == pair ? pairKeys.0 : "counter\(sum)"
    }

    /// The column of a sum in the ledger, behind the writers' own.
    static func column(ofSum sum: Int) -> Int {
        OwnKey.allCases.count + sum
    }

    // MARK: - Streams

    /// How many streams of one setting a resident has; one more is for the pair.
    static let watches = 4

    enum Watched {
        case number(writer: Int)
        case counter(Int)
    }

    static func watched(process: Int, _ watch: Int) -> Watched {
        watch == 0 ? .counter(process % counters) : .number(writer: (process * 5 + watch * 7) % writers)
    }

    // MARK: - The ledger

    /// How far the run is: row 0 of the area `run`.
    enum Phase: Int {
        case loading
        /// Threads end; streams go on.
        case resting
        /// Processes end.
        case leaving
    }

    /// By process.
    enum State {
        static let begun = 0
        static let isResting = 1
    }

    /// What is counted, by writer.
    enum Done: Int, CaseIterable {
        case sets
        case updates
        case transactions
        case reads
        case snapshots
        case opens
        case checkpoints
        case synchronizations
        case finishes
        /// By process.
        case changes
        /// Not a number of times: the longest time that a change took, in microseconds.
        case longest
    }
}

/// The keys that one thread has for itself, all of whose values follow from the number of the change.
enum OwnKey: Int, CaseIterable {
    /// Always the number.
    case number
    /// The number if it is odd, else nothing.
    case flag
    /// The number again and again: many lengths, some of them of several pages.
    case text

    func name(_ writer: Int) -> String {
        "\(self)\(writer)"
    }

    /// What is stored by a change.
    func stored(_ number: Int) -> StoredValue? {
        switch self {
        case .number: .integer(Int128(number))
        case .flag: number.isMultiple(of: 2) ? nil : .integer(Int128(number))
        case .text: .string(text(number))
        }
    }

    /// Whether a value may be there when the change `first` has returned and the change `last` was the last to begin.
    func admits(_ value: StoredValue?, from first: Int, to last: Int) -> Bool {
        guard let value else { return first == 0 || (self == .flag && (first < last || first.isMultiple(of: 2))) }
        let number =
            switch value {
            case .integer(let integer): Int(exactly: integer)
            case .string(let text): text.split(separator: " ", maxSplits: 1).first.flatMap { Int($0) }
            default: Int?.none
            }
        guard let number, first <= number, number <= last else { return false }
        return value == stored(number)
    }

    private func text(_ number: Int) -> String {
        let count = number.isMultiple(of: 97) ? 2_000 : 1 + number &* 31 % 60
        return Array(repeating: "\(number)", count: count).joined(separator: " ")
    }
}
