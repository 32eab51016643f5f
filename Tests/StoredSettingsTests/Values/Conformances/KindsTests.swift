// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A type with the kinds that it takes, each with an example, and what it calls itself in an error.
struct KindsCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let expected: String
    let taken: [StoredValue]
    let refusal: @Sendable (StoredValue) -> SettingsError?

    init<Value: StoredValueConvertible>(_ type: Value.Type, _ expected: String, takes taken: StoredValue...) {
        testDescription = "\(type)"
        self.expected = expected
        self.taken = taken
        refusal = { storedValue in settingsError { try Value(storedValue: storedValue) } }
    }

    static let all = [
        KindsCase(Bool.self, "a Boolean", takes: true),
        KindsCase(Int.self, "an integer", takes: 1, 2.0),
        KindsCase(UInt8.self, "an integer", takes: 1, 2.0),
        KindsCase(Int128.self, "an integer", takes: 1, 2.0, "3"),
        KindsCase(UInt128.self, "an integer", takes: 1, 2.0, "3"),
        KindsCase(Double.self, "a number", takes: 1, 2.5, "nan"),
        KindsCase(Float.self, "a number", takes: 1, 2.5, "-inf"),
        KindsCase(String.self, "a string", takes: "a"),
        KindsCase(Character.self, "a string of one character", takes: "a"),
        KindsCase(Date.self, "a date", takes: .date(Date()), "2026-11-21"),
        KindsCase(Data.self, "bytes as a base64 string", takes: .data(Data([1])), "AQ=="),
        KindsCase(URL.self, "a URL", takes: "a:b", ["base": "a:b", "relative": "c"]),
        KindsCase(UUID.self, "a UUID string", takes: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
        KindsCase(Decimal.self, "a decimal number", takes: 1, 2.5, "3.5"),
        KindsCase(Duration.self, "a duration such as 1.5s", takes: 1, 2.5, "3.5s"),
        KindsCase([Int].self, "an array", takes: [1]),
        KindsCase(ContiguousArray<Int>.self, "an array", takes: [1]),
        KindsCase(Set<Int>.self, "an array", takes: [1]),
        KindsCase([String: Int].self, "a dictionary", takes: ["a": 1]),
        KindsCase(Range<Int>.self, "an array of two bounds", takes: [1, 2]),
        KindsCase(ClosedRange<Int>.self, "an array of two bounds", takes: [1, 2]),
        KindsCase(Limits.self, "a dictionary", takes: ["perSecond": 1, "burst": 2]),
    ]
}

struct Limits: Codable, Hashable, StoredValueConvertible {
    var perSecond = 100
    var burst = 20
}

@Suite("The kinds that a type takes")
struct KindsTests {
    @Test("a type takes its kinds", arguments: KindsCase.all)
    func taken(_ kinds: KindsCase) {
        for storedValue in kinds.taken { #expect(kinds.refusal(storedValue) == nil) }
    }

    @Test("any other kind is a mismatch that names what was expected and found", arguments: KindsCase.all)
    func refused(_ kinds: KindsCase) throws {
        let examples: [(StoredValue, String)] = [
            (nil, "null"), (true, "a Boolean"), (1, "an integer"), (1.5, "a number with a fraction"), ("x", "a string"),
            (.date(Date()), "a date"), (.data(Data()), "bytes"), ([], "an array"), ([:], "a dictionary"),
        ]
        for (storedValue, found) in examples where !kinds.taken.contains(where: { $0.kind == storedValue.kind }) {
            let error = try #require(kinds.refusal(storedValue))
            #expect(error.code == .typeMismatch)
            #expect(error.message == "expected \(kinds.expected), found \(found).")
        }
    }
}
