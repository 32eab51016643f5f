// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProcessSupport

/// Finds the directory for temporary files.
///
/// - Parameters:
///   - isInMemory: Whether it is in memory, if the system has such a directory. The variable `STORED_SETTINGS_TEST_MEMORY`
///     names another one than `/dev/shm`.
///   - leastSpace: The space that a directory in memory must have, in bytes.
/// - Returns: The path of the directory.
package func temporaryDirectory(inMemory isInMemory: Bool, leastSpace: UInt64 = 0) -> String {
    let memory = ProcessInfo.processInfo.environment["STORED_SETTINGS_TEST_MEMORY"] ?? "/dev/shm"
    var status = statvfs()
    guard isInMemory, FileManager.default.isWritableFile(atPath: memory), statvfs(memory, &status) == 0,
        UInt64(status.f_bavail) * UInt64(status.f_frsize) >= leastSpace
    else { return FileManager.default.temporaryDirectory.path }
    return memory
}

/// Creates a temporary directory, and removes it after the body.
///
/// On request, the directory is in memory, where synchronizing costs nothing.
package func withTemporaryDirectory<Result>(
    inMemory isInMemory: Bool = false,
    _ body: (String) async throws -> Result
) async throws -> Result {
    Surroundings.prepare()
    return try await withPermit {
        let parent = URL(fileURLWithPath: temporaryDirectory(inMemory: isInMemory))
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
}

/// Runs a body with the path of a settings file that does not exist, in a temporary directory, which is removed after the body.
package func withSettingsPath<Result>(
    inMemory isInMemory: Bool = false,
    _ body: (_ path: String) async throws -> Result
) async throws -> Result {
    try await withTemporaryDirectory(inMemory: isInMemory) { try await body("\($0)/settings.json") }
}

/// Removes a directory, once the stores that its test has released are closed.
///
/// A store whose work on another thread has not ended would notice that its files are missing, and write them anew.
private func remove(_ url: URL) async throws {
    var deadline = Deadline(after: .milliseconds(200))
    while hasOpenFiles(below: url.resolvingSymlinksInPath().path), !deadline.hasPassed { await pause(&deadline) }
    deadline = Deadline(after: .seconds(2))
    while true {
        do {
            return try FileManager.default.removeItem(at: url)
        } catch {
            guard !deadline.hasPassed else { throw error }
            // Files that are written during the removal are removed in the next attempt.
            await pause(&deadline)
        }
    }
}

/// Whether this process has files in a directory open, as far as the system shows it.
private func hasOpenFiles(below directory: String) -> Bool {
    do {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return descriptors.contains { descriptor in
            var target = [CChar](repeating: 0, count: Int(PATH_MAX))
            // The call writes into the array.
            let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            return count > 0 && target.prefix(count).starts(with: directory.utf8.map { CChar(bitPattern: $0) })
        }
    } catch {
        return false
    }
}

extension String {
    /// The bytes of the file at this path.
    package var fileContents: String {
        get throws { try String(contentsOfFile: self, encoding: .utf8) }
    }

    /// Writes the file in place, as some editors do.
    package func overwriteFile(with text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self))
    }

    /// Replaces the file with a new one, as some editors do.
    package func replaceFile(with text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self), options: .atomic)
    }

    /// Makes the file look as if it was written some seconds ago.
    package func backdateFile(by seconds: Double) throws {
        // In whole milliseconds: Foundation rounds to microseconds without carrying. Just before the next second, it passes
        // 1,000,000 of them, which the system rejects.
        let now = Date().timeIntervalSince1970
        let date = Date(timeIntervalSince1970: ((now - seconds) * 1_000).rounded(.down) / 1_000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: self)
    }

    /// The permissions of the file at this path.
    package var filePermissions: Int? {
        get throws { try FileManager.default.attributesOfItem(atPath: self)[.posixPermissions] as? Int }
    }
}

extension String {
    /// The inode number of the file at this path, which changes when the file is replaced.
    package var inode: Int? {
        get throws { try FileManager.default.attributesOfItem(atPath: self)[.systemFileNumber] as? Int }
    }
}
