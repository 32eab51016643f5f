// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension Rows {
    /// The time from the start of a set until the last subscriber has the value.
    static let subscribers = [
        Row(group: "subscribers", name: "1,000 subscribers of a key, one set", leastSamples: 105) { workspace in
            let ours = try await Delivery(to: 1_000, in: workspace)
            let (plain, continuations) = try await SubscriberGroup.ofStreams(1_000)
            return Trial(
                subject: .timingItself("set until all have it") { try await ours.time() },
                comparisons: [
                    .init(nil, .median(3e6)),
                    .init(
                        .timingItself("1,000 AsyncStreams, yield to each") {
                            try await plain.time { for continuation in continuations { continuation.yield(1) } }
                        }
                    ),
                ]
            ) {
                await ours.group.cancel()
                await plain.cancel()
            }
        },
        part(of: 10, leastSamples: 105),
        part(of: 1_000, leastSamples: 105),
        part(of: 10_000, leastSamples: 21, besideThousand: true),
    ]

    /// The share of one subscriber in that time.
    private static func part(of count: Int, leastSamples: Int, besideThousand: Bool = false) -> Row {
        let name = "one of \(Format.count(count)) subscribers, one set"
        return Row(group: "subscribers", name: name, leastSamples: leastSamples) { workspace in
            let ours = try await Delivery(to: count, in: workspace)
            let few = besideThousand ? try await Delivery(to: 1_000, in: workspace) : nil
            let (plain, continuations) = try await SubscriberGroup.ofStreams(count)
            var comparisons = [
                Trial.Comparison(
                    .timingItself("one of as many AsyncStreams") {
                        try await plain.time { for continuation in continuations { continuation.yield(1) } }
                            / Double(count)
                    }
                )
            ]
            if let few { comparisons.insert(.init(few.perSubscriber("one of 1,000")), at: 0) }
            return Trial(subject: ours.perSubscriber("set"), comparisons: comparisons) {
                await ours.group.cancel()
                await few?.group.cancel()
                await plain.cancel()
            }
        }
    }
}

/// A setting and its subscribers.
private final class Delivery {
    let group: SubscriberGroup
    private let count: Int
    private let setting: Setting<Int>
    private var value = 1_000_000

    init(to count: Int, in workspace: Workspace) async throws {
        self.count = count
        setting = Setting(Workspace.key(0), default: 0, suite: try workspace.suite(keys: 10))
        group = try await .subscribed(count, to: setting)
    }

    /// The time from the start of a set until all subscribers have the value, in nanoseconds.
    func time() async throws -> Double {
        value += 1
        return try await group.time { try setting.set(value) }
    }

    /// The share of one subscriber in that time.
    func perSubscriber(_ name: String) -> Operation {
        .timingItself(name) { try await self.time() / Double(self.count) }
    }
}

extension Rows {
    /// The time from the start of another process's set until a stream here has the value.
    static let waking = [
        Row(group: "wake", name: "another process's set wakes a stream", leastSamples: 210) { workspace in
            let path = try workspace.settingsFile(keys: 10)
            let suite = SettingsSuite(fileAt: path)
            let child = try Child(settingsAt: path)
            let timeout = watchdog { suite.finish() }
            var iterator = Setting(Child.key, default: 0, suite: suite).values.makeAsyncIterator()
            _ = await iterator.next()
            return Trial(
                subject: .timingItself("set in another process") {
                    try child.send(.set)
                    guard let start = await iterator.next() else { throw Failure("the stream was not woken") }
                    return Double(Clock.now()) - Double(start)
                },
                comparisons: [
                    .init(nil, .p99(5e6)),
                    .init(
                        .timingItself("a line through a pipe") {
                            try child.send(.write)
                            let start = try child.receive()
                            return Double(Clock.now()) - Double(start)
                        }
                    ),
                ]
            ) {
                timeout.cancel()
                try child.end()
            }
        }
    ]
}
