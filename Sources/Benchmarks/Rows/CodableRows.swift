// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension Rows {
    /// A struct of two integers.
    static let codable = [
        Row(group: "Codable", name: "read a struct, hot") { workspace in
            let settings = try SampleSettings(workspace.suite(keys: 1_000))
            let body = { BlackHole.sum($0) { settings.limits.burst } }
            guard body(1) == Sample.limits.burst else { throw Failure("the value that was read is not the stored one") }
            return Trial(
                subject: .loop("read", body),
                comparisons: [.init(.loop("Mutex<String> read", Floors.mutexRead()))]
            )
        },
        Row(group: "Codable", name: "read a struct, first time") { workspace in
            let suite = try workspace.suite(keys: 1_000)
            suite[SettingKey("limits", default: Limits())] = Sample.limits
            let bytes = try JSONEncoder().encode(Sample.limits)
            let decoder = JSONDecoder()
            return Trial(
                // A key with a closure equals no other key, so its value has not been decoded yet.
                subject: .each("a new Setting and its value") {
                    let key = SettingKey("limits", default: Limits()) { _ in true }
                    BlackHole.consume(Setting(key, suite: suite).value.burst)
                },
                comparisons: [
                    .init(
                        .each("JSONDecoder, this struct alone") {
                            BlackHole.consume(try decoder.decode(Limits.self, from: bytes).burst)
                        }
                    )
                ]
            )
        },
        Row(group: "Codable", name: "set a struct, 1,000 keys") { workspace in
            let suite = try workspace.suite(keys: 1_000)
            let limits = Setting("limits", default: Limits(), suite: suite)
            let int = Setting("int", default: 0, suite: suite)
            var number = 0
            return Trial(
                subject: .each("set") {
                    number += 1
                    try limits.set(Limits(perSecond: number, burst: 1))
                },
                comparisons: [
                    .init(
                        .each("the same with an Int") {
                            number += 1
                            try int.set(number)
                        }
                    )
                ]
            )
        },
    ]
}
