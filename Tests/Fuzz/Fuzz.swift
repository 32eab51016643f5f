// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Ends the process, which is how the fuzzer learns of a finding, unless a condition holds.
func expect(_ condition: Bool, _ problem: @autoclosure () -> String) {
    guard condition else { fatalError(problem()) }
}

/// Puts what the fuzzer begins with into the directory that is the last argument, unless a finding is read again.
func writeSeeds(_ seeds: [[UInt8]]) {
    let corpus = URL(fileURLWithPath: CommandLine.arguments.last ?? "")
    guard corpus.hasDirectoryPath else { return }
    for (number, seed) in seeds.enumerated() {
        do {
            try Data(seed).write(to: corpus.appendingPathComponent("seed-\(number)"))
        } catch {
            fatalError("the corpus cannot be written: \(error)")
        }
    }
}
