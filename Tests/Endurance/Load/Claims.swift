// SPDX-License-Identifier: Apache-2.0

/// Who came to which number by adding one: no two may come to the same.
///
/// A sum that lies between what was acknowledged and what was begun could hide an update that was lost behind one that
/// was under way in a process that was killed; this cannot.
struct Claims {
    /// What is counted beyond is not claimed any more; a run comes nowhere near.
    private static let limit = 1 << 20

    private let words: Words

    init(in directory: String) throws {
        words = try Words(at: "\(directory)/claims", count: Self.limit * LoadPlan.sums)
    }

    /// Notes that a writer came to a number.
    ///
    /// - Returns: The other writer that came to it, if one did.
    func claim(_ number: Int, ofSum sum: Int, by writer: Int) -> Int? {
        guard (0..<Self.limit).contains(number) else { return nil }
        let other = words[sum * Self.limit + number].exchange(writer + 1)
        return other == 0 ? nil : other - 1
    }
}
