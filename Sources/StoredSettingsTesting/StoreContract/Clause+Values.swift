// SPDX-License-Identifier: Apache-2.0

import StoredSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SettingsStoreContract.Clause {
    /// Reads return committed values.
    public static let reads = Self(
        "reads",
        "Every kind of read returns the committed values, and the next commit starts with them."
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        trial.expect(store.contents().isEmpty, "a new store is not empty")
        trial.expect(store.value(forKey: "a") == nil, "a new store has a value")
        for count in 1...3 {
            let value = StoredValue(count)
            let result = try store.commit { transaction in
                transaction["a"] = value
                return count
            }
            trial.expect(result == count, "a commit does not return the result of its body")
            trial.expect(store.value(forKey: "a") == value, "a committed value is not read")
            trial.expect(store.withValue(forKey: "a") { $0 == value }, "withValue does not pass the value")
            trial.expect(store.contents() == ["a": value], "the contents differ from the committed values")
            trial.expect(try store.commit { $0["a"] } == value, "a commit does not start with the newest contents")
        }
    }

    /// Keys are flat and may be any string.
    public static let keys = Self(
        "keys",
        "Any nonempty string is a key, and keys are independent of each other."
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        let keys = [
            "log", "log.level", "log.level.", ".", "..", "/", "a/b", "a\\b", " ", " a", "a", "A", "@", "$ref", "clé",
            "🎛️", "鍵", "line\nbreak", "\"quoted\"", "nul\0", "100%", "[0]", String(repeating: "k", count: 1000),
        ]
        try store.commit { transaction in
            for (index, key) in keys.enumerated() {
                transaction[key] = StoredValue(index)
            }
        }
        try store.commit { $0["log"] = ["level": "debug"] }
        for (index, key) in keys.enumerated().dropFirst() {
            trial.expect(store.value(forKey: key) == StoredValue(index), "key number \(index) is not preserved")
        }
        trial.expect(store.value(forKey: "log") == ["level": "debug"], "a dictionary is confused with dotted keys")
    }

    /// Every kind of stored value is preserved.
    public static let values = Self(
        "values",
        """
        Every kind of stored value comes back as it was; dates, data, NaN and infinities do so at least when they are \
        read as their types.
        """
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        for (name, value) in samples {
            try store.commit { $0["sample"] = value }
            trial.expect(value.isPreserved(by: store.value(forKey: "sample")), "\(name) is not preserved")
        }
    }

    /// Integers are exact.
    public static let integers = Self(
        "integers",
        "Every integer of Int64 and UInt64 is preserved exactly; a wider integer is preserved or rejected."
    ) { trial in
        let (store, _) = try trial.makeRecordedStore()
        let integers: [Int128] = [
            Int128(Int64.min), Int128(Int64.min) + 1, -1 << 53 - 1, 1 << 53 + 1, Int128(Int64.max),
            Int128(Int64.max) + 1,
            Int128(UInt64.max) - 1, Int128(UInt64.max),
        ]
        for integer in integers {
            try store.commit { $0["integer"] = .integer(integer) }
            trial.expect(store.value(forKey: "integer") == .integer(integer), "\(integer) is not preserved")
        }
        for integer in [Int128.min, Int128(Int64.min) - 1, Int128(UInt64.max) + 1, Int128.max] {
            let before = store.value(forKey: "integer")
            var expected: StoredValue? = .integer(integer)
            do {
                try store.commit { $0["integer"] = .integer(integer) }
            } catch {
                expected = before
            }
            trial.expect(store.value(forKey: "integer") == expected, "\(integer) is neither preserved nor rejected")
        }
    }

    /// A removed value is gone.
    public static let removal = Self(
        "removal",
        "No read returns a removed value, and the removal is recorded."
    ) { trial in
        let (store, recorder) = try trial.makeRecordedStore()
        try store.commit { transaction in
            transaction["a"] = 1
            transaction["b"] = 2
            transaction["c"] = 3
        }
        recorder.removeAll()
        try store.commit { $0["a"] = nil }
        trial.expect(store.value(forKey: "a") == nil, "a removed value is still read")
        trial.expect(store.value(forKey: "b") == 2, "a value disappeared that was not removed")
        let removal = [StoreChange(key: "a", old: 1, new: nil)]
        trial.expect(
            recorder.commits.last?.consists(of: removal, .local) ?? false,
            "a removal is recorded with other values"
        )
        try store.commit { $0.removeAll() }
        trial.expect(["b", "c"].allSatisfy { store.value(forKey: $0) == nil }, "removing all values leaves some")
    }
}

/// Named values of every kind, with edge cases.
let samples: [(name: String, value: StoredValue)] = [
    ("null", nil), ("true", true), ("false", false),
    ("zero", 0), ("one", 1), ("a negative integer", -42),
    ("a decimal fraction", 0.1), ("a whole double", 1.0), ("negative zero", .double(-0.0)),
    ("the smallest double", .double(.leastNonzeroMagnitude)),
    ("the largest finite double", .double(.greatestFiniteMagnitude)),
    ("NaN", .double(.nan)), ("infinity", .double(.infinity)), ("negative infinity", .double(-.infinity)),
    ("an empty string", ""), ("a string that looks like a number", "1"), ("a string that looks like null", "null"),
    ("a string with two normalizations", "\u{E9} e\u{301}"), ("control characters", "\0\u{1}\t\n\r\u{7F}\u{2028}"),
    ("quotes and slashes", "\"\\/"), ("characters outside the basic multilingual plane", "👩‍👩‍👧 𝒳"),
    ("a date", .date(Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7))),
    ("the distant past", .date(.distantPast)),
    ("a date shortly after 2001 began", .date(Date(timeIntervalSinceReferenceDate: 0.1))),
    ("no bytes", .data(Data())), ("all bytes", .data(Data(0...255))),
    ("an empty array", []), ("an empty dictionary", [:]),
    ("an array of many kinds", [nil, true, 1, 1.0, "1", [], [:]]),
    (
        "dates, data and NaN in an array",
        [.date(Date(timeIntervalSinceReferenceDate: 0.1)), .data(Data([0])), .double(.nan)]
    ),
    ("nested dictionaries and arrays", ["": [["a.b": 1, "a": nil]], "é": 2]),
    ("nested arrays", (0..<60).reduce(StoredValue.array([])) { value, _ in [value] }),
]

extension StoredValue {
    /// Whether another value is an acceptable result of storing this one.
    ///
    /// A store may return dates, data, NaN and infinities as the strings that JSON uses for them, if they decode to the
    /// same.
    func isPreserved(by other: StoredValue?) -> Bool {
        guard let other else { return false }
        do {
            switch (self, other) {
            case (.date(let date), _):
                return try other.as(Date.self) == date
            case (.data(let data), _):
                return try other.as(Data.self) == data
            case (.double(let double), _) where !double.isFinite:
                return try .double(other.as(Double.self)) == self
            case (.array(let elements), .array(let others)):
                return elements.count == others.count && zip(elements, others).allSatisfy { $0.isPreserved(by: $1) }
            case (.dictionary(let values), .dictionary(let others)):
                return values.count == others.count && values.allSatisfy { $1.isPreserved(by: others[$0]) }
            default:
                return self == other
            }
        } catch {
            return false
        }
    }
}
