// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A type, examples of the kinds that it accepts, and its description in errors.
struct KindsCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let expected: String
    let accepted: [StoredValue]
    let rejection: @Sendable (StoredValue) -> SettingsError?

    init<Value: StoredValueConvertible>(_ type: Value.Type, _ expected: String, accepts accepted: StoredValue...) {
        testDescription = "\(type)"
        self.expected = expected
        self.accepted = accepted
        rejection = { storedValue in settingsError { try Value(storedValue: storedValue) } }
    }

    static let all = [
        KindsCase(Bool.self, "a Boolean", accepts: true),
        KindsCase(Int.self, "an integer", accepts: 1, 2.0),
        KindsCase(UInt8.self, "an integer", accepts: 1, 2.0),
        KindsCase(Int128.self, "an integer", accepts: 1, 2.0, "3"),
        KindsCase(UInt128.self, "an integer", accepts: 1, 2.0, "3"),
        KindsCase(Double.self, "a number", accepts: 1, 2.5, "nan"),
        KindsCase(Float.self, "a number", accepts: 1, 2.5, "-inf"),
        KindsCase(String.self, "a string", accepts: "a"),
        KindsCase(Date.self, "a date", accepts: .date(Date()), "2026-11-21"),
        KindsCase(Data.self, "bytes as a base64 string", accepts: .data(Data([1])), "AQ=="),
        KindsCase(URL.self, "a URL", accepts: "a:b", ["base": "a:b", "relative": "c"]),
        KindsCase(UUID.self, "a UUID string", accepts: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
        KindsCase(Decimal.self, "a decimal number", accepts: 1, 2.5, "3.5"),
        KindsCase(Duration.self, "a duration such as 1.5s", accepts: 1, 2.5, "3.5s"),
        KindsCase([Int].self, "an array", accepts: [1]),
        KindsCase(ContiguousArray<Int>.self, "an array", accepts: [1]),
        KindsCase(Set<Int>.self, "an array", accepts: [1]),
        KindsCase([String: Int].self, "a dictionary", accepts: ["a": 1]),
        KindsCase(Range<Int>.self, "an array of two bounds", accepts: [1, 2]),
        KindsCase(ClosedRange<Int>.self, "an array of two bounds", accepts: [1, 2]),
        KindsCase(Limits.self, "a dictionary", accepts: ["perSecond": 1, "burst": 2]),
    ]
}

struct Limits: Codable, Hashable, StoredValueConvertible {
    var perSecond = 100
    var burst = 20
}

@Suite("Accepted kinds of stored values")
struct KindsTests {
    @Test("a type accepts its kinds", arguments: KindsCase.all)
    func accepted(_ kinds: KindsCase) {
        for storedValue in kinds.accepted { #expect(kinds.rejection(storedValue) == nil) }
    }

    @Test("any other kind is a type mismatch that names the expected and found kinds", arguments: KindsCase.all)
    func rejected(_ kinds: KindsCase) throws {
        let examples: [(StoredValue, String)] = [
            (nil, "null"), (true, "a Boolean"), (1, "an integer"), (1.5, "a number with a fraction"), ("x", "a string"),
            (.date(Date()), "a date"), (.data(Data()), "bytes"), ([], "an array"), ([:], "a dictionary"),
        ]
        for (storedValue, found) in examples where !kinds.accepted.contains(where: { $0.kind == storedValue.kind }) {
            let error = try #require(kinds.rejection(storedValue))
            #expect(error.code == .typeMismatch)
            #expect(error.message == "expected \(kinds.expected), found \(found).")
        }
    }
}
