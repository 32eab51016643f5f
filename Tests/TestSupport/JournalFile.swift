// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The journal beside a settings file, which tests read and damage byte by byte.
package struct JournalFile: Sendable {
    package let path: String

    /// The journal of the settings file at a path.
    package init(of settingsPath: String) {
        path = settingsPath + ".journal"
    }

    /// The offsets of words that the file format defines.
    package static let magicOffset = 0
    package static let versionOffset = 8
    package static let positionOffset = 64
    /// The size of the header, after which records may start.
    package static let headerSize = 4_096

    package var bytes: [UInt8] {
        get throws { try Array(Data(contentsOf: URL(fileURLWithPath: path))) }
    }

    /// The part after the header, where a checkpoint without changes may still leave traces.
    package var records: [UInt8] {
        get throws { try Array(bytes.dropFirst(Self.headerSize)) }
    }

    /// The whole file, except the words of the header about the lock.
    package var recorded: [UInt8] {
        get throws {
            var bytes = try bytes
            for offset in 24 * 8..<33 * 8 { bytes[offset] = 0 }
            return bytes
        }
    }

    package var isThere: Bool { FileManager.default.fileExists(atPath: path) }

    /// A word of the header.
    package func word(at offset: Int) throws -> UInt64 {
        try bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The epoch and, in the low half, the position of the next record.
    ///
    /// The word differs after every commit.
    package var version: UInt64 {
        get throws { try word(at: Self.positionOffset) }
    }

    /// The position of the next record.
    package var end: Int {
        get throws { Int(truncatingIfNeeded: try version & 0xFFFF_FFFF) }
    }

    // MARK: - Damage

    /// Overwrites a word of the header in place.
    package func overwriteWord(at offset: Int, with word: UInt64) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data((0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }))
        try file.close()
    }

    /// Truncates the file.
    package func truncate(to size: Int) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.truncate(atOffset: UInt64(size))
        try file.close()
    }

    /// Removes the file.
    package func remove() throws {
        try FileManager.default.removeItem(atPath: path)
    }

    /// Replaces the file with another one, which has a different inode.
    package func replace(with bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
