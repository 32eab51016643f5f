// SPDX-License-Identifier: Apache-2.0

extension Report {
    private static let heads = ["operation", "median", "p99", "beside", "its median", "ratio", "bar", ""]

    /// The report for people: the machine, a table, and the missed bars.
    func table() -> String {
        let lines = [Self.heads] + rows.flatMap(\.lines)
        let widths = Self.heads.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let rule = "|" + widths.map { " " + String(repeating: "-", count: $0) + " |" }.joined()
        var text = lines.map { line in
            "|" + zip(line, widths).map { " " + $0.padded(to: $1) + " |" }.joined()
        }
        text.insert(rule, at: 1)
        return ([machine.description, ""] + text + [""] + verdict).joined(separator: "\n")
    }

    private var verdict: [String] {
        let judged = rows.flatMap { row in row.comparisons.filter { $0.isMet != nil }.map { (row, $0) } }
        let missed = judged.filter { $1.isMet == false }
        let failures = rows.compactMap { row in row.failure.map { "NOT MEASURED: \(row.name): \($0)" } }
        guard !judged.isEmpty else { return ["No bar was checked."] + failures }
        guard !missed.isEmpty else { return ["All \(judged.count) bars are met."] + failures }
        return ["\(missed.count) of \(judged.count) bars are MISSED:"]
            + missed.map { row, comparison in
                let other = comparison.with.map { " beside \($0)" } ?? ""
                return "  \(row.name): \(comparison.finding)\(other); the bar is \(comparison.bar ?? "–")"
            } + failures
    }
}

extension RowResult {
    /// The row's lines in the table, one for each comparison.
    fileprivate var lines: [[String]] {
        guard let measurement else { return [[name, "–", "–", "–", "–", "–", "–", "NOT MEASURED"]] }
        let own = [name, Format.figure(measurement.median, measurement.unit), measurement.p99.map(Format.time) ?? "–"]
        guard !comparisons.isEmpty else { return [own + ["–", "–", "–", "–", ""]] }
        return comparisons.enumerated()
            .map { index, comparison in
                (index == 0 ? own : ["", "", ""]) + [
                    comparison.with ?? "–",
                    comparison.measurement.map { Format.figure($0.median, $0.unit) } ?? "–",
                    comparison.finding,
                    comparison.bar ?? "–",
                    comparison.isMet.map { $0 ? "met" : "MISSED" } ?? "",
                ]
            }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(width - count, 0))
    }
}
