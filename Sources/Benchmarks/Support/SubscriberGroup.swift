// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// Tasks that each wait for the next value of their own stream.
final class SubscriberGroup {
    private let gate: Gate
    private let timeout: Task<Void, Never>
    private var tasks: [Task<Void, Never>] = []

    private init(_ count: Int) {
        let gate = Gate(count)
        self.gate = gate
        timeout = watchdog { gate.fail() }
        tasks.reserveCapacity(count)
    }

    /// The time from the start of a body that sends a value until all tasks have received it, in nanoseconds.
    func time(_ body: () throws -> Void) async throws -> Double {
        try await gate.time(body)
    }

    /// Cancels the tasks and waits for their end.
    func cancel() async {
        timeout.cancel()
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        tasks = []
    }
}

extension SubscriberGroup {
    /// A group that has received the first value of a setting.
    static func subscribed(_ count: Int, to setting: Setting<Int>) async throws -> SubscriberGroup {
        let group = SubscriberGroup(count)
        let gate = group.gate
        _ = try await group.time {
            for _ in 0..<count {
                group.tasks.append(Task { for await _ in setting.values { gate.arrive() } })
            }
        }
        return group
    }

    /// A group over plain streams that each buffer the newest element, and their continuations.
    static func ofStreams(_ count: Int) async throws -> (SubscriberGroup, [AsyncStream<Int>.Continuation]) {
        let group = SubscriberGroup(count)
        let gate = group.gate
        var continuations: [AsyncStream<Int>.Continuation] = []
        continuations.reserveCapacity(count)
        for _ in 0..<count {
            let (stream, continuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
            group.tasks.append(Task { for await _ in stream { gate.arrive() } })
            continuations.append(continuation)
        }
        _ = try await group.time { for continuation in continuations { continuation.yield(0) } }
        return (group, continuations)
    }
}
