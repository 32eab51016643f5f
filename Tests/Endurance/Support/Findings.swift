// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

/// The laws that were seen to be broken: one line each, in a file that all processes write to.
final class Findings: Sendable {
    /// One process writes no more: the first say it all.
    private static let limit = 20

    private let path: String
    private let count = Atomic<Int>(0)

    init(in directory: String) {
        path = "\(directory)/findings"
    }

    func note(_ text: String) {
        guard count.add(1, ordering: .relaxed).oldValue < Self.limit else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        let line = Array("\(text.replacing("\n", with: " "))\n".utf8)
        // In one piece, or the lines of several processes would mix.
        guard descriptor >= 0, write(descriptor, line, line.count) == line.count else {
            return Console.tell("endurance: cannot be noted: \(text)")
        }
        close(descriptor)
    }

    func all() throws -> [String] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}

extension Findings: SettingsReporter {
    /// Nothing is to fail, whatever the others do and whenever they are killed.
    func report(_ error: SettingsError) {
        note("reported by process \(getpid()): \(error)")
    }
}
