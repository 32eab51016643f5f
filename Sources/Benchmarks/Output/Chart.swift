// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A bar chart of some rows, each beside its comparisons, with a logarithmic scale.
struct Chart {
    /// One measured operation.
    fileprivate struct Entry {
        var name: String
        var nanoseconds: Double
        /// Whether it is an operation of this library.
        var isSubject: Bool
    }

    private let entries: [Entry]
    private let caption: String

    private static let (width, labels, values) = (760.0, 330.0, 90.0)
    private static let (line, gap, top) = (20.0, 8.0, 16.0)

    /// Creates the chart of the rows whose results are times.
    init(_ report: Report) {
        entries = report.rows.flatMap(\.entries)
        caption = report.machine.description.split(separator: "\n").first.map(String.init) ?? ""
    }

    /// The chart as an SVG image, which needs no style sheet or font.
    func svg() -> String {
        var height = Self.top
        var shapes: [String] = []
        for (index, entry) in entries.enumerated() {
            if index > 0, entry.isSubject { height += Self.gap }
            shapes.append(bar(entry, at: height))
            height += Self.line
        }
        height += Self.gap + Self.line
        let width = Format.svg(Self.width)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(Format.svg(height))" width="\(width)" \
            font-family="sans-serif" font-size="13">
            <rect width="100%" height="100%" fill="#fff"/>
            \(shapes.joined(separator: "\n"))
            <text x="8" y="\(Format.svg(height - 8))" font-size="11" fill="#57606a">\(Self.escaped(caption)); \
            logarithmic scale</text>
            </svg>
            """
    }

    private func bar(_ entry: Entry, at y: Double) -> String {
        let length = max(2, position(of: entry.nanoseconds) * (Self.width - Self.labels - Self.values))
        let color = entry.isSubject ? "#0550ae" : "#afb8c1"
        let weight = entry.isSubject ? " font-weight=\"bold\"" : ""
        let text = y + Self.line - 6
        let (begin, end) = (Format.svg(Self.labels), Format.svg(Self.labels + length + 6))
        return """
            <text x="\(Format.svg(Self.labels - 8))" y="\(Format.svg(text))" text-anchor="end" fill="#1f2328"\(weight)>\
            \(Self.escaped(entry.name))</text>
            <rect x="\(begin)" y="\(Format.svg(y + 3))" width="\(Format.svg(length))" height="\(Format.svg(Self.line - 6))" \
            fill="\(color)"/>
            <text x="\(end)" y="\(Format.svg(text))" fill="#1f2328">\(Format.time(entry.nanoseconds))</text>
            """
    }

    /// The position of a time between half of the shortest and the longest one, from 0 to 1.
    private func position(of time: Double) -> Double {
        let times = entries.map(\.nanoseconds)
        guard let shortest = times.min(), let longest = times.max(), shortest > 0 else { return 0 }
        return log(time / (shortest / 2)) / log(longest / (shortest / 2))
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
    }
}

extension RowResult {
    /// The row's operation and its comparisons, each once.
    fileprivate var entries: [Chart.Entry] {
        guard let measurement, measurement.unit == .nanoseconds else { return [] }
        var entries = [Chart.Entry(name: name, nanoseconds: measurement.median, isSubject: true)]
        for comparison in comparisons {
            guard let name = comparison.with, let other = comparison.measurement, other.unit == .nanoseconds,
                !entries.contains(where: { $0.name == name })
            else { continue }
            entries.append(Chart.Entry(name: name, nanoseconds: other.median, isSubject: false))
        }
        return entries
    }
}

extension Format {
    /// A coordinate with one decimal.
    fileprivate static func svg(_ number: Double) -> String { String(format: "%.1f", number) }
}
