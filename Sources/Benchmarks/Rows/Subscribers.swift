// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension Rows {
    /// From the beginning of a set until the last subscriber has the value.
    static let subscribers = [
        Row(group: "subscribers", name: "1,000 subscribers of a key, one set", leastSamples: 105) { workspace in
            let ours = try await Delivery(to: 1_000, in: workspace)
            let (plain, continuations) = try await Audience.ofStreams(1_000)
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
                await ours.audience.leave()
                await plain.leave()
            }
        },
        part(of: 10, leastSamples: 105),
        part(of: 1_000, leastSamples: 105),
        part(of: 10_000, leastSamples: 21, besideThousand: true),
    ]

    /// The part of it that falls to one subscriber.
    private static func part(of count: Int, leastSamples: Int, besideThousand: Bool = false) -> Row {
        let name = "one of \(Format.count(count)) subscribers, one set"
        return Row(group: "subscribers", name: name, leastSamples: leastSamples) { workspace in
            let ours = try await Delivery(to: count, in: workspace)
            let few = besideThousand ? try await Delivery(to: 1_000, in: workspace) : nil
            let (plain, continuations) = try await Audience.ofStreams(count)
            var comparisons = [
                Trial.Comparison(
                    .timingItself("one of as many AsyncStreams") {
                        try await plain.time { for continuation in continuations { continuation.yield(1) } }
                            / Double(count)
                    }
                )
            ]
            if let few { comparisons.insert(.init(few.toOne("one of 1,000")), at: 0) }
            return Trial(subject: ours.toOne("set"), comparisons: comparisons) {
                await ours.audience.leave()
                await few?.audience.leave()
                await plain.leave()
            }
        }
    }
}

/// A setting that is set, and those who are told.
private final class Delivery {
    let audience: Audience
    private let count: Int
    private let setting: Setting<Int>
    private var value = 1_000_000

    init(to count: Int, in workspace: Workspace) async throws {
        self.count = count
        setting = Setting(Workspace.key(0), default: 0, suite: try workspace.suite(keys: 10))
        audience = try await .listening(count, to: setting)
    }

    /// How long a set takes until all have it, in nanoseconds.
    func time() async throws -> Double {
        value += 1
        return try await audience.time { try setting.set(value) }
    }

    /// The part of that which falls to one of them.
    func toOne(_ name: String) -> Operation {
        .timingItself(name) { try await self.time() / Double(self.count) }
    }
}
