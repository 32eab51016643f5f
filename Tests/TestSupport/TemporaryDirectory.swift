// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A directory of a test's own, removed with all that is in it at the end.
package func withTemporaryDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("StoredSettings-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    do {
        let result = try await body(url.path)
        try FileManager.default.removeItem(at: url)
        return result
    } catch {
        try FileManager.default.removeItem(at: url)
        throw error
    }
}

extension String {
    /// The bytes of the file at this path.
    package var fileContents: String {
        get throws { try String(contentsOfFile: self, encoding: .utf8) }
    }

    /// Writes the file at this path as an editor does that writes in place.
    package func overwriteFile(with text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self))
    }

    /// Writes the file at this path as an editor does that puts a new file in the old one's place.
    package func replaceFile(with text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self), options: .atomic)
    }

    /// The permissions of the file at this path.
    package var filePermissions: Int? {
        get throws { try FileManager.default.attributesOfItem(atPath: self)[.posixPermissions] as? Int }
    }
}

extension String {
    /// The number of the file at this path, which a replacement changes.
    package var inode: Int? {
        get throws { try FileManager.default.attributesOfItem(atPath: self)[.systemFileNumber] as? Int }
    }
}
