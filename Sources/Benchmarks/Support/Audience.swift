// SPDX-License-Identifier: Apache-2.0

import StoredSettings

/// Tasks that each wait for the next value of a stream of their own.
final class Audience {
    private let gate: Gate
    private let dog: Task<Void, Never>
    private var tasks: [Task<Void, Never>] = []

    private init(_ count: Int) {
        let gate = Gate(count)
        self.gate = gate
        dog = watchdog { gate.giveUp() }
        tasks.reserveCapacity(count)
    }

    /// How long it takes, from the beginning of a body that tells them something until all have it, in nanoseconds.
    func time(_ tell: () throws -> Void) async throws -> Double {
        try await gate.time(tell)
    }

    /// Sends them home.
    func leave() async {
        dog.cancel()
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        tasks = []
    }
}

extension Audience {
    /// An audience of a setting, which has heard its value.
    static func listening(_ count: Int, to setting: Setting<Int>) async throws -> Audience {
        let audience = Audience(count)
        let gate = audience.gate
        _ = try await audience.time {
            for _ in 0..<count {
                audience.tasks.append(Task { for await _ in setting.values { gate.arrive() } })
            }
        }
        return audience
    }

    /// The same of plain streams, each of which keeps its newest element, and what leads to them.
    static func ofStreams(_ count: Int) async throws -> (Audience, [AsyncStream<Int>.Continuation]) {
        let audience = Audience(count)
        let gate = audience.gate
        var continuations: [AsyncStream<Int>.Continuation] = []
        continuations.reserveCapacity(count)
        for _ in 0..<count {
            let (stream, continuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
            audience.tasks.append(Task { for await _ in stream { gate.arrive() } })
            continuations.append(continuation)
        }
        _ = try await audience.time { for continuation in continuations { continuation.yield(0) } }
        return (audience, continuations)
    }
}
