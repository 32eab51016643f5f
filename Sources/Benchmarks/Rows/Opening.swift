// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension Rows {
    /// The cost of a short command before its first value.
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
                guard value == index else { throw Failure("the value that was read is not the stored one") }
            }
            return Trial(
                // The suite and its engine are released each time, so that the file is opened again.
                subject: .each("open and read") { try expect(SettingsSuite(fileAt: path)[key]) },
                comparisons: [
                    .init(
                        // The fastest type for a file of integers; a decoder for any value is slower.
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
