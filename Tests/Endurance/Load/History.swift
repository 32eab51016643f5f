// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

/// The checks: which values a read may return, given the ledger.
///
/// A check loads the acknowledged changes *before* a read and the started changes *after* it. The value has to lie
/// between them: a read in any process returns every acknowledged change, and no change that was not started.
struct History: Sendable {
    let ledger: Ledger
    let findings: Findings
    /// Whether the read may have used a finished suite, which returns its last contents.
    ///
    /// Called after the read.
    var mayBeFinished: @Sendable () -> Bool = { false }

    // MARK: - One key

    /// Checks a writer's own key.
    ///
    /// - Returns: The value.
    @discardableResult
    func check(_ key: OwnKey, of writer: Int, _ read: () throws -> StoredValue?) rethrows -> StoredValue? {
        let tally = ledger.tally(writer, key.rawValue)
        let first = tally.acknowledged.value
        let value = try read()
        expect(key, of: writer, value, from: first, to: tally.begun.value)
        return value
    }

    func check(sum: Int, _ read: () throws -> Int) rethrows {
        let column = LoadPlan.column(ofSum: sum)
        let first = ledger.sum(.acknowledged, column)
        let value = try read()
        expect(sum: sum, value, from: first, to: ledger.sum(.begun, column))
    }

    // MARK: - Snapshots

    /// Checks all keys at one moment.
    @discardableResult
    func check(snapshot read: () throws -> [String: StoredValue]) rethrows -> [String: StoredValue] {
        let (first, firstSums) = (numbers(.acknowledged), sums(.acknowledged))
        let contents = try read()
        let (last, lastSums) = (numbers(.begun), sums(.begun))
        for writer in 0..<LoadPlan.writers {
            for key in OwnKey.allCases {
                let (from, to) = (first[writer][key.rawValue], last[writer][key.rawValue])
                expect(key, of: writer, contents[key.name(writer)], from: from, to: to)
            }
        }
        for sum in 0..<LoadPlan.sums {
            expect(sum: sum, contents.integer(LoadPlan.sumKey(sum)), from: firstSums[sum], to: lastSums[sum])
        }
        expectWhole(contents[LoadPlan.pairKeys.0], contents[LoadPlan.pairKeys.1])
        return contents
    }

    /// Checks that a transaction was applied completely.
    func expectWhole(_ left: StoredValue?, _ right: StoredValue?) {
        if left != right { record("half a transaction: \(left.text) and \(right.text)") }
    }

    // MARK: - Bounds

    private func expect(_ key: OwnKey, of writer: Int, _ value: StoredValue?, from first: Int, to last: Int) {
        if key.admits(value, from: first, to: last) || mayBeFinished() { return }
        record("\(key.name(writer)) was \(value.text), with \(first) acknowledged before and \(last) started")
    }

    private func expect(sum: Int, _ value: Int, from first: Int, to last: Int) {
        if (first <= value && value <= last) || mayBeFinished() { return }
        record("\(LoadPlan.sumKey(sum)) was \(value), with \(first) acknowledged before and \(last) started")
    }

    private func numbers(_ area: Ledger.Area) -> [[Int]] {
        (0..<LoadPlan.writers).map { writer in OwnKey.allCases.map { ledger[area, writer, $0.rawValue].value } }
    }

    private func sums(_ area: Ledger.Area) -> [Int] {
        (0..<LoadPlan.sums).map { ledger.sum(area, LoadPlan.column(ofSum: $0)) }
    }

    func record(_ text: String) {
        findings.record("load, process \(getpid()): \(text)")
    }
}

extension Dictionary where Key == String, Value == StoredValue {
    /// The integer of a key; 0 if there is none.
    func integer(_ key: String) -> Int {
        guard case .integer(let integer)? = self[key] else { return 0 }
        return Int(exactly: integer) ?? 0
    }
}

extension StoredValue? {
    /// The start of a value of this run, for a finding.
    fileprivate var text: String {
        switch self {
        case nil: "nothing"
        case .integer(let integer)?: "\(integer)"
        case .string(let text)?: "'\(text.prefix(40))', \(text.utf8.count) bytes"
        case let other?: "\(other)"
        }
    }
}

/// The writer of each value of a sum: no two writers may reach the same value.
///
/// A range check of the sum alone could miss a lost update if a killed process had another update in progress. This
/// check cannot.
struct Claims {
    /// Larger values are not checked; no run reaches them.
    private static let limit = 1 << 20

    private let words: Words

    init(in directory: String) throws {
        words = try Words(at: "\(directory)/claims", count: Self.limit * LoadPlan.sums)
    }

    /// Records that a writer has reached a value.
    ///
    /// - Returns: The other writer that has reached it, if there is one.
    func claim(_ number: Int, ofSum sum: Int, by writer: Int) -> Int? {
        guard (0..<Self.limit).contains(number) else { return nil }
        let other = words[sum * Self.limit + number].exchange(writer + 1)
        return other == 0 ? nil : other - 1
    }
}
