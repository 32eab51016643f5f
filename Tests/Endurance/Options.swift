// SPDX-License-Identifier: Apache-2.0

/// What the command line asks for.
struct Options {
    enum Part: String, CaseIterable {
        case kill
        case increments
        case load
        case reads
    }

    var isHelpWanted = false
    var isJSON = false
    var parts = Part.allCases
    var rounds = 500
    var seconds = 20
    var seed: UInt64 = 0x5EED

    static let help = """
        Usage: swift run -c release endurance [kill|increments|load|reads|all] [options]

        kill        kills processes that set numbers, at random moments, and looks what is kept
        increments  4 processes add one 5,000 times each, in a suite that is not there yet
        load        8 processes of 4 threads do all that there is to do, and are killed and started anew
        reads       a thread sets values that make sense only whole, and others read them
        all         one after the other, which is what is done when nothing is said

          --rounds N    how often to kill (500)
          --seconds N   how long to load, or to read (20)
          --seed N      what the random moments and choices follow from; the system's share of chance remains
          --json        one JSON object instead of text
          --help        this text

        The exit code is 1 when a law was broken. Files go to a directory of their own in $TMPDIR, or /tmp,
        which is removed at the end.
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        if let word = rest.first, !word.hasPrefix("-") {
            rest.removeFirst()
            if word != "all" {
                guard let part = Part(rawValue: word) else { throw UsageError("there is no \(word); see --help") }
                parts = [part]
            }
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": isHelpWanted = true
            case "--json": isJSON = true
            case "--rounds": rounds = try Self.positive(argument, &rest)
            case "--seconds": seconds = try Self.positive(argument, &rest)
            case "--seed": seed = UInt64(try Self.positive(argument, &rest))
            default: throw UsageError("there is no option \(argument); see --help")
            }
        }
    }

    private static func positive(_ option: String, _ rest: inout ArraySlice<String>) throws -> Int {
        guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else {
            throw UsageError("\(option) needs a number above zero; see --help")
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
