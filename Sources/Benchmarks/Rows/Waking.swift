// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension Rows {
    /// How long another process's set takes to get here, from its beginning.
    static let waking = [
        Row(group: "wake", name: "another process's set wakes a stream", leastSamples: 210) { workspace in
            let path = try workspace.settingsFile(keys: 10)
            let suite = SettingsSuite(fileAt: path)
            let child = try Child(settingsAt: path)
            let dog = watchdog { suite.finish() }
            var iterator = Setting(Child.key, default: 0, suite: suite).values.makeAsyncIterator()
            _ = await iterator.next()
            return Trial(
                subject: .timingItself("set in another process") {
                    try child.tell(.set)
                    guard let start = await iterator.next() else { throw Failure("the stream was not woken") }
                    return Double(Clock.now()) - Double(start)
                },
                comparisons: [
                    .init(nil, .p99(5e6)),
                    .init(
                        .timingItself("a line through a pipe") {
                            try child.tell(.write)
                            let start = try child.hear()
                            return Double(Clock.now()) - Double(start)
                        }
                    ),
                ]
            ) {
                dog.cancel()
                try child.end()
            }
        }
    ]
}
