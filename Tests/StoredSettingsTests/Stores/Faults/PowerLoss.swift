// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// How much of the unsynchronized data a power loss leaves.
enum PowerLoss: Sendable, CaseIterable, CustomTestStringConvertible {
    case nothing
    /// The names, but no contents.
    case names
    /// The names and the lengths, with zeros for the later contents.
    case namesAndLengths
    /// The contents, but no names.
    case bytes
    /// A random choice: the names of one moment, and each file as it was at one moment, possibly extended.
    case mixed
    /// A random choice: the names of one moment, and each file with sectors of several moments.
    case torn

    /// The number of bytes that a disk writes atomically.
    private static let sector = 512

    /// The cases for files that are replaced, and for files that are overwritten, which cannot survive torn writes.
    static var ofReplacedFiles: [PowerLoss] { allCases }
    static var ofOverwrittenFiles: [PowerLoss] { allCases.filter { $0 != .torn } }

    /// How often to draw an image: more than once for a random choice.
    var draws: Int {
        switch self {
        case .nothing, .names, .namesAndLengths, .bytes: 1
        case .mixed: 8
        case .torn: 3
        }
    }

    var testDescription: String { "\(self)" }

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
                case .namesAndLengths: Self.extended(versions[0], to: versions[versions.count - 1].count)
                case .bytes: versions[versions.count - 1]
                case .mixed: Self.mixed(versions, using: &generator)
                case .torn: Self.torn(versions, using: &generator)
                }
            }
        )
    }

    private static func extended(_ bytes: [UInt8], to count: Int) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: max(count - bytes.count, 0))
    }

    /// Returns the file of one moment, possibly with the length of another.
    private static func mixed(_ versions: [[UInt8]], using generator: inout SeededGenerator) -> [UInt8] {
        let bytes = versions[Int.random(in: versions.indices, using: &generator)]
        let longer = versions[Int.random(in: versions.indices, using: &generator)]
        return Bool.random(using: &generator) ? bytes : extended(bytes, to: longer.count)
    }

    /// Assembles a file from sectors of several moments.
    private static func torn(_ versions: [[UInt8]], using generator: inout SeededGenerator) -> [UInt8] {
        guard versions.count > 1 else { return versions[0] }
        // Sometimes use only the oldest and the newest, which differ most.
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
