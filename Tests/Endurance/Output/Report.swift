// SPDX-License-Identifier: Apache-2.0

import Foundation

/// All findings of a run.
struct Report: Encodable {
    var machine: Machine
    var seed: UInt64
    var kill: Kill.Result?
    var increments: Increments.Result?
    var load: LoadResult?
    var reads: Reads.Result?
    #if os(Linux)
    var steps: Steps.Result?
    #endif
    /// The failed checks.
    var findings: [String] = []

    init(machine: Machine, seed: UInt64) {
        (self.machine, self.seed) = (machine, seed)
    }

    var isClean: Bool { findings.isEmpty }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    var description: String {
        var parts = [kill?.description, increments?.description, load?.description, reads?.description]
        #if os(Linux)
        parts.append(steps?.description)
        #endif
        let end = isClean ? "All checks passed." : "FAILED, \(findings.count) findings:"
        let lines = findings.prefix(40).map { "  \($0)" }
        let start = machine.description + "; seed \(seed)"
        return ([start] + parts.compactMap(\.self) + [end] + lines).joined(separator: "\n")
    }
}

/// Formats numbers for people.
enum Format {
    /// A number with at least three significant digits.
    static func number(_ number: Double) -> String {
        let digits = number < 10 ? 2 : number < 100 ? 1 : 0
        return String(format: "%.\(digits)f", number)
    }

    /// A count with thousands separators.
    static func count(_ count: Int) -> String {
        let digits = Array(String(count))
        let groups = stride(from: digits.count, to: 0, by: -3).map { String(digits[max(0, $0 - 3)..<$0]) }
        return groups.reversed().joined(separator: ",")
    }
}
