// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The journal beside a settings file, looked at and damaged from outside, byte by byte.
package struct JournalFile: Sendable {
    package let path: String

    /// The journal of the settings file at a path.
    package init(of settingsPath: String) {
        path = settingsPath + ".journal"
    }

    /// Where the words are that the file format tells of.
    package static let magicOffset = 0
    package static let versionOffset = 8
    package static let positionOffset = 64
    /// Where the header ends and records may begin.
    package static let headerSize = 4_096

    package var bytes: [UInt8] {
        get throws { try Array(Data(contentsOf: URL(fileURLWithPath: path))) }
    }

    /// The part behind the header, in which a checkpoint without anything to write may still leave its traces.
    package var records: [UInt8] {
        get throws { try Array(bytes.dropFirst(Self.headerSize)) }
    }

    package var isThere: Bool { FileManager.default.fileExists(atPath: path) }

    /// A word of the header.
    package func word(at offset: Int) throws -> UInt64 {
        try bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The epoch and, in the low half, where the next record goes: another word after every commit.
    package var version: UInt64 {
        get throws { try word(at: Self.positionOffset) }
    }

    /// Where the next record goes.
    package var end: Int {
        get throws { Int(truncatingIfNeeded: try version & 0xFFFF_FFFF) }
    }

    // MARK: - Damage

    /// Writes a word over one of the header, in place.
    package func overwriteWord(at offset: Int, with word: UInt64) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data((0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }))
        try file.close()
    }

    /// Cuts the file off.
    package func truncate(to size: Int) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.truncate(atOffset: UInt64(size))
        try file.close()
    }

    /// Removes the file.
    package func remove() throws {
        try FileManager.default.removeItem(atPath: path)
    }

    /// Puts another file in its place, of another inode.
    package func replace(with bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
