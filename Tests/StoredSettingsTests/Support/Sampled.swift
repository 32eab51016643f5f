// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport

/// A type with samples: edge cases first, followed by random values.
protocol Sampled: StoredValueConvertible {
    static var edges: [Self] { get }
    static func random(using generator: inout SeededGenerator) -> Self

    /// Whether all bits are equal, which may be stricter than `==`.
    func isExactly(_ other: Self) -> Bool
}

extension Sampled where Self: Equatable {
    func isExactly(_ other: Self) -> Bool { self == other }
}

extension Sampled {
    static func samples(_ count: Int) -> [Self] {
        var generator = SeededGenerator(seed: TestRun.seed)
        return edges + (0..<count).map { _ in random(using: &generator) }
    }
}

extension Sampled {
    /// Returns a random value, often an edge case.
    fileprivate static func any(using generator: inout SeededGenerator) -> Self {
        if Bool.random(using: &generator), let edge = edges.randomElement(using: &generator) { return edge }
        return random(using: &generator)
    }

    fileprivate static func few(using generator: inout SeededGenerator) -> [Self] {
        (0..<Int.random(in: 0...5, using: &generator)).map { _ in any(using: &generator) }
    }
}

extension Optional: Sampled where Wrapped: Sampled {
    static var edges: [Wrapped?] { [nil] + Wrapped.edges.map { .some($0) } }

    static func random(using generator: inout SeededGenerator) -> Wrapped? {
        Int.random(in: 0..<4, using: &generator) == 0 ? nil : .some(Wrapped.any(using: &generator))
    }

    func isExactly(_ other: Wrapped?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let left?, let right?): left.isExactly(right)
        default: false
        }
    }
}

extension Array: Sampled where Element: Sampled {
    static var edges: [[Element]] { [[], Element.edges] + Element.edges.prefix(3).map { [$0] } }

    static func random(using generator: inout SeededGenerator) -> [Element] { Element.few(using: &generator) }

    func isExactly(_ other: [Element]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.isExactly($1) }
    }
}

extension ContiguousArray: Sampled where Element: Sampled {
    static var edges: [ContiguousArray] { [Element].edges.map { ContiguousArray($0) } }

    static func random(using generator: inout SeededGenerator) -> ContiguousArray {
        ContiguousArray(Element.few(using: &generator))
    }

    func isExactly(_ other: ContiguousArray) -> Bool { Array(self).isExactly(Array(other)) }
}

extension Set: Sampled where Element: Sampled {
    static var edges: [Set] { [Element].edges.map { Set($0) } }

    static func random(using generator: inout SeededGenerator) -> Set { Set(Element.few(using: &generator)) }

    func isExactly(_ other: Set) -> Bool {
        count == other.count && allSatisfy { element in other.contains { $0.isExactly(element) } }
    }
}

extension Dictionary: Sampled where Key: Sampled, Value: Sampled {
    static var edges: [Dictionary] {
        [[:], Dictionary(zip(Key.edges.filter { $0 == $0 }, Value.edges + Value.edges)) { first, _ in first }]
    }

    static func random(using generator: inout SeededGenerator) -> Dictionary {
        let keys = Key.few(using: &generator).filter { $0 == $0 }
        return Dictionary(keys.map { ($0, Value.any(using: &generator)) }) { first, _ in first }
    }

    func isExactly(_ other: Dictionary) -> Bool {
        count == other.count
            && allSatisfy { entry in other.contains { $0.isExactly(entry.key) && $1.isExactly(entry.value) } }
    }
}

extension Range: Sampled where Bound: Sampled {
    static var edges: [Range] { ClosedRange<Bound>.edges.map { $0.lowerBound..<$0.upperBound } }

    static func random(using generator: inout SeededGenerator) -> Range {
        let range = ClosedRange<Bound>.random(using: &generator)
        return range.lowerBound..<range.upperBound
    }

    func isExactly(_ other: Range) -> Bool {
        lowerBound.isExactly(other.lowerBound) && upperBound.isExactly(other.upperBound)
    }
}

extension ClosedRange: Sampled where Bound: Sampled {
    static var edges: [ClosedRange] {
        let bounds = Bound.edges.filter { $0 == $0 }.sorted()
        return zip(bounds, bounds.dropFirst()).map { $0...$1 }
    }

    static func random(using generator: inout SeededGenerator) -> ClosedRange {
        while true {
            let bounds = [Bound.any(using: &generator), Bound.any(using: &generator)].sorted()
            if bounds[0] <= bounds[1] { return bounds[0]...bounds[1] }
        }
    }

    func isExactly(_ other: ClosedRange) -> Bool {
        lowerBound.isExactly(other.lowerBound) && upperBound.isExactly(other.upperBound)
    }
}
