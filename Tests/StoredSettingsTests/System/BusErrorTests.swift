// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StoredSettings

@Suite("Mappings of files that another program truncates")
struct BusErrorTests {
    @Test("the first and the last pages of many read as zeros afterwards, also those that are mapped later")
    func manyPages() async throws {
        try await withTemporaryDirectory { directory in
            let system = SystemCalls()
            let path = directory + "/page"
            let file = try system.open(path, OpenFlags.readWrite | OpenFlags.create)
            // More than any earlier table of addresses had room for.
            for count in [9_000, 10_000] {
                try system.write([UInt8](repeating: 1, count: SharedPage.size), to: file)
                let pages = try (0..<count).map { _ in try SharedPage(file, isWritable: true, system) }
                let sample = pages.prefix(100) + pages.suffix(100)
                #expect(sample.allSatisfy { $0[.magic] != 0 })
                try system.truncate(file, to: 0)
                #expect(sample.allSatisfy { $0[.magic] == 0 })
            }
        }
    }
}
