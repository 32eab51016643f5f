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
    @Test("a bad element fails the whole and is named by its index")
    func badElement() throws {
        let error = try #require(settingsError { try [[Int]](storedValue: [[1], [2, "x", 3]]) })
        #expect(error.path == [.index(1), .index(1)])
        #expect(error.message == "at [1][1]: expected an integer, found a string.")
        #expect(settingsError { try Set<Int>(storedValue: [1, nil]) }?.path == [.index(1)])
        #expect(settingsError { try ContiguousArray<Int>(storedValue: [1, nil]) }?.path == [.index(1)])
    }

    @Test("a bad value fails the whole and is named by its key")
    func badValue() throws {
        let error = try #require(settingsError { try [String: [Int]](storedValue: ["a": [1], "b.c": [true]]) })
        #expect(error.path == [.key("b.c"), .index(0)])
        #expect(error.message == "at b.c[0]: expected an integer, found a Boolean.")
    }

    @Test("an element without a stored form fails the whole and is named")
    func unstorable() {
        #expect(settingsError { try [[[Int]: Int]]([[:], [[1]: 1]]).storedValue() }?.path == [.index(1)])
        #expect(settingsError { try ["k": [[1]: 1]].storedValue() }?.path == [.key("k")])
        #expect(settingsError { try [[1]: 1].storedValue() }?.code == .unstorable)
        #expect(settingsError { try [Int?.none: 1].storedValue() }?.code == .unstorable)
    }

    @Test("a set is stored in the same order however it was built")
    func setOrder() throws {
        let words = (0..<200).map { "word \($0 * 7919 % 1_000)" }
        var backwards = Set<String>(minimumCapacity: 4_096)
        for word in words.reversed() { backwards.insert(word) }
        #expect(try Set(words).storedValue() == backwards.storedValue())
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

    @Test("keys become the text that people would write")
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

    @Test("a key that cannot be read is named, with the reason that says most")
    func badKey() {
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

    @Test("no entry is dropped for another that has the same key")
    func collisions() {
        #expect(settingsError { try [Int: Int](storedValue: ["1": 1, "01": 2]) }?.code == .invalidValue)
        #expect(settingsError { try [Double.nan: 1, -Double.nan: 2].storedValue() }?.code == .unstorable)
    }

    @Test("a key that would come back as another one is refused")
    func ambiguousKey() throws {
        #expect(settingsError { try [StoredValue.integer(1): 1].storedValue() }?.code == .unstorable)
        #expect(try [StoredValue.string("1"): 1].storedValue() == ["1": 1])
    }

    @Test("ranges that are none are refused")
    func ranges() {
        #expect(settingsError { try Range<Int>(storedValue: [2, 1]) }?.code == .invalidValue)
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
