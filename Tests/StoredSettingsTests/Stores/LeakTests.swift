// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

#if os(Linux)
@Suite("Leaks")
struct LeakTests {
    /// What a process holds of the system, as far as it has to do with one directory.
    private struct Holdings: Equatable {
        var descriptors: Int
        var mappings: Int

        init(in directory: String) throws {
            let process = "/proc/self"
            descriptors = try FileManager.default.contentsOfDirectory(atPath: process + "/fd")
                .count { number in
                    // One that is closed meanwhile is none.
                    let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(process)/fd/\(number)")) ?? ""
                    return path.hasPrefix(directory)
                }
            mappings = try (process + "/maps").fileContents.split(separator: "\n").count { $0.contains(directory) }
        }

        private init() { (descriptors, mappings) = (0, 0) }

        static var none: Holdings { Holdings() }
    }
}
#endif
