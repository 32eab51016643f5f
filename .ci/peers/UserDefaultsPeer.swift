// SPDX-License-Identifier: Apache-2.0

import Foundation

// What becomes of values that several processes, or a process that is killed, store in Foundation's UserDefaults.

let arguments = CommandLine.arguments

/// Runs this program again.
func start(_ arguments: String...) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0])
    process.arguments = arguments
    process.standardOutput = Pipe()
    try process.run()
    return process
}

/// A new object reads the file anew.
func newDefaults(_ suite: String) -> UserDefaults {
    guard let defaults = UserDefaults(suiteName: suite) else { fatalError("UserDefaults does not accept \(suite)") }
    return defaults
}

/// Says that this process runs, and waits until the first one closes its input, so that all begin at once.
func waitForOthers() {
    print("ready")
    fflush(stdout)
    _ = readLine()
}

/// Starts two processes, lets both begin once both run, and waits until they have ended.
func runTwo(_ first: [String], _ second: [String]) throws {
    var processes: [Process] = []
    var inputs: [Pipe] = []
    for arguments in [first, second] {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        _ = output.fileHandleForReading.availableData
        processes.append(process)
        inputs.append(input)
    }
    for input in inputs { try input.fileHandleForWriting.write(contentsOf: Data("begin\n".utf8)) }
    for process in processes { process.waitUntilExit() }
}

func increment(_ suite: String) {
    waitForOthers()
    for _ in 0..<500 {
        let defaults = newDefaults(suite)
        _ = defaults.synchronize()
        defaults.set(defaults.integer(forKey: "counter") + 1, forKey: "counter")
        _ = defaults.synchronize()
    }
}

func setKeys(_ suite: String, _ prefix: String) {
    waitForOthers()
    let defaults = newDefaults(suite)
    for number in 0..<200 {
        defaults.set(number, forKey: "\(prefix)\(number)")
        _ = defaults.synchronize()
    }
}

/// Sets 1,000 keys until it is killed, and says when it has begun.
func setEndlessly(_ suite: String) -> Never {
    let defaults = newDefaults(suite)
    for number in 0..<1000 { defaults.set(number, forKey: "key\(number)") }
    _ = defaults.synchronize()
    print("begun")
    fflush(stdout)
    var value = 0
    while true {
        value += 1
        defaults.set(value, forKey: "key0")
        _ = defaults.synchronize()
    }
}

/// Returns how many of 40 processes leave an empty or unreadable file when they are killed while they set a value.
func killProcesses() throws -> (broken: Int, empty: Int) {
    var (broken, empty) = (0, 0)
    for round in 0..<40 {
        let suite = "kill\(round)"
        let process = try start("endlessly", suite)
        guard let output = process.standardOutput as? Pipe else { fatalError("a process has no output") }
        _ = output.fileHandleForReading.availableData
        usleep(UInt32.random(in: 0..<50_000))
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        // Another process, because this one would use what it has read of the file.
        let reader = try start("count", suite)
        guard let result = reader.standardOutput as? Pipe else { fatalError("a process has no output") }
        let text = String(decoding: result.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let count = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        if count == 0 { empty += 1 } else if count < 1000 { broken += 1 }
    }
    return (broken, empty)
}

switch arguments.dropFirst().first {
case "increment": increment(arguments[2])
case "keys": setKeys(arguments[2], arguments[3])
case "endlessly": setEndlessly(arguments[2])
case "count": print((0..<1000).count { newDefaults(arguments[2]).object(forKey: "key\($0)") != nil })
default:
    var (sums, kept): ([Int], [Int]) = ([], [])
    for round in 0..<10 {
        try runTwo(["increment", "increments\(round)"], ["increment", "increments\(round)"])
        sums.append(newDefaults("increments\(round)").integer(forKey: "counter"))
        try runTwo(["keys", "keys\(round)", "a"], ["keys", "keys\(round)", "b"])
        kept.append(
            newDefaults("keys\(round)").dictionaryRepresentation().keys.count { $0.hasPrefix("a") || $0.hasPrefix("b") }
        )
    }
    print("UserDefaults, 2 x 500 increments, 10 runs: \(sums.sorted())")
    print("UserDefaults, 2 x 200 keys of their own, 10 runs: \(kept.sorted())")
    let (broken, empty) = try killProcesses()
    print("UserDefaults, killed while a value is set, 40 runs: \(empty) without a value, \(broken) with a part of them")
}
