// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StoredSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Collections and ranges")
struct CollectionTests {
    @Test("an invalid element fails the whole collection and is named by its index")
    func invalidElement() throws {
        let error = try #require(settingsError { try [[Int]](storedValue: [[1], [2, "x", 3]]) })
        #expect(error.path == [.index(1), .index(1)])
        #expect(error.message == "at [1][1]: expected an integer, found a string.")
        #expect(settingsError { try Set<Int>(storedValue: [1, nil]) }?.path == [.index(1)])
        #expect(settingsError { try ContiguousArray<Int>(storedValue: [1, nil]) }?.path == [.index(1)])
    }

    @Test("an invalid value fails the whole dictionary and is named by its key")
    func invalidValue() throws {
        let error = try #require(settingsError { try [String: [Int]](storedValue: ["a": [1], "b.c": [true]]) })
        #expect(error.path == [.key("b.c"), .index(0)])
        #expect(error.message == "at b.c[0]: expected an integer, found a Boolean.")
    }

    @Test("an element that cannot be stored fails the whole collection and is named")
    func unstorable() {
        #expect(settingsError { try [[[Int]: Int]]([[:], [[1]: 1]]).storedValue() }?.path == [.index(1)])
        #expect(settingsError { try ["k": [[1]: 1]].storedValue() }?.path == [.key("k")])
        #expect(settingsError { try [[1]: 1].storedValue() }?.code == .unstorable)
        #expect(settingsError { try [Int?.none: 1].storedValue() }?.code == .unstorable)
    }

    @Test("the stored order of a set does not depend on its insertions")
    func setOrder() throws {
        let words = (0..<200).map { "word \($0 * 7919 % 1_000)" }
        var reversed = Set<String>(minimumCapacity: 4_096)
        for word in words.reversed() { reversed.insert(word) }
        #expect(try Set(words).storedValue() == reversed.storedValue())
        #expect(try Set(words).storedValue() == .array(words.sorted().map { .string($0) }))
        #expect(try Set([3, 1, -2]).storedValue() == [-2, 1, 3])
        #expect(try Set([0.5, -0.5, .infinity, -1]).storedValue() == [-1.0, -0.5, 0.5, .double(.infinity)])
    }

    @Test("the order of stored values is total and agrees with equality")
    func totalOrder() {
        let values = StoredValue.samples(150)
        for left in values {
            for right in values {
                let count = [left.isOrdered(before: right), left == right, right.isOrdered(before: left)].count { $0 }
                #expect(count == 1)
            }
        }
        let sorted = values.sorted { $0.isOrdered(before: $1) }
        #expect(values.reversed().sorted { $0.isOrdered(before: $1) } == sorted)
    }

    @Test("keys become readable strings")
    func keyText() throws {
        #expect(try [1: 1, -2: 2].storedValue() == ["1": 1, "-2": 2])
        #expect(try [true: 1].storedValue() == ["true": 1])
        #expect(try [1.5: 1, .infinity: 2].storedValue() == ["1.5": 1, "inf": 2])
        #expect(try [Float(0.1): 1].storedValue() == ["0.1": 1])
        #expect(try [Data([1]): 1].storedValue() == ["AQ==": 1])
        #expect(try [Date(timeIntervalSinceReferenceDate: 0.5): 1].storedValue() == ["2001-01-01T00:00:00.5Z": 1])
        #expect(try [Level.warning: 1].storedValue() == ["true": 1])
        #expect(try [Double.nan: 1].storedValue() == ["nan": 1])
    }

    @Test("integer keys of every width become decimal strings, and are read from any string of that integer")
    func integerKeys() throws {
        func check<Key: FixedWidthInteger & StoredValueConvertible>(_ type: Key.Type) throws {
            let keys: Set<Key> = [.min, .max, 0, 1, 100]
            let stored = try Dictionary(uniqueKeysWithValues: keys.map { ($0, "\($0)") }).storedValue()
            #expect(stored == .dictionary(Dictionary(uniqueKeysWithValues: keys.map { ("\($0)", .string("\($0)")) })))
            #expect(Set(try [Key: String](storedValue: stored).keys) == keys)
            #expect(try [Key: Int](storedValue: ["+7": 1, "3.0": 2, "1e1": 3]) == [7: 1, 3: 2, 10: 3])
            #expect(settingsError { try [Key: Int](storedValue: ["\(Key.max)0": 1]) }?.code == .invalidValue)
        }
        try check(Int.self)
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(UInt.self)
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
    }

    @Test("an unreadable key is named with the most specific reason")
    func unreadableKey() {
        #expect(
            settingsError { try [Int: Int](storedValue: ["x": 1]) }?.message
                == "at x: expected an integer, found a string."
        )
        #expect(
            settingsError { try [Int8: Int](storedValue: ["300": 1]) }?.message
                == "at 300: the integer is outside -128...127."
        )
        #expect(settingsError { try [Bool: Int](storedValue: ["yes": 1]) }?.path == [.key("yes")])
    }

    @Test("entries with equal keys are rejected instead of dropped")
    func collisions() {
        #expect(settingsError { try [Int: Int](storedValue: ["1": 1, "01": 2]) }?.code == .invalidValue)
        #expect(settingsError { try [Double.nan: 1, -Double.nan: 2].storedValue() }?.code == .unstorable)
    }

    @Test("a key that would be read as another key is rejected")
    func ambiguousKey() throws {
        #expect(settingsError { try [StoredValue.integer(1): 1].storedValue() }?.code == .unstorable)
        #expect(try [StoredValue.string("1"): 1].storedValue() == ["1": 1])
    }

    @Test("invalid ranges are rejected")
    func ranges() throws {
        #expect(settingsError { try Range<Int>(storedValue: [2, 1]) }?.code == .invalidValue)
        #expect(try Range<Int>(storedValue: [2, 2]) == 2..<2)
        #expect(try ClosedRange<Int>(storedValue: [2, 2]) == 2...2)
        #expect(settingsError { try ClosedRange<Int>(storedValue: [2, 1]) }?.code == .invalidValue)
        #expect(settingsError { try ClosedRange<Double>(storedValue: ["nan", 1]) }?.code == .invalidValue)
        #expect(settingsError { try Range<Double>(storedValue: [1, "nan"]) }?.code == .invalidValue)
        #expect(settingsError { try Range<Int>(storedValue: [1]) }?.code == .invalidValue)
        #expect(
            settingsError { try Range<Int>(storedValue: [1, 2, 3]) }?.fact
                == "expected an array of two bounds, found 3 elements"
        )
        #expect(settingsError { try Range<Int>(storedValue: [1, "x"]) }?.path == [.index(1)])
    }
}
