// SPDX-License-Identifier: Apache-2.0

/// The options of the command line.
struct Options {
    var isHelpWanted = false
    var isJSON = false
    var isChart = false
    var filter = ""
    /// The address of a server of etcd; `nil` without the rows that need one.
    var etcd: String?
    var effort = Effort.full
    /// The number of runs per row without measuring; `nil` to measure.
    var count: Int?

    static let help = """
        Usage: swift run -c release Benchmarks [options]

        Measures the library. Each operation alternates with its floor; the output shows medians, ratios
        and bars. Missed bars are listed, but do not change the exit code.

          --filter TEXT   only rows whose group or name contains TEXT, or one of several with |
                          between them; case is ignored
          --etcd ADDRESS  also measure suites in this etcd, such as http://127.0.0.1:2379
          --quick         fewer and shorter passes: under 20 seconds, and noisier
          --json          print one JSON object instead of the table, in nanoseconds and bytes
          --chart         print a chart as SVG instead of the table
          --count N       run each row's operation N times without measuring, to count instructions
          --help          show this help

        Files are written to a new directory in $TMPDIR or /tmp, which is removed at the end. Rows that
        wait for the disk are meaningless on a file system in memory.

        Rows:

        """ + Rows.all.map { "  \($0.group): \($0.name)" }.joined(separator: "\n")

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": isHelpWanted = true
            case "--json": isJSON = true
            case "--chart": isChart = true
            case "--quick": effort = .quick
            case "--filter": filter = try Self.value(of: argument, &rest)
            case "--etcd": etcd = try Self.value(of: argument, &rest)
            case "--count": count = try Self.positive(try Self.value(of: argument, &rest), argument)
            default: throw UsageError("there is no option \(argument); see --help")
            }
        }
    }

    /// The selected rows: those that contain one of the texts of the filter.
    var rows: [Row] {
        let filters = filter.lowercased().split(separator: "|")
        return (Rows.all + (etcd.map(Rows.fleet) ?? []))
            .filter { row in
                let title = "\(row.group): \(row.name)".lowercased()
                return filters.isEmpty || filters.contains { title.contains($0) }
            }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws -> String {
        guard let value = rest.popFirst() else { throw UsageError("\(option) needs a value; see --help") }
        return value
    }

    private static func positive(_ text: String, _ option: String) throws -> Int {
        guard let number = Int(text), number > 0 else { throw UsageError("\(option) needs a positive number") }
        return number
    }
}

/// A mistake on the command line.
struct UsageError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
