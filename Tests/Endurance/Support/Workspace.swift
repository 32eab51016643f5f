// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A directory of the run's own, in which everything is written.
struct Workspace {
    let directory: String
    let findings: Findings

    init() throws {
        let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var template = "\(parent)/StoredSettingsEndurance.XXXXXX".utf8CString
        // The call replaces the last six characters in place.
        let isMade = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } != nil }
        guard isMade else { throw Failure("cannot make a directory in \(parent)") }
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        findings = Findings(in: directory)
    }

    /// A directory in it, which is there if it is wanted to be.
    func path(_ name: String) -> String {
        "\(directory)/\(name)"
    }

    func remove() {
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch {
            Console.tell("endurance: \(directory) is left: \(error)")
        }
    }
}

/// What went wrong while something else was done.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Standard error, where what is not a result goes.
enum Console {
    private static let isTerminal = isatty(STDERR_FILENO) == 1

    static func tell(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }

    /// Replaces the line that tells how far the run is, where somebody may be looking.
    static func showProgress(_ text: String) {
        guard isTerminal else { return }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8))
    }
}
