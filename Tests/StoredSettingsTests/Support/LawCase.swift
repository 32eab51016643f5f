// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One type with many of its values, for laws that hold for all types alike.
///
/// The values are the same in every process. So one process can store ``storedValues()`` and another one, or the same
/// one after a detour through a file, can ask for the ``failures(reading:)`` of what came back.
struct LawCase: Sendable, CustomTestStringConvertible {
    let name: String

    /// Whether what a JSON file holds for a stored value gives the same value.
    ///
    /// Not for values that are stored as themselves: a date among them comes back from JSON as text.
    let survivesText: Bool

    private let write: @Sendable () throws -> [StoredValue]
    private let compare: @Sendable ([StoredValue]) -> [String]
    private let read: @Sendable (StoredValue) -> (any Error)?

    init<Value: Sampled>(_ type: Value.Type, count: Int = 3_000, survivesText: Bool = true) {
        name = "\(type)"
        self.survivesText = survivesText
        write = { try Value.samples(count).map { try $0.storedValue() } }
        compare = { storedValues in
            let samples = Value.samples(count)
            guard samples.count == storedValues.count else {
                return ["\(storedValues.count) of \(samples.count) came back"]
            }
            return zip(samples, storedValues)
                .compactMap { sample, storedValue in
                    // Told by stored values: Foundation cannot describe every date without trapping.
                    do {
                        let value = try Value(storedValue: storedValue)
                        return value.isExactly(sample) ? nil : "\(storedValue) came back as \(try value.storedValue())"
                    } catch {
                        return "\(storedValue) did not come back: \(error)"
                    }
                }
        }
        read = { storedValue in
            do {
                _ = try Value(storedValue: storedValue)
                return nil
            } catch {
                return error
            }
        }
    }

    var testDescription: String { name }

    /// What is to be stored for each of the values.
    func storedValues() throws -> [StoredValue] { try write() }

    /// What is wrong with what came back, one text for each wrong value.
    func failures(reading storedValues: [StoredValue]) -> [String] { compare(storedValues) }

    /// What the type throws for a stored value, or nil when it takes it.
    func refusal(of storedValue: StoredValue) -> (any Error)? { read(storedValue) }
}

extension LawCase {
    static let all: [LawCase] =
        [LawCase(Bool.self, count: 4), LawCase(Int.self), LawCase(Int8.self), LawCase(Int16.self), LawCase(Int32.self)]
        + [LawCase(Int64.self), LawCase(Int128.self), LawCase(UInt.self), LawCase(UInt8.self), LawCase(UInt16.self)]
        + [
            LawCase(UInt32.self), LawCase(UInt64.self), LawCase(UInt128.self), LawCase(Double.self),
            LawCase(Float.self),
        ]
        + [LawCase(String.self), LawCase(Character.self), LawCase(Date.self), LawCase(Data.self), LawCase(URL.self)]
        + [LawCase(UUID.self), LawCase(Decimal.self), LawCase(Duration.self)]
        + [LawCase(StoredValue.self, survivesText: false), LawCase(Level.self), LawCase(Rank.self), LawCase(Both.self)]
        + [LawCase(Everything.self, count: 500), LawCase(Shape.self)]
        + collections

    private static let collections: [LawCase] =
        [
            LawCase(Int?.self), LawCase(Int??.self), LawCase(Int???.self), LawCase([Int?]?.self),
            LawCase([[Int?]?]??.self),
        ]
        + [LawCase(StoredValue?.self, survivesText: false), LawCase([StoredValue]?.self, survivesText: false)]
        + [LawCase([Double].self, count: 500), LawCase([[String]].self, count: 500)]
        + [
            LawCase(ContiguousArray<Date?>.self, count: 500), LawCase([Level].self, count: 500),
            LawCase([Everything].self, count: 20),
        ]
        + [
            LawCase(Set<String>.self, count: 500), LawCase(Set<[Int?]>.self, count: 500),
            LawCase(Set<Date>.self, count: 500),
        ]
        + [
            LawCase([String: Int?].self, count: 500), LawCase([Int: String].self, count: 500),
            LawCase([Level: Data].self),
        ]
        + [
            LawCase([UInt128: Bool].self, count: 500), LawCase([Bool: [Int]].self, count: 500),
            LawCase([Rank: URL].self),
        ]
        + [
            LawCase([Date: Int].self, count: 500), LawCase([Data: Int].self, count: 500),
            LawCase([Character: Int].self),
        ]
        + [LawCase([UUID: Decimal].self, count: 500), LawCase([Duration: Duration].self, count: 500)]
        + [LawCase([Float: [String: Double]].self, count: 500)]
        + [
            LawCase(Range<Int>.self), LawCase(ClosedRange<Double>.self), LawCase(Range<Date>.self),
            LawCase(ClosedRange<String>.self),
        ]
}
