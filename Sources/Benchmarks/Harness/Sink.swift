// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Where results go that nobody needs, so that the optimiser cannot leave out what made them.
enum Subscriber {
    private static let total = Atomic(0)

    static func keep(_ value: Int) {
        total.wrappingAdd(value, ordering: .relaxed)
    }

    /// The sum of what a read gives when it is made a number of times.
    ///
    /// Each value is handed to a function, as it is in a program: else the optimiser may read several at once.
    @inline(__always)
    static func sum(_ count: Int, _ read: () -> Int) -> Int {
        var sum = 0
        for _ in 0..<count { sum = add(read(), to: sum) }
        return sum
    }

    /// Takes and gives the sum in a register: memory is touched by what is measured, and nothing else.
    @inline(never)
    private static func add(_ value: Int, to sum: Int) -> Int {
        sum &+ value
    }
}
