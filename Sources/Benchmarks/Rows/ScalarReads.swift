// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension Rows {
    /// Hot reads of values that fit in a register.
    static let scalarReads = ScalarRead.all.map { read in
        Row(group: "hot read", name: "read \(read.name)") { workspace in
            let settings = try SampleSettings(workspace.suite(keys: 1_000))
            let body = read.body(settings)
            guard body(1) == read.expected else { throw Failure("the value that was read is not the stored one") }
            return Trial(
                subject: .loop(read.name, body),
                comparisons: [
                    .init(.loop("Atomic<Int> load", Floors.atomicLoad()), .atMost(2)),
                    .init(try read.userDefaults(in: workspace), .faster(200)),
                ]
            )
        }
    }

    /// Two values of one version.
    static let coherentRead = Row(group: "hot read", name: "read two coherently") { workspace in
        let suite = try workspace.suite(keys: 1_000)
        let settings = try SampleSettings(suite)
        let (int, level) = (settings.$int, settings.$level)
        let body: @Sendable (Int) -> Int = { count in
            BlackHole.sum(count) {
                let (number, level) = suite.read(int, level)
                return number + level.number
            }
        }
        guard body(1) == 45 else { throw Failure("the values that were read are not the stored ones") }
        let both: @Sendable (Int) -> Int = { count in
            BlackHole.sum(count) { settings.int + settings.level.number }
        }
        return Trial(
            subject: .loop("read two coherently", body),
            comparisons: [.init(.loop("one read after the other", both), .atMost(3))]
        )
    }

    /// The same reads on two threads at once.
    static let threadedReads = ScalarRead.all.map { read in
        Row(group: "hot read, 2 threads", name: "read \(read.name), 2 threads") { workspace in
            let body = read.body(try SampleSettings(workspace.suite(keys: 1_000)))
            return Trial(
                subject: .threads(.together, read.name, body),
                comparisons: [
                    .init(.threads(.sequential, "the same, 1 thread", body), .atMost(1.2), .together(1.8)),
                    .init(.threads(.together, "Atomic<Int> load, 2 threads", Floors.atomicLoad())),
                ]
            )
        }
    }
}

/// A loop of reads of one type, with this library and with Foundation.
private struct ScalarRead: Sendable {
    let name: String
    /// The value that one read adds to the sum.
    let expected: Int
    let body: @Sendable (SampleSettings) -> @Sendable (Int) -> Int
    let userDefaults: @Sendable (UserDefaults, Int) -> Int

    static let all = [bool, int, double, level]

    func userDefaults(in workspace: Workspace) throws -> Operation {
        let defaults = try workspace.userDefaults(keys: 1_000)
        defaults.set(true, forKey: "bool")
        defaults.set(42, forKey: "int")
        defaults.set(0.5, forKey: "double")
        defaults.set(Level.warning.rawValue, forKey: "level")
        guard userDefaults(defaults, 1) == expected else {
            throw Failure("UserDefaults does not return the value that was set")
        }
        return .loop("UserDefaults, 1,000 keys") { userDefaults(defaults, $0) }
    }

    private static let bool = ScalarRead(name: "Bool", expected: 1) { settings in
        { count in BlackHole.sum(count) { settings.bool ? 1 : 0 } }
    } userDefaults: { defaults, count in
        BlackHole.sum(count) { defaults.bool(forKey: "bool") ? 1 : 0 }
    }

    private static let int = ScalarRead(name: "Int", expected: 42) { settings in
        { count in BlackHole.sum(count) { settings.int } }
    } userDefaults: { defaults, count in
        BlackHole.sum(count) { defaults.integer(forKey: "int") }
    }

    private static let double = ScalarRead(name: "Double", expected: Int(bitPattern: 0.5.asBits)) { settings in
        { count in BlackHole.sum(count) { Int(bitPattern: settings.double.asBits) } }
    } userDefaults: { defaults, count in
        BlackHole.sum(count) { Int(bitPattern: defaults.double(forKey: "double").asBits) }
    }

    private static let level = ScalarRead(name: "enum", expected: 3) { settings in
        { count in BlackHole.sum(count) { settings.level.number } }
    } userDefaults: { defaults, count in
        BlackHole.sum(count) { defaults.string(forKey: "level").flatMap(Level.init(rawValue:))?.number ?? 0 }
    }
}

extension Double {
    fileprivate var asBits: UInt { UInt(bitPattern) }
}

extension Level {
    fileprivate var number: Int {
        switch self {
        case .debug: 1
        case .info: 2
        case .warning: 3
        }
    }
}
