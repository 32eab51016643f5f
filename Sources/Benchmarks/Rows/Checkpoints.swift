// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import Synchronization

extension Rows {
    static let checkpoints = [
        duringCheckpoints("the first", .first, .atMost(10)), duringCheckpoints("p99.9", .quantile(0.999)),
        duringCheckpoints("longest", .quantile(1), .median(50e6)), firstSet, exit,
    ]

    /// The first and the slowest sets while checkpoints run.
    private static func duringCheckpoints(
        _ name: String,
        _ choice: SetsDuringCheckpoint.Choice,
        _ bars: Bar...
    ) -> Row {
        let title = "a set during a checkpoint, 10,000 keys: \(name)"
        return Row(group: "checkpoint", name: title, leastSamples: 20) { workspace in
            let sets = SetsDuringCheckpoint(at: try workspace.settingsFile(keys: 10_000))
            let ordinary = Setting(Workspace.key(0), default: 0, suite: try workspace.suite(keys: 10_000))
            var value = 1_000_000
            var comparisons: [Trial.Comparison] = [
                .init(
                    .each("set without a checkpoint") {
                        value += 1
                        try ordinary.set(value)
                    },
                    bars
                )
            ]
            // The benchmark lists the directory to notice the draft. The set that follows finds little in the caches.
            if case .first = choice {
                comparisons.append(.init(.timingItself("the same without a checkpoint") { try sets.runAfterListing() }))
            }
            return Trial(subject: .timingItself("set") { try sets.run(choice) }, comparisons: comparisons)
        }
    }

    private static let firstSet = Row(
        group: "exit",
        name: "the first set of a process",
        leastSamples: 15
    ) { workspace in
        let path = try workspace.settingsFile(keys: 10)
        let ordinary = Setting(Workspace.key(0), default: 0, suite: try workspace.suite(keys: 10))
        var value = 1_000_000
        return Trial(
            subject: .timingItself("first set") { try ShortProcess.times(.set, at: path).set },
            comparisons: [
                .init(
                    .each("another set") {
                        value += 1
                        try ordinary.set(value)
                    }
                )
            ]
        )
    }

    private static let exit = Row(group: "exit", name: "change one value and exit", leastSamples: 15) { workspace in
        let path = try workspace.settingsFile(keys: 10)
        return Trial(
            subject: .timingItself("more than a process that does nothing") {
                try ShortProcess.times(.set, at: path).total - ShortProcess.times(.nothing, at: path).total
            },
            comparisons: [.init(try Floors.synchronizedAppend(in: workspace), .atMost(1.5))]
        )
    }
}

/// Sets a value while a checkpoint runs on another thread.
private final class SetsDuringCheckpoint {
    /// The set whose time is measured.
    enum Choice {
        /// The first one after the checkpoint has begun to write its draft.
        case first
        /// A quantile of the sets that are made without a pause until the checkpoint ends.
        case quantile(Double)
    }

    /// The end of the name of a draft.
    private static let draftSuffix = ".new"

    private let directory: String
    private let suite: SettingsSuite
    private let setting: Setting<Int>
    private var value = 1_000_000

    init(at path: String) {
        directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        suite = SettingsSuite(fileAt: path)
        setting = Setting(Workspace.key(0), default: 0, suite: suite)
    }

    /// - Returns: The time of the set, in nanoseconds.
    func run(_ choice: Choice) throws -> Double {
        // A checkpoint that was over before it was noticed is repeated.
        while true {
            try set()
            var times: [Double] = []
            try withCheckpoint { isOver in
                switch choice {
                case .first:
                    while try !isOver() {
                        guard try hasDraft() else { continue }
                        times.append(try timeOfSet())
                        break
                    }
                case .quantile:
                    while try !isOver() {
                        for _ in 0..<100 { times.append(try timeOfSet()) }
                    }
                }
            }
            guard !times.isEmpty else { continue }
            times.sort()
            switch choice {
            case .first: return times[0]
            case .quantile(let quantile): return times[min(Int(Double(times.count) * quantile), times.count - 1)]
            }
        }
    }

    /// - Returns: The time of a set after a list of the directory, without a checkpoint, in nanoseconds.
    func runAfterListing() throws -> Double {
        for _ in 0..<10 { _ = try hasDraft() }
        return try timeOfSet()
    }

    /// Runs a body beside a checkpoint.
    ///
    /// - Parameter body: Receives a function that returns whether the checkpoint has ended.
    /// - Throws: The error of the checkpoint or of the body.
    private func withCheckpoint(_ body: (() throws -> Bool) throws -> Void) throws {
        let end = Mutex<Result<Void, any Error>?>(nil)
        let (suite, started, ended) = (suite, DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            started.signal()
            let result = Result { try suite.checkpoint() }
            end.withLock { $0 = result }
            ended.signal()
        }
        started.wait()
        try body { try end.withLock(\.self).map { try $0.get() } != nil }
        ended.wait()
    }

    private func hasDraft() throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: directory).contains { $0.hasSuffix(Self.draftSuffix) }
    }

    private func timeOfSet() throws -> Double {
        let start = Clock.now()
        try set()
        return Double(Clock.now() - start)
    }

    private func set() throws {
        value += 1
        try setting.set(value)
    }
}
