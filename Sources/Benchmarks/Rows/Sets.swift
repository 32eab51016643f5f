// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension Rows {
    static let sets = surviving + synchronized + crowds

    /// Sets that survive the death of the process.
    private static let surviving = [
        Row(group: "set", name: "set an Int, 10 keys") { workspace in
            Trial(
                subject: try set(in: workspace.suite(keys: 10)),
                comparisons: [.init(try Floors.lockedAppend(in: workspace), .atMost(0.75))]
            )
        },
        Row(group: "set", name: "set an Int, 1,000 keys") { workspace in
            Trial(
                subject: try set(in: workspace.suite(keys: 1_000)),
                comparisons: [
                    .init(try Floors.lockedAppend(in: workspace), .atMost(0.75)),
                    .init(try userDefaultsSynchronizedSet(keys: 1_000, in: workspace), .faster(100)),
                ]
            )
        },
        Row(group: "set", name: "set an Int, 10,000 keys") { workspace in
            Trial(
                subject: try set(in: workspace.suite(keys: 10_000)),
                comparisons: [
                    .init(try Floors.lockedAppend(in: workspace), .atMost(0.75)),
                    .init(try set("the same, 10 keys", in: workspace.suite(keys: 10)), .atMost(1.3)),
                ]
            )
        },
    ]

    /// Sets that survive a power loss.
    private static let synchronized = [10, 1_000, 10_000]
        .map { keys in
            Row(group: "set", name: "set + synchronize, \(Format.count(keys)) keys") { workspace in
                let suite = try workspace.suite(keys: keys)
                let setting = Setting(Workspace.key(0), default: 0, suite: suite)
                var value = keys
                return Trial(
                    subject: .each("set + synchronize") {
                        value += 1
                        try setting.set(value)
                        try suite.synchronize()
                    },
                    comparisons: [.init(try Floors.synchronizedAppend(in: workspace), .atMost(1.5))]
                )
            }
        }

    /// Sets of several processes at the same time.
    private static let crowds = [2, 4]
        .flatMap { processes in
            [
                Row(group: "crowd", name: "\(processes) processes set at once, together", leastSamples: 5) {
                    workspace in
                    let ours = try Crowd(processes, .set, at: workspace.settingsFile(keys: 10))
                    let floor = try Crowd(processes, .append, at: workspace.newPath())
                    return Trial(
                        subject: .timingItself("set") { try ours.run().timePerWrite },
                        comparisons: [
                            .init(
                                .timingItself("flock + unlock + 64 B append at once") { try floor.run().timePerWrite },
                                .atMost(1.25)
                            )
                        ]
                    ) {
                        try ours.end()
                        try floor.end()
                    }
                },
                Row(group: "crowd", name: "the longest of their sets", leastSamples: 5) { workspace in
                    let ours = try Crowd(processes, .set, at: workspace.settingsFile(keys: 10))
                    let floor = try Crowd(processes, .append, at: workspace.newPath())
                    return Trial(
                        subject: .timingItself("set") { try ours.run().longest },
                        comparisons: [
                            .init(nil, .median(50e6)),
                            .init(.timingItself("flock + unlock + 64 B append at once") { try floor.run().longest }),
                        ]
                    ) {
                        try ours.end()
                        try floor.end()
                    }
                },
            ]
        }

    /// Sets a new value each time with the throwing call, so that a failed set does not pass as a fast one.
    private static func set(_ name: String = "set", in suite: SettingsSuite) throws -> Operation {
        let setting = Setting(Workspace.key(0), default: 0, suite: suite)
        var value = 1_000_000
        return .each(name) {
            value += 1
            try setting.set(value)
        }
    }

    static func userDefaultsSynchronizedSet(keys: Int, in workspace: Workspace) throws -> Operation {
        let defaults = try workspace.userDefaults(keys: keys)
        let key = Workspace.key(0)
        var value = 1_000_000
        return .each("UserDefaults set + synchronize") {
            value += 1
            defaults.set(value, forKey: key)
            guard defaults.synchronize() else { throw Failure("UserDefaults cannot be written") }
        }
    }
}
