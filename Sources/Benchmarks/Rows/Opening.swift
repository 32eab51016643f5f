// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension Rows {
    /// What a short command pays before its first value.
    static let opening = [
        open(keys: 10),
        open(keys: 1_000, .atMost(2)),
        open(keys: 10_000),
    ]

    private static func open(keys: Int, _ bars: Bar...) -> Row {
        Row(group: "open", name: "open \(Format.count(keys)) keys and read one") { workspace in
            let path = try workspace.settingsFile(keys: keys)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let index = keys / 2
            let key = SettingKey(Workspace.key(index), default: 0)
            let decoder = JSONDecoder()
            let expect = { (value: Int?) in
                guard value == index else { throw Failure("what was read is not what was stored") }
            }
            return Trial(
                // The suite is let go of each time, and its engine with it, so that the file is opened anew.
                subject: .each("open and read") { try expect(SettingsSuite(fileAt: path)[key]) },
                comparisons: [
                    .init(
                        // The type that is fastest for a file of integers; a decoder that keeps any value is slower.
                        .each("JSONDecoder, [String: Int]") {
                            try expect(decoder.decode([String: Int].self, from: bytes)[key.name])
                        },
                        bars
                    )
                ]
            )
        }
    }
}
