// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// What a loss of power leaves of what was not synchronized.
enum PowerLoss: Sendable, CaseIterable, CustomTestStringConvertible {
    /// Nothing at all.
    case nothing
    /// The names, but not what was written.
    case names
    /// The names and the lengths, with zeros where something was written later.
    case namesAndLengths
    /// What was written, but not the names.
    case bytes
    /// What chance has it: the names of some moment, and each file as it was at some moment, perhaps made longer.
    case mixed
    /// What chance has it: the names of some moment, and of each file sectors from several moments.
    case torn

    /// How much a disk writes as one.
    private static let sector = 512

    /// What may happen to files that are replaced, and to some that are written over, which cannot be safe from being torn.
    static var ofReplacedFiles: [PowerLoss] { allCases }
    static var ofOverwrittenFiles: [PowerLoss] { allCases.filter { $0 != .torn } }

    /// How often to look at what may be left: more than once where chance has it.
    var draws: Int {
        switch self {
        case .nothing, .names, .namesAndLengths, .bytes: 1
        case .mixed: 8
        case .torn: 3
        }
    }

    var testDescription: String { "\(self)" }

    /// What is left of a disk.
    func image(of disk: SimulatedDisk, using generator: inout SeededGenerator) -> DiskImage {
        disk.image(
            using: &generator,
            names: { names, generator in
                switch self {
                case .nothing, .bytes: names[0]
                case .names, .namesAndLengths: names[names.count - 1]
                case .mixed, .torn: names[Int.random(in: names.indices, using: &generator)]
                }
            },
            bytes: { versions, generator in
                switch self {
                case .nothing, .names: versions[0]
                case .namesAndLengths: Self.stretched(versions[0], to: versions[versions.count - 1].count)
                case .bytes: versions[versions.count - 1]
                case .mixed: Self.mixed(versions, using: &generator)
                case .torn: Self.torn(versions, using: &generator)
                }
            }
        )
    }

    private static func stretched(_ bytes: [UInt8], to count: Int) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: max(count - bytes.count, 0))
    }

    /// Takes a file as it was at one moment, or that with the length of another.
    private static func mixed(_ versions: [[UInt8]], using generator: inout SeededGenerator) -> [UInt8] {
        let bytes = versions[Int.random(in: versions.indices, using: &generator)]
        let longer = versions[Int.random(in: versions.indices, using: &generator)]
        return Bool.random(using: &generator) ? bytes : stretched(bytes, to: longer.count)
    }

    /// Puts a file together of sectors from several moments.
    private static func torn(_ versions: [[UInt8]], using generator: inout SeededGenerator) -> [UInt8] {
        guard versions.count > 1 else { return versions[0] }
        // Sometimes only the oldest and the newest, which differ most.
        let chosen = Bool.random(using: &generator) ? versions : [versions[0], versions[versions.count - 1]]
        var bytes = [UInt8](repeating: 0, count: chosen[Int.random(in: chosen.indices, using: &generator)].count)
        for start in stride(from: 0, to: bytes.count, by: sector) {
            let source = chosen[Int.random(in: chosen.indices, using: &generator)]
            let end = min(start + sector, bytes.count, source.count)
            if start < end { bytes.replaceSubrange(start..<end, with: source[start..<end]) }
        }
        return bytes
    }
}
