// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a run of the tests covers.
///
/// The quick tier is what `swift test` runs. The exhaustive tier, `STORED_SETTINGS_EXHAUSTIVE=1 swift test`, covers every case of
/// tests that have thousands. The quick tier has a random sample of them, with a seed that it prints.
package enum TestRun {
    private static let environment = ProcessInfo.processInfo.environment

    /// Whether this is the exhaustive tier.
    package static let isExhaustive =
        environment["STORED_SETTINGS_EXHAUSTIVE"].map { !["", "0"].contains($0) } ?? false

    /// The seed of the samples, which the environment variable `STORED_SETTINGS_SEED` repeats.
    package static let seed: UInt64 = {
        let given = environment["STORED_SETTINGS_SEED"]
        let seed = given.map { UInt64($0) ?? 0 } ?? UInt64.random(in: 1...999_999)
        guard (1...UInt64(UInt32.max)).contains(seed) else {
            preconditionFailure("STORED_SETTINGS_SEED is not a number from 1 to \(UInt32.max)")
        }
        print("The seed of this run is \(seed): STORED_SETTINGS_SEED=\(seed) repeats its samples.")
        return seed
    }()

    /// A generator for one place in the tests.
    ///
    /// The places are independent of each other, and of the order in which they are called.
    package static func generator(_ file: StaticString = #fileID, _ line: UInt = #line) -> SeededGenerator {
        // FNV-1a, because the hash values of the standard library differ from process to process.
        let bytes = Array("\(file):\(line)".utf8)
        return SeededGenerator(
            seed: bytes.reduce(0xCBF2_9CE4_8422_2325 ^ seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        )
    }

    /// A number that depends on the tier.
    package static func count(quick: Int, exhaustive: Int) -> Int { isExhaustive ? exhaustive : quick }
}

extension Collection {
    /// All elements in the exhaustive tier, and a random sample in their order in the quick one.
    ///
    /// - Parameters:
    ///   - count: The size of the sample.
    ///   - salt: What distinguishes several samples at one place.
    ///   - file: The place in the tests.
    ///   - line: The place in the tests.
    /// - Returns: The elements.
    package func sampled(
        _ count: Int,
        salt: Int = 0,
        _ file: StaticString = #fileID,
        _ line: UInt = #line
    ) -> [Element] {
        guard !TestRun.isExhaustive, count < self.count else { return Array(self) }
        var generator = TestRun.generator(file, line &+ UInt(bitPattern: salt) << 32)
        let chosen = Set(indices.shuffled(using: &generator).prefix(count).map { distance(from: startIndex, to: $0) })
        return enumerated().filter { chosen.contains($0.offset) }.map(\.element)
    }
}
