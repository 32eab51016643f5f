// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Some files, as they are at one moment.
struct DiskImage: Hashable, Sendable {
    enum Entry: Hashable, Sendable {
        case directory
        case file([UInt8])
    }

    /// By their paths from the root of the image.
    var entries: [String: Entry] = [:]

    /// Writes the files into a directory.
    func write(to directory: String) throws {
        // A directory comes before what is in it.
        for (path, entry) in entries.sorted(by: { $0.key < $1.key }) {
            let path = "\(directory)/\(path)"
            switch entry {
            case .directory:
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            case .file(let bytes):
                try Data(bytes).write(to: URL(fileURLWithPath: path))
            }
        }
    }
}

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
    /// Whatever chance has it: of the names those up to some moment, and each sector of a file from some moment.
    case torn

    /// How much a disk writes as one.
    private static let sector = 512

    var testDescription: String { "\(self) left" }

    /// What is left of a disk.
    func image<Generator: RandomNumberGenerator>(of disk: SimulatedDisk, using generator: inout Generator) -> DiskImage
    {
        switch self {
        case .nothing: return disk.image(names: { $0[0] }, bytes: { $0[0] })
        case .names: return disk.image(names: { $0[$0.count - 1] }, bytes: { $0[0] })
        case .namesAndLengths:
            return disk.image(names: { $0[$0.count - 1] }, bytes: { Self.stretched($0[0], to: $0[$0.count - 1].count) })
        case .bytes: return disk.image(names: { $0[0] }, bytes: { $0[$0.count - 1] })
        case .torn:
            var random = generator
            defer { generator = random }
            let names = { (versions: [[String: SimulatedDisk.ID]]) in
                versions[Int.random(in: versions.indices, using: &random)]
            }
            return disk.image(names: names, bytes: { Self.torn($0, using: &generator) })
        }
    }

    private static func stretched(_ bytes: [UInt8], to count: Int) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: max(count - bytes.count, 0))
    }

    /// Puts a file together of sectors from several moments.
    private static func torn<Generator: RandomNumberGenerator>(
        _ versions: [[UInt8]],
        using generator: inout Generator
    ) -> [UInt8] {
        guard versions.count > 1 else { return versions[0] }
        // Sometimes only the oldest and the newest are mixed, which is what mixes most.
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
