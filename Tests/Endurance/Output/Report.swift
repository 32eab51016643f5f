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
        let parts = [kill?.description, increments?.description, load?.description, reads?.description]
            .compactMap { $0 }
        let end = isClean ? "All checks passed." : "FAILED, \(findings.count) findings:"
        let lines = findings.prefix(40).map { "  \($0)" }
        return ([machine.description + "; seed \(seed)"] + parts + [end] + lines).joined(separator: "\n")
    }
}
