// SPDX-License-Identifier: Apache-2.0

/// What the command line asks for.
struct Options {
    var isHelpWanted = false
    var isJSON = false
    var filter = ""
    var effort = Effort.full
    /// How often to run each row without taking its time.
    var count: Int?

    static let help = """
        Usage: swift run -c release Benchmarks [options]

        Measures the library, each operation in turns with its floor, and prints medians, ratios and
        the bars they are held to. Bars that are missed are named; they do not change the exit code.

          --filter TEXT   only rows whose group or name contains TEXT, in either case
          --quick         fewer and shorter passes: under 20 seconds, and noisier
          --json          one JSON object instead of the table; nanoseconds and bytes
          --count N       run each row's operation N times and take no time: for counting instructions
          --help          this text

        Files go to a directory of their own in $TMPDIR, or /tmp, which is removed at the end. Rows that
        wait for the disk mean nothing on a file system that is kept in memory.

        Rows:

        """ + Rows.all.map { "  \($0.group): \($0.name)" }.joined(separator: "\n")

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": isHelpWanted = true
            case "--json": isJSON = true
            case "--quick": effort = .quick
            case "--filter": filter = try Self.value(of: argument, &rest)
            case "--count": count = try Self.positive(try Self.value(of: argument, &rest), argument)
            default: throw UsageError("there is no option \(argument); see --help")
            }
        }
    }

    /// The rows that are asked for.
    var rows: [Row] {
        Rows.all.filter { filter.isEmpty || "\($0.group): \($0.name)".lowercased().contains(filter.lowercased()) }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws -> String {
        guard let value = rest.popFirst() else { throw UsageError("\(option) needs a value; see --help") }
        return value
    }

    private static func positive(_ text: String, _ option: String) throws -> Int {
        guard let number = Int(text), number > 0 else { throw UsageError("\(option) needs a number above zero") }
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
