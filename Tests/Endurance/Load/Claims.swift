// SPDX-License-Identifier: Apache-2.0

/// The writer of each value of a sum: no two writers may reach the same value.
///
/// A range check of the sum alone could miss a lost update if a killed process had another update in progress. This
/// check cannot.
struct Claims {
    /// Larger values are not checked; no run reaches them.
    private static let limit = 1 << 20

    private let words: Words

    init(in directory: String) throws {
        words = try Words(at: "\(directory)/claims", count: Self.limit * LoadPlan.sums)
    }

    /// Records that a writer has reached a value.
    ///
    /// - Returns: The other writer that has reached it, if there is one.
    func claim(_ number: Int, ofSum sum: Int, by writer: Int) -> Int? {
        guard (0..<Self.limit).contains(number) else { return nil }
        let other = words[sum * Self.limit + number].exchange(writer + 1)
        return other == 0 ? nil : other - 1
    }
}
