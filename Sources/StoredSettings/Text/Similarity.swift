// SPDX-License-Identifier: Apache-2.0

/// A search for the name that was probably meant by a misspelled one.
package enum Similarity {
    /// Returns the most similar of some names; `nil` when none is similar.
    ///
    /// Names are similar when at most a third of the characters differ, or only upper and lower case. Of several, it is the
    /// first in order. It takes time in proportion to the product of the lengths, for each name.
    package static func best(for name: String, among names: [String]) -> String? {
        let letters = Array(name.lowercased())
        var best: (name: String, distance: Int)?
        for candidate in names.sorted() {
            let others = Array(candidate.lowercased())
            let limit = max(letters.count, others.count) / 3
            guard abs(letters.count - others.count) <= limit else { continue }
            let distance = distance(letters, others)
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// Returns the present key of the setting whose present or old key is the most similar one.
    package static func best(for key: String, among settings: [StoredKeys]) -> String? {
        let similar = best(for: key, among: settings.flatMap(\.all))
        return settings.first { keys in keys.all.contains { $0 == similar } }?.current
    }

    /// The number of characters to insert, remove or replace, and of neighbors to exchange, until both are equal.
    ///
    /// It is the optimal string alignment distance.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var (beforeLast, last) = ([Int](), Array(0...right.count))
        for row in 1...left.count {
            var current = [row]
            for column in 1...right.count {
                let isEqual = left[row - 1] == right[column - 1]
                var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isEqual ? 0 : 1))
                let isExchange =
                    row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1]
                if isExchange { cost = min(cost, beforeLast[column - 2] + 1) }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
