// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// The assignment of keys and operations to processes and threads.
enum LoadPlan {
    static let processes = 8
    static let threads = 4
    static let writers = processes * threads

    /// The other processes only hold a suite for short times, so that files are opened and closed all the time;
    /// residents watch.
    static let residents = 6

    /// The writer number of a thread.
    static func writer(process: Int, thread: Int) -> Int {
        process * threads + thread
    }

    // MARK: - Sums

    /// Counters that only `update` changes, and a pair of keys that only transactions change together.
    static let counters = 4
    static let pair = counters
    static let sums = counters + 1

    static let pairKeys = ("left", "right")

    static func sumKey(_ sum: Int) -> String {
        sum == pair ? pairKeys.0 : "counter\(sum)"
    }

    /// The column of a sum in the ledger, after the writers' own keys.
    static func column(ofSum sum: Int) -> Int {
        OwnKey.allCases.count + sum
    }

    // MARK: - Streams

    /// The number of streams of single settings per resident; there is one more for the pair.
    static let watches = 4

    enum Watched {
        case number(writer: Int)
        case counter(Int)
    }

    static func watched(process: Int, _ watch: Int) -> Watched {
        watch == 0 ? .counter(process % counters) : .number(writer: (process * 5 + watch * 7) % writers)
    }

    // MARK: - The ledger

    /// The phase of the run: row 0 of the area `run`.
    enum Phase: Int {
        case loading
        /// Threads end; streams continue.
        case draining
        /// Processes end.
        case ending
    }

    /// The columns of the area `process`.
    enum State {
        static let begun = 0
        static let isIdle = 1
    }

    /// The operations that are counted, by writer.
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
        /// The longest duration of a change in microseconds, not a count.
        case longest
    }
}

/// The keys that belong to one thread; the number of the change determines their values.
enum OwnKey: Int, CaseIterable {
    /// Always the number.
    case number
    /// The number if it is odd, otherwise no value.
    case flag
    /// The number repeated: many lengths, some of several pages.
    case text

    func name(_ writer: Int) -> String {
        "\(self)\(writer)"
    }

    /// The value that a change stores.
    func stored(_ number: Int) -> StoredValue? {
        switch self {
        case .number: .integer(Int128(number))
        case .flag: number.isMultiple(of: 2) ? nil : .integer(Int128(number))
        case .text: .string(text(number))
        }
    }

    /// Whether a read may return a value, given the last acknowledged change before it and the last started change
    /// after it.
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
