// SPDX-License-Identifier: Apache-2.0

/// The results of a load.
struct LoadResult {
    var processes = LoadPlan.processes
    var threads = LoadPlan.threads
    var seconds = 0.0
    var kills = 0
    var stops = 0
    /// The recorded number of operations, by name.
    var done: [String: Int] = [:]
    /// The longest duration of a change, including stops of its process and time without a processor.
    var longestChange = 0.0
    /// The time from the end of the last thread until every stream had delivered the final values.
    var convergence = 0.0
    var keys = 0
    /// Changes in progress in processes that were killed.
    var unfinished = 0

    mutating func count(_ ledger: Ledger) {
        for done in LoadPlan.Done.allCases where done != .longest {
            self.done["\(done)"] = ledger.sum(.done, done.rawValue)
        }
        longestChange =
            (0..<LoadPlan.writers).map { Double(ledger[.done, $0, LoadPlan.Done.longest.rawValue].value) / 1e6 }.max()
            ?? 0
        unfinished = (0..<LoadPlan.column(ofSum: LoadPlan.sums))
            .reduce(0) {
                $0 + ledger.sum(.begun, $1) - ledger.sum(.acknowledged, $1)
            }
    }

    var description: String {
        let counts = LoadPlan.Done.allCases.compactMap { kind in
            done["\(kind)"].map { "\($0) \(kind)" }
        }
        return """
            load: \(processes) processes × \(threads) threads for \(Format.number(seconds)) s, \
            \(kills) kills, \(stops) stops
              \(counts.prefix(5).joined(separator: ", "))
              \(counts.dropFirst(5).joined(separator: ", "))
              \(unfinished) unfinished changes in killed processes; the longest change \
            \(Format.number(longestChange * 1e3)) ms; streams converged after \(Format.number(convergence * 1e3)) ms
            """
    }
}
