// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Ends the process unless a condition holds, which the fuzzer reports as a finding.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
    guard condition else { fatalError(message()) }
}

/// Writes the initial inputs to the corpus directory, which is the last argument, unless a finding is replayed.
func writeSeeds(_ seeds: [[UInt8]]) {
    let corpus = URL(fileURLWithPath: CommandLine.arguments.last ?? "")
    guard corpus.hasDirectoryPath else { return }
    for (number, seed) in seeds.enumerated() {
        do {
            try Data(seed).write(to: corpus.appendingPathComponent("seed-\(number)"))
        } catch {
            fatalError("cannot write the corpus: \(error)")
        }
    }
}
