// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import StoredSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Laws of convertible types")
struct LawTests {
    @Test("Row 14: a stored value is read back bit for bit", arguments: LawCase.all)
    func roundTrip(_ law: LawCase) throws {
        let storedValues = try law.storedValues()
        #expect(!storedValues.isEmpty)
        #expect(law.failures(reading: storedValues).prefix(3) == [])
    }

    @Test(
        "a value that is stored in a JSON file is read back bit for bit",
        arguments: LawCase.all.filter(\.survivesJSON)
    )
    func roundTripThroughJSON(_ law: LawCase) throws {
        #expect(law.failures(reading: try law.storedValues().map(\.asInJSON)).prefix(3) == [])
    }

    @Test("every stored value is either read or rejected with a SettingsError", arguments: LawCase.all)
    func foreignValues(_ law: LawCase) throws {
        let errors = StoredValue.samples(TestRun.count(quick: 60, exhaustive: 300)).compactMap { law.rejection(of: $0) }
        #expect(errors.allSatisfy { ($0 as? SettingsError)?.message.isEmpty == false })
        #expect(law.name == "StoredValue" || law.name == "Optional<StoredValue>" || !errors.isEmpty)
    }

    @Test("no error contains the value", arguments: LawCase.all)
    func errorsWithoutValues(_ law: LawCase) throws {
        let secrets: [StoredValue] = [
            "hunter2", .integer(739_184_652_739_184_652), 739184652.5, ["hunter2"], ["hunter2", "hunter2"],
            [["hunter2"]],
            ["base": "hunter2", "relative": "hunter2 %zz"], .data(Data("hunter2".utf8)),
            ["circle": ["radius": "hunter2"]],
            ["bool": "hunter2"], ["x": "hunter2", "y": 1], ["x": 1, "y": "hunter2"], .string("hunter2/7391846"),
            .date(Date(timeIntervalSinceReferenceDate: 739_184_652)), ["level": "hunter2"], "739184652s2", "-",
        ]
        for secret in secrets {
            guard let error = law.rejection(of: secret) as? SettingsError else { continue }
            #expect(!error.message.contains("hunter2") && !error.message.contains("739184"))
        }
    }
}

extension StoredValue {
    /// This value as a JSON file represents it, with strings for what JSON does not support.
    var asInJSON: StoredValue {
        switch self {
        case .double(let value) where !value.isFinite: .string(value.storedText)
        case .date(let value): .string(DateText.text(for: value))
        case .data(let value): .string(value.base64EncodedString())
        case .array(let values): .array(values.map(\.asInJSON))
        case .dictionary(let values): .dictionary(values.mapValues(\.asInJSON))
        default: self
        }
    }
}
