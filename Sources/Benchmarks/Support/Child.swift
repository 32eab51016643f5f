// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A child process of this program, which executes commands line by line.
final class Child {
    enum Task: String {
        /// Sets ``key`` to the time.
        case set
        /// Prints a line with the time.
        case write
    }

    static let flag = "--child"
    static let key = "tick"

    private let process: Process
    private let input = Pipe()
    private let output = Pipe()

    convenience init(settingsAt path: String) throws {
        try self.init([Self.flag, path])
    }

    init(_ arguments: [String]) throws {
        process = try .thisProgram(arguments)
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    func send(_ task: Task) throws {
        try send(task.rawValue)
    }

    func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// The number in the next line that the child prints.
    func receive() throws -> Int {
        guard let number = try receiveNumbers().first else { throw Failure("the child process prints no number") }
        return Int(number)
    }

    /// The numbers in the next line that the child prints.
    func receiveNumbers() throws -> [Double] {
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        // A line this short is written and read in one piece.
        guard text.hasSuffix("\n") else { throw Failure("the child process has ended") }
        return text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    }

    func end() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    deinit {
        if process.isRunning { process.terminate() }
    }
}

extension Child {
    /// Executes commands until the input ends, which happens when the parent ends.
    static func run(_ arguments: [String]) throws {
        guard let path = arguments.first else { throw UsageError("\(flag) is for internal use") }
        let setting = Setting(key, default: 0, suite: SettingsSuite(fileAt: path))
        while let line = readLine() {
            // Lets both processes become idle, as they are before an unexpected change.
            usleep(2_000)
            switch Task(rawValue: line) {
            case .set: try setting.set(Int(Clock.now()))
            case .write: try FileHandle.standardOutput.write(contentsOf: Data("\(Clock.now())\n".utf8))
            case nil: throw UsageError("\(flag) is for internal use")
            }
        }
    }
}
