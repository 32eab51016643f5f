// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension Rows {
    /// The memory of each of 10,000 objects, if the allocator reports it.
    static let memory =
        Heap.isKnown ? [storedKeys, idleTasks, idleStreams, readSettings, readTexts, secondWrappers] : []

    private static let count = 10_000

    private static let storedKeys = Row(group: "memory", name: "memory of a stored key") { workspace in
        let path = try workspace.settingsFile(keys: count)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let decoder = JSONDecoder()
        return Trial(
            subject: .memory("an open suite", of: count) {
                let suite = SettingsSuite(fileAt: path)
                guard suite.keys.count == count else { throw Failure("some keys are missing") }
                return { withExtendedLifetime(suite) {} }
            },
            comparisons: [
                .init(
                    .memory("[String: Int]", of: count) {
                        let values = try decoder.decode([String: Int].self, from: bytes)
                        return { withExtendedLifetime(values) {} }
                    }
                )
            ]
        )
    }

    private static let idleTasks = Row(group: "memory", name: "memory of an idle subscriber") { workspace in
        let setting = Setting(Workspace.key(0), default: 0, suite: try workspace.suite(keys: 10))
        return Trial(
            subject: .memory("tasks in a loop", of: count) {
                let group = try await SubscriberGroup.subscribed(count, to: setting)
                return { await group.cancel() }
            },
            comparisons: [
                .init(
                    .memory("the same over an AsyncStream", of: count) {
                        let (group, continuations) = try await SubscriberGroup.ofStreams(count)
                        return {
                            withExtendedLifetime(continuations) {}
                            await group.cancel()
                        }
                    }
                )
            ]
        )
    }

    private static let idleStreams = Row(group: "memory", name: "memory of an idle subscriber, no task") { workspace in
        let setting = Setting(Workspace.key(0), default: 0, suite: try workspace.suite(keys: 10))
        return Trial(
            subject: .memory("started streams", of: count) {
                var streams: [Setting<Int>.Values.Iterator] = []
                for _ in 0..<count {
                    var stream = setting.values.makeAsyncIterator()
                    _ = await stream.next()
                    streams.append(stream)
                }
                return { [streams] in withExtendedLifetime(streams) {} }
            },
            comparisons: [
                .init(
                    .memory("an AsyncStream", of: count) {
                        var streams: [(AsyncStream<Int>.Iterator, AsyncStream<Int>.Continuation)] = []
                        for _ in 0..<count {
                            let new = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
                            new.continuation.yield(0)
                            var stream = new.stream.makeAsyncIterator()
                            _ = await stream.next()
                            streams.append((stream, new.continuation))
                        }
                        return { [streams] in withExtendedLifetime(streams) {} }
                    }
                )
            ]
        )
    }

    private static let readSettings = Row(group: "memory", name: "memory of a setting that is read, Int") { workspace in
        Trial(
            subject: .memory("read once", of: count) { release(read(0, in: try workspace.suite(keys: 0))) },
            comparisons: []
        )
    }

    private static let readTexts = Row(group: "memory", name: "memory of a setting that is read, String") { workspace in
        Trial(
            subject: .memory("read once", of: count) { release(read(Sample.text, in: try workspace.suite(keys: 0))) },
            comparisons: []
        )
    }

    private static let secondWrappers = Row(group: "memory", name: "memory of a second wrapper of a key") { workspace in
        let suite = try workspace.suite(keys: count)
        let first = read(0, in: suite)
        return Trial(
            subject: .memory("created and read once", of: count) { release(read(0, in: suite)) },
            comparisons: []
        ) {
            withExtendedLifetime(first) {}
        }
    }

    /// Settings with distinct keys, each of which was read once.
    private static func read<Value: StoredValueConvertible>(
        _ value: Value,
        in suite: SettingsSuite
    ) -> [DefaultStorage<Value>] {
        (0..<count)
            .map { index in
                let wrapper = DefaultStorage(wrappedValue: value, key: Workspace.key(index), suite: suite)
                _ = wrapper.wrappedValue
                return wrapper
            }
    }

    private static func release(_ things: some Any) -> () async -> Void {
        { withExtendedLifetime(things) {} }
    }
}
