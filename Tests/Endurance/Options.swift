// SPDX-License-Identifier: Apache-2.0

/// The options of the command line.
struct Options {
    enum Part: String, CaseIterable {
        case kill
        case load
        case reads
        #if os(Linux)
        case steps
        #endif
    }

    var isHelpWanted = false
    var parts = Part.allCases
    /// The number of rounds; `nil` for the default of each part.
    var rounds: Int?
    var seconds = 20
    var seed: UInt64 = 0x5EED

    static let help = """
        Usage: swift run -c release endurance [kill|load|reads|steps|all] [options]

        kill        kill processes that set numbers, at random moments, and check the stored values
        load        8 processes of 4 threads use every operation, and are killed and restarted
        reads       a thread sets values, and others check that no read is torn or stale
        steps       stop and kill a process at single instructions of a change (only on Linux)
        all         all of them in sequence (the default)

          --rounds N    the number of rounds of kill (500), or of stops and of kills in steps (2,000)
          --seconds N   the duration of load and reads (20)
          --seed N      the seed of the random moments and choices; the system's timing still varies
          --help        show this help

        The exit code is 1 if a check failed. Files are written to a new directory in $TMPDIR or /tmp,
        which is removed at the end.
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        if let word = rest.first, !word.hasPrefix("-") {
            rest.removeFirst()
            if word != "all" {
                guard let part = Part(rawValue: word) else {
                    throw UsageError("there is no part '\(word)'; see --help")
                }
                parts = [part]
            }
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": isHelpWanted = true
            case "--rounds": rounds = try Self.positive(argument, &rest)
            case "--seconds": seconds = try Self.positive(argument, &rest)
            case "--seed": seed = UInt64(try Self.positive(argument, &rest))
            default: throw UsageError("there is no option \(argument); see --help")
            }
        }
    }

    private static func positive(_ option: String, _ rest: inout ArraySlice<String>) throws -> Int {
        guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else {
            throw UsageError("\(option) needs a positive number; see --help")
        }
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
