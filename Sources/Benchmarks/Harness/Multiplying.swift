// SPDX-License-Identifier: Apache-2.0

/// Work that keeps a core's multiplier busy and touches no memory: two threads that do it on cores of their own do not
/// hinder each other.
enum Multiplying {
    /// About 50 microseconds' worth.
    private static let count = 8_000

    /// Whether the two cores are cores of their own now.
    ///
    /// A virtual machine's cores may be halves of one, for a while and unannounced. Then any two threads are slower
    /// together, whatever they do.
    static var hasTwoCores: Bool {
        let alone = averageTime(.inTurn)
        return averageTime(.together) <= 1.1 * alone
    }

    private static func averageTime(_ way: Meeting.Way) -> Double {
        let times = Meeting.run(way, count: count, work).map { Double($0.end - $0.start) }
        return times.reduce(0, +) / Double(times.count)
    }

    /// Chains of multiplications that do not depend on each other: while one waits for its last result, others go on.
    @Sendable private static func work(_ count: Int) -> Int {
        let factor: UInt = 6_364_136_223_846_793_005
        var (a, b, c, d, e, f) = (UInt(1), UInt(2), UInt(3), UInt(4), UInt(5), UInt(6))
        for _ in 0..<count {
            a = a &* factor &+ 1
            b = b &* factor &+ 3
            c = c &* factor &+ 5
            d = d &* factor &+ 7
            e = e &* factor &+ 9
            f = f &* factor &+ 11
        }
        return Int(bitPattern: a ^ b ^ c ^ d ^ e ^ f)
    }
}
