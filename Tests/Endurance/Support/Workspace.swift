// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The run's own directory, which contains all files.
struct Workspace {
    let directory: String
    let findings: Findings

    init() throws {
        let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var template = "\(parent)/StoredSettingsEndurance.XXXXXX".utf8CString
        // The call replaces the last six characters in place.
        let isMade = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } != nil }
        guard isMade else { throw Failure("cannot create a directory in \(parent)") }
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        findings = Findings(in: directory)
    }

    func path(_ name: String) -> String {
        "\(directory)/\(name)"
    }

    func remove() {
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch {
            Console.printError("endurance: cannot remove \(directory): \(error)")
        }
    }
}

/// A failure that prevents the run from continuing.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Writes messages that are not results to standard error.
enum Console {
    static func printError(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }
}
