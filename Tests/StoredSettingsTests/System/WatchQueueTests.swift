// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc) || canImport(Musl)

import Foundation
import TestSupport
import Testing

@testable import StoredSettings

@Suite("The queue of file events")
struct WatchQueueTests {
    private let system = SystemCalls()

    @Test("a read ends although each event that it handles causes another one")
    func endlessEvents() async throws {
        try await withTemporaryDirectory { directory in
            let queue = try system.makeWatchQueue()
            _ = try system.addWatch(FilePath(directory), to: queue)
            // More events than one read returns: each of them has a long name.
            for number in 0..<100 { try createFile(number, in: directory) }
            var handled = 0
            system.readWatchEvents(from: queue) { _ in
                handled += 1
                // A read without an end would otherwise fill the disk.
                if handled < 2_000 { #expect(throws: Never.self) { try createFile(100 + handled, in: directory) } }
            }
            #expect((1..<100).contains(handled))
        }
    }

    /// Returns a name whose event takes about 270 bytes.
    private func fileName(_ number: Int) -> String { String(repeating: "x", count: 240) + "\(number)" }

    private func createFile(_ number: Int, in directory: String) throws {
        try Data().write(to: URL(filePath: "\(directory)/\(fileName(number))"))
    }
}

#endif
