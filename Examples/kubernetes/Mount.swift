// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A mounted ConfigMap or Secret, as the kubelet writes it.
///
/// The files are in a directory with a new name for each version. The link `..data` leads to it, and each visible name is a
/// link through `..data`. So one rename replaces all files at once.
final class Mount {
    let path: String
    private var version = 0

    init(_ path: String) {
        self.path = path
    }

    func update(_ files: [String: String]) throws {
        let manager = FileManager.default
        version += 1
        let name = "..version\(version)"
        try manager.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
        for (file, contents) in files {
            try contents.write(toFile: "\(path)/\(name)/\(file)", atomically: false, encoding: .utf8)
        }
        try manager.createSymbolicLink(atPath: "\(path)/..data_tmp", withDestinationPath: name)
        guard rename("\(path)/..data_tmp", "\(path)/..data") == 0 else { throw CocoaError(.fileWriteUnknown) }
        for file in files.keys where !manager.fileExists(atPath: "\(path)/\(file)") {
            try manager.createSymbolicLink(atPath: "\(path)/\(file)", withDestinationPath: "..data/\(file)")
        }
        if version > 1 { try manager.removeItem(atPath: "\(path)/..version\(version - 1)") }
    }
}
