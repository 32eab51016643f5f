// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

extension Rows {
    static let checkpoints = [
        duringCheckpoints("p99.9", at: 0.999), duringCheckpoints("longest", at: 1, .median(50e6)), exit,
    ]

    /// The slowest sets while checkpoints run.
    private static func duringCheckpoints(_ name: String, at quantile: Double, _ bars: Bar...) -> Row {
        let title = "a set during a checkpoint, 10,000 keys: \(name)"
        return Row(group: "checkpoint", name: title, leastSamples: 20) { workspace in
            let sets = try SetsDuringCheckpoint(workspace.suite(keys: 10_000))
            let ordinary = Setting(Workspace.key(0), default: 0, suite: try workspace.suite(keys: 10_000))
            var value = 1_000_000
            return Trial(
                subject: .timingItself("set") { try sets.run(quantile: quantile) },
                comparisons: [
                    .init(
                        .each("set without a checkpoint") {
                            value += 1
                            try ordinary.set(value)
                        },
                        bars
                    )
                ]
            )
        }
    }

    private static let exit = Row(group: "exit", name: "change one value and exit", leastSamples: 15) { workspace in
        let path = try workspace.settingsFile(keys: 10)
        return Trial(
            subject: .timingItself("more than a process that does nothing") {
                try ShortProcess.time(.set, at: path) - ShortProcess.time(.nothing, at: path)
            },
            comparisons: [.init(try Floors.synchronizedAppend(in: workspace), .atMost(1.5))]
        )
    }
}

/// Sets a value again and again while a checkpoint runs on another thread.
private final class SetsDuringCheckpoint {
    private let suite: SettingsSuite
    private let setting: Setting<Int>
    private var value = 1_000_000

    init(_ suite: SettingsSuite) {
        self.suite = suite
        setting = Setting(Workspace.key(0), default: 0, suite: suite)
    }

    /// - Returns: A quantile of the time of a set, in nanoseconds.
    func run(quantile: Double) throws -> Double {
        try set()
        let end = Mutex<Result<Void, any Error>?>(nil)
        let (suite, started) = (suite, DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            started.signal()
            let result = Result { try suite.checkpoint() }
            end.withLock { $0 = result }
        }
        started.wait()
        var times: [Double] = []
        var result: Result<Void, any Error>?
        while result == nil {
            for _ in 0..<100 {
                let start = Clock.now()
                try set()
                times.append(Double(Clock.now() - start))
            }
            result = end.withLock(\.self)
        }
        try result?.get()
        times.sort()
        return times[min(Int(Double(times.count) * quantile), times.count - 1)]
    }

    private func set() throws {
        value += 1
        try setting.set(value)
    }
}
