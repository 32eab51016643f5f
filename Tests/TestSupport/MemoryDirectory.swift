// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Creates a temporary directory, in memory if possible, and removes it after the body.
///
/// It is for tests that write thousands of files.
package func withMemoryDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let memory = "/dev/shm"
    let parent =
        FileManager.default.isWritableFile(atPath: memory)
        ? URL(fileURLWithPath: memory, isDirectory: true) : FileManager.default.temporaryDirectory
    let url = parent.appendingPathComponent("StoredSettings-\(UUID().uuidString)")
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
