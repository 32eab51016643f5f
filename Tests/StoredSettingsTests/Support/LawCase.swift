// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A type with many samples, for laws that hold for all types.
///
/// The samples are the same throughout a run. ``failures(reading:)`` checks ``storedValues()``, also after a round trip through a
/// file.
struct LawCase: Sendable, CustomTestStringConvertible {
    let name: String

    /// Whether values survive a round trip through JSON.
    ///
    /// False for values that are stored as themselves, because JSON represents a date as a string.
    let survivesJSON: Bool

    private let write: @Sendable () throws -> [StoredValue]
    private let compare: @Sendable ([StoredValue]) -> [String]
    private let read: @Sendable (StoredValue) -> (any Error)?

    // Of `all` random samples, the quick tier has a part.
    init<Value: Sampled>(_ type: Value.Type, count all: Int = 3_000, survivesJSON: Bool = true) {
        let count = TestRun.count(quick: min(all, 20 + all / 25), exhaustive: all)
        name = "\(type)"
        self.survivesJSON = survivesJSON
        write = { try Value.samples(count).map { try $0.storedValue() } }
        compare = { storedValues in
            let samples = Value.samples(count)
            guard samples.count == storedValues.count else {
                return ["\(storedValues.count) of \(samples.count) were read"]
            }
            return zip(samples, storedValues)
                .compactMap { sample, storedValue in
                    // Messages contain stored values, because Foundation cannot describe every date without trapping.
                    do {
                        let value = try Value(storedValue: storedValue)
                        return value.isExactly(sample) ? nil : "\(storedValue) was read as \(try value.storedValue())"
                    } catch {
                        return "\(storedValue) was not read: \(error)"
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

    /// The stored value of each sample.
    func storedValues() throws -> [StoredValue] { try write() }

    /// Compares stored values with the samples, and returns a message for each difference.
    func failures(reading storedValues: [StoredValue]) -> [String] { compare(storedValues) }

    /// The error that the type throws for a stored value, or `nil` if it accepts the value.
    func rejection(of storedValue: StoredValue) -> (any Error)? { read(storedValue) }
}

extension LawCase {
    static let all: [LawCase] =
        [LawCase(Bool.self, count: 4), LawCase(Int.self), LawCase(Int8.self), LawCase(Int16.self), LawCase(Int32.self)]
        + [LawCase(Int64.self), LawCase(Int128.self), LawCase(UInt.self), LawCase(UInt8.self), LawCase(UInt16.self)]
        + [
            LawCase(UInt32.self), LawCase(UInt64.self), LawCase(UInt128.self), LawCase(Double.self),
            LawCase(Float.self),
        ]
        + [LawCase(String.self), LawCase(Date.self), LawCase(Data.self), LawCase(URL.self)]
        + [LawCase(UUID.self), LawCase(Decimal.self), LawCase(Duration.self)]
        + [LawCase(StoredValue.self, survivesJSON: false), LawCase(Level.self), LawCase(Rank.self), LawCase(Both.self)]
        + [LawCase(Everything.self, count: 500), LawCase(Shape.self)]
        + collections

    private static let collections: [LawCase] =
        [
            LawCase(Int?.self), LawCase(Int??.self), LawCase(Int???.self), LawCase([Int?]?.self),
            LawCase([[Int?]?]??.self),
        ]
        + [LawCase(StoredValue?.self, survivesJSON: false), LawCase([StoredValue]?.self, survivesJSON: false)]
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
        ]
        + [LawCase([UUID: Decimal].self, count: 500), LawCase([Duration: Duration].self, count: 500)]
        + [LawCase([Float: [String: Double]].self, count: 500)]
        + [
            LawCase(Range<Int>.self), LawCase(ClosedRange<Double>.self), LawCase(Range<Date>.self),
            LawCase(ClosedRange<String>.self),
        ]
}
