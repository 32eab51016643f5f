// SPDX-License-Identifier: Apache-2.0

import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettings

@Suite("The default of a setting")
struct DefaultValueTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite

    init() { suite = .inMemory(reporter: reporter) }

    @Test("a default outside its own range is reported when it is used first, and by validation")
    func outsideRange() async throws {
        let port = Setting("port", default: 8_080, suite: suite, in: 1...10)
        let even = Setting("even", default: 3, suite: suite, validate: { $0.isMultiple(of: 2) })
        let none = Setting<Int?>("none", suite: suite, in: 1...10)
        #expect(reporter.errors.isEmpty)
        for _ in 0..<2 { #expect(port.value == 8_080 && even.value == 3 && none.value == nil) }
        #expect(reporter.errors.map(\.code) == [.conflictingDeclarations, .conflictingDeclarations])
        #expect(reporter.errors.map(\.key) == ["port", "even"])
        #expect(reporter.errors.first?.message.contains("1...10") == true, "\(reporter.errors)")
        try await port.set(5)
        let catalog = SettingsCatalog(port, even, none)
        #expect(catalog.findProblems().errors.map(\.key) == ["port", "even"])
        await expectError(.validationFailed) { try await port.set(11) }
    }

    @Test("the error of a secret default has no value")
    func secret() {
        let token = Setting("token", default: "s3cret", suite: suite, validate: { _ in false }, traits: .secret)
        _ = token.value
        #expect(reporter.errors.count == 1 && !reporter.errors.contains { $0.message.contains("s3cret") })
    }

    @Test("a value is the default if it equals it, stored or not")
    func isDefault() async throws {
        let variables = SettingsSource.environment(["PORT": "81"], prefix: "")
        let suite = SettingsSuite.inMemory(sources: [.stored, variables], reporter: reporter)
        let (port, name) = (Setting("port", default: 80, suite: suite), Setting<String?>("name", suite: suite))
        #expect(!port.isDefault && !port.isSet && name.isDefault)
        try await port.set(80)
        #expect(port.isDefault && port.isSet)
        try await name.set("x")
        #expect(!name.isDefault)
    }

    @Test("settings with the same key and suite are equal")
    func equality() {
        let port = Setting("port", default: 80, suite: suite)
        let same = Setting("port", default: 80, suite: suite)
        let others = [Setting("prot", default: 80, suite: suite), Setting("port", default: 80, suite: .inMemory())]
        #expect(port == same && Set([port, same]).count == 1)
        #expect(others.allSatisfy { $0 != port })
    }

    @Test("the error of a requirement names where values come from that are not stored")
    func originsOfValues() async throws {
        let variables = SettingsSource.environment(["HARD": "50"], prefix: "")
        let suite = SettingsSuite.inMemory(sources: [variables], reporter: reporter)
        let (soft, hard) = (Setting("soft", default: 10, suite: suite), Setting("hard", default: 20, suite: suite))
        let least = Setting("least", default: 5, suite: suite)
        let catalog = SettingsCatalog(soft, hard, least)
        catalog.require("least is at most soft is at most hard", least, soft, hard) { $0 <= $1 && $1 <= $2 }
        let error = await expectError(.requirementNotMet) { try await soft.set(60) }
        #expect(
            error?.fact.hasSuffix(" ('least' is the default, and 'hard' is given by HARD)") == true,
            "\(error?.fact ?? "")"
        )
    }
}
