// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Rows {
    /// The same operations with `UserDefaults`, with the same floors.
    ///
    /// On Linux, a set alone never reaches the disk.
    static let userDefaults = [10, 1_000, 10_000]
        .flatMap { keys in
            let size = "\(Format.count(keys)) keys"
            return [
                Row(group: "UserDefaults", name: "UserDefaults get, \(size)") { workspace in
                    let defaults = try workspace.userDefaults(keys: keys)
                    let key = Workspace.key(1)
                    let get = Operation.loop("get") { BlackHole.sum($0) { defaults.integer(forKey: key) } }
                    return Trial(
                        subject: get,
                        comparisons: [.init(.loop("Atomic<Int> load", Floors.atomicLoad()))]
                    )
                },
                Row(group: "UserDefaults", name: "UserDefaults set, \(size)") { workspace in
                    let defaults = try workspace.userDefaults(keys: keys)
                    let key = Workspace.key(0)
                    var value = 1_000_000
                    return Trial(
                        subject: .each("set") {
                            value += 1
                            defaults.set(value, forKey: key)
                        },
                        comparisons: [.init(try Floors.lockedAppend(in: workspace))]
                    )
                },
                Row(group: "UserDefaults", name: "UserDefaults set + synchronize, \(size)") { workspace in
                    Trial(
                        subject: try userDefaultsSynchronizedSet(keys: keys, in: workspace),
                        comparisons: [.init(try Floors.synchronizedAppend(in: workspace))]
                    )
                },
            ]
        }
}
