// SPDX-License-Identifier: Apache-2.0

/// What a load came to.
struct LoadResult: Encodable {
    var processes = LoadPlan.processes
    var threads = LoadPlan.threads
    var seconds = 0.0
    var kills = 0
    var stops = 0
    /// How often each thing was done by processes that have noted it.
    var done: [String: Int] = [:]
    /// The longest time that a change took, stops of its process and turns of the processor included.
    var longestChange = 0.0
    /// From the moment that the last thread was at rest until every stream had given what is there.
    var convergence = 0.0
    var keys = 0
    /// Changes that were under way in processes that were killed.
    var underWay = 0

    mutating func count(_ ledger: Ledger) {
        for done in LoadPlan.Done.allCases where done != .longest {
            self.done["\(done)"] = ledger.sum(.done, done.rawValue)
        }
        longestChange =
            (0..<LoadPlan.writers).map { Double(ledger[.done, $0, LoadPlan.Done.longest.rawValue].value) / 1e6 }.max()
            ?? 0
        underWay = (0..<LoadPlan.column(ofSum: LoadPlan.sums))
            .reduce(0) {
                $0 + ledger.sum(.begun, $1) - ledger.sum(.acknowledged, $1)
            }
    }

    var description: String {
        let counts = LoadPlan.Done.allCases.compactMap { kind in
            done["\(kind)"].map { "\(Format.count($0)) \(kind)" }
        }
        return """
            load: \(processes) processes × \(threads) threads for \(Format.number(seconds)) s, \
            \(kills) kills, \(stops) stops
              \(counts.prefix(5).joined(separator: ", "))
              \(counts.dropFirst(5).joined(separator: ", "))
              \(Format.count(underWay)) changes under way in killed processes; the longest change \
            \(Format.number(longestChange * 1e3)) ms; streams were there after \(Format.number(convergence * 1e3)) ms
            """
    }
}
