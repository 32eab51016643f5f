// SPDX-License-Identifier: Apache-2.0

import Foundation

/// All findings of a run.
struct Report {
    var seed: UInt64
    var kill: Kill.Result?
    var load: LoadResult?
    var reads: Reads.Result?
    #if os(Linux)
    var steps: Steps.Result?
    #endif
    /// The failed checks.
    var findings: [String] = []

    init(seed: UInt64) {
        self.seed = seed
    }

    var isClean: Bool { findings.isEmpty }

    var description: String {
        var parts = [kill?.description, load?.description, reads?.description]
        #if os(Linux)
        parts.append(steps?.description)
        #endif
        let end = isClean ? "All checks passed." : "FAILED, \(findings.count) findings:"
        let lines = findings.prefix(40).map { "  \($0)" }
        return (["seed \(seed)"] + parts.compactMap(\.self) + [end] + lines).joined(separator: "\n")
    }
}

/// Formats numbers for people.
enum Format {
    /// A number with at least three significant digits.
    static func number(_ number: Double) -> String {
        let digits = number < 10 ? 2 : number < 100 ? 1 : 0
        return String(format: "%.\(digits)f", number)
    }
}
