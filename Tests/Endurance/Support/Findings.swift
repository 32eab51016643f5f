// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// The failed checks, one line each, in a file that all processes write to.
final class Findings: Sendable {
    /// The maximum number of findings of one process; the first ones are enough.
    private static let limit = 20

    private let path: String
    private let count = Atomic<Int>(0)

    init(in directory: String) {
        path = "\(directory)/findings"
    }

    func record(_ text: String) {
        guard count.add(1, ordering: .relaxed).oldValue < Self.limit else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        let line = Array("\(text.replacing("\n", with: " "))\n".utf8)
        // In one write, so that the lines of several processes do not mix.
        guard descriptor >= 0, write(descriptor, line, line.count) == line.count else {
            return Console.printError("endurance: cannot record a finding: \(text)")
        }
        close(descriptor)
    }

    func all() throws -> [String] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}

extension Findings: SettingsReporter {
    /// Records any error, because no operation may fail, whenever other processes are killed.
    func report(_ error: SettingsError) {
        record("reported by process \(getpid()): \(error)")
    }
}
