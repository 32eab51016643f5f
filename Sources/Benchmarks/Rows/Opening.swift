// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension Rows {
    /// What a short command pays before its first value.
    static let opening = [
        Row(group: "open", name: "open 1,000 keys and read one") { workspace in
            let path = try workspace.settingsFile(keys: 1_000)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let key = SettingKey(Workspace.key(500), default: 0)
            let decoder = JSONDecoder()
            return Trial(
                // The suite is let go of each time, and its engine with it, so that the file is opened anew.
                subject: .each("open and read") { try expect(SettingsSuite(fileAt: path)[key]) },
                comparisons: [
                    .init(
                        // The type that is fastest for a file of integers; a decoder that keeps any value is slower.
                        .each("JSONDecoder, [String: Int]") {
                            try expect(decoder.decode([String: Int].self, from: bytes)[key.name])
                        },
                        .atMost(2)
                    )
                ]
            )
        }
    ]

    private static func expect(_ value: Int?) throws {
        guard value == 500 else { throw Failure("what was read is not what was stored") }
    }
}
