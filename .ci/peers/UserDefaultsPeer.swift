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

func increment(_ suite: String) {
    for _ in 0..<500 {
        let defaults = newDefaults(suite)
        _ = defaults.synchronize()
        defaults.set(defaults.integer(forKey: "counter") + 1, forKey: "counter")
        _ = defaults.synchronize()
    }
}

func setKeys(_ suite: String, _ prefix: String) {
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
    let incrementing = [try start("increment", "increments"), try start("increment", "increments")]
    for process in incrementing { process.waitUntilExit() }
    print("UserDefaults, 2 x 500 increments: \(newDefaults("increments").integer(forKey: "counter"))")
    let setting = [try start("keys", "keys", "a"), try start("keys", "keys", "b")]
    for process in setting { process.waitUntilExit() }
    let found = newDefaults("keys").dictionaryRepresentation().keys.count { $0.hasPrefix("a") || $0.hasPrefix("b") }
    print("UserDefaults, 2 x 200 keys of their own: \(found)")
    let (broken, empty) = try killProcesses()
    print("UserDefaults, killed while a value is set, 40 runs: \(empty) without a value, \(broken) with a part of them")
}
