// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A directory of a test's own, removed with all that is in it at the end; if wanted, where nothing is written to a
/// disk, which makes synchronizing free.
package func withTemporaryDirectory<Result>(
    inMemory isInMemory: Bool = false,
    _ body: (String) async throws -> Result
) async throws -> Result {
    let memory = "/dev/shm"
    let parent =
        isInMemory && FileManager.default.isWritableFile(atPath: memory)
        ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
    let url = parent.appendingPathComponent("StoredSettings-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    do {
        let result = try await body(url.path)
        try await remove(url)
        return result
    } catch {
        try await remove(url)
        throw error
    }
}

/// Removes a directory, in which a store that was just let go of may still be at work.
private func remove(_ url: URL) async throws {
    for _ in 0..<1_000 {
        do {
            return try FileManager.default.removeItem(at: url)
        } catch {
            // What was written while the rest was removed is removed at the next turn.
            await pause()
        }
    }
    try FileManager.default.removeItem(at: url)
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
