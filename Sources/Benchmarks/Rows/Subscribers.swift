// SPDX-License-Identifier: Apache-2.0

import StoredSettings

extension Rows {
    private static let subscriberCount = 1_000

    /// From the beginning of a set until the last subscriber has the value.
    static let subscribers = [
        Row(group: "subscribers", name: "1,000 subscribers of a key, one set", leastSamples: 105) { workspace in
            let setting = Setting(Workspace.key(0), default: 0, suite: try workspace.suite(keys: 10))
            let (ours, plain) = (Gate(subscriberCount), Gate(subscriberCount))
            var tasks: [Task<Void, Never>] = []
            _ = try await ours.time {
                tasks = subscribe { for await _ in setting.values { ours.arrive() } }
            }
            let streams = (0..<subscriberCount)
                .map { _ in AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1)) }
            for (stream, _) in streams { tasks.append(Task { for await _ in stream { plain.arrive() } }) }
            let dog = watchdog {
                ours.giveUp()
                plain.giveUp()
            }
            let (all, continuations) = (tasks, streams.map(\.continuation))
            var value = 1_000_000
            return Trial(
                subject: .timingItself("set until all have it") {
                    value += 1
                    return try await ours.time { try setting.set(value) }
                },
                comparisons: [
                    .init(nil, .median(3e6)),
                    .init(
                        .timingItself("1,000 AsyncStreams, yield to each") {
                            try await plain.time { for continuation in continuations { continuation.yield(1) } }
                        }
                    ),
                ]
            ) {
                dog.cancel()
                for task in all { task.cancel() }
                for task in all { await task.value }
            }
        }
    ]

    private static func subscribe(_ body: @escaping @Sendable () async -> Void) -> [Task<Void, Never>] {
        (0..<subscriberCount).map { _ in Task { await body() } }
    }
}
