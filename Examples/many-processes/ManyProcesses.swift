// SPDX-License-Identifier: Apache-2.0

// Several processes count together, and no increment is lost:
//
//     swift run many-processes            4 processes, 1,000 increments each
//     swift run many-processes 8 500      8 processes, 500 increments each

import ExampleSettings
import Foundation
import StoredSettings

struct CountingSettings: Sendable {
    @DefaultStorage(key: "sum", suite: "com.example.many-processes") var sum = 0
}

@main
struct ManyProcesses {
    private static let settings = CountingSettings()

    static func main() {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.isEmpty {
                try count(processes: 4, increments: 1000)
            } else if arguments.count == 2, let increments = Int(arguments[1]), arguments[0] == "increment" {
                try increment(times: increments)
            } else if arguments.count == 2, let processes = Int(arguments[0]), let increments = Int(arguments[1]) {
                try count(processes: processes, increments: increments)
            } else {
                Console.fail("usage: many-processes [PROCESSES INCREMENTS]")
            }
        } catch {
            Console.fail("many-processes: \(error)")
        }
    }

    /// What each process does.
    private static func increment(times: Int) throws {
        for _ in 0..<times {
            // A plain += 1 would be a read and a set, and would lose increments.
            try settings.$sum.update { $0 += 1 }
        }
    }

    private static func count(processes count: Int, increments: Int) throws {
        guard let program = Bundle.main.executableURL else { Console.fail("many-processes: where is this program?") }
        try settings.$sum.reset()
        let processes = (0..<max(count, 0))
            .map { _ in
                let process = Process()
                process.executableURL = program
                process.arguments = ["increment", String(increments)]
                return process
            }
        for process in processes { try process.run() }
        for process in processes { process.waitUntilExit() }
        Console.show("\(count) processes × \(increments) increments = \(settings.sum)")
    }
}
