// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A set of files at one moment.
struct DiskImage: Hashable, Sendable {
    enum Entry: Hashable, Sendable {
        case directory
        case file([UInt8])
    }

    /// The entries, by their paths from the root of the image.
    var entries: [String: Entry] = [:]

    func write(to directory: String) throws {
        // Sorted, so that a directory precedes its contents.
        for (path, entry) in entries.sorted(by: { $0.key < $1.key }) {
            let path = "\(directory)/\(path)"
            switch entry {
            case .directory:
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            case .file(let bytes):
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                try ScriptPlayer.backdate(path)
            }
        }
    }
}
