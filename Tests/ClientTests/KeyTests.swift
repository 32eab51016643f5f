// SPDX-License-Identifier: Apache-2.0

import ClientModule
import StoredSettings
import StoredSettingsTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Keys of settings in a client")
struct KeyTests {
    let reporter = RecordingReporter()
    let suite: SettingsSuite

    init() {
        suite = .inMemory(reporter: reporter)
    }

    private func makeSettings() -> KeyedSettings {
        SettingsSuite.withStandard(suite) { KeyedSettings() }
    }

    @Test("enum cases")
    func enumCases() {
        let settings = makeSettings()
        #expect(settings.flag)
        settings.flag = false
        settings.level = .error
        settings.level = .debug
        settings.ratio = 0.75
        settings.ratio = 1
        settings.started = Date(timeIntervalSince1970: 60)
        settings.nickname = "Ada"
        settings.color = Color(red: 255, green: 0, blue: 1)
        #expect(
            suite.snapshot() == [
                "flag": false,
                "level": "error",
                "tuning.ratio": 0.75,
                "started": 60.0,
                "nickname": "Ada",
                "color": [255, 0, 1],
            ]
        )
        #expect(reporter.errors.map(\.code) == [.validationFailed, .validationFailed])
        #expect(reporter.errors.map(\.key) == ["level", "tuning.ratio"])
        settings.nickname = nil
        settings.color = nil
        #expect(!settings.$nickname.isSet && !settings.$color.isSet)
    }

    @Test("key paths of a suite's values")
    func members() {
        suite.members.quality += 0.1
        suite.members.hosts.append("example.org")
        suite.members.alias = "gate"
        #expect(
            suite.snapshot() == [
                "quality": .double(0.8 + 0.1), "hosts": ["localhost", "example.org"], "alias": "gate",
            ]
        )
        #expect(suite.members.workers == 8)
        suite.members.port = 0
        #expect(suite.members.port == 8080)
        #expect(reporter.errors.map(\.code) == [.validationFailed])
    }

    @Test("static members")
    func staticMembers() {
        let settings = makeSettings()
        #expect(settings.quality == 0.8)
        #expect(settings.hosts == ["localhost"])
        #expect(settings.port == 9000, "The property's default overrides the key's.")
        #expect(suite[.port] == 8080)
        settings.quality = 0.5
        settings.hosts.append("example.org")
        settings.lastDeploy = Date(timeIntervalSince1970: 2)
        settings.alias = "web"
        #expect(suite[.quality] == 0.5)
        #expect(suite[.hosts] == ["localhost", "example.org"])
        #expect(suite[.lastDeploy] == Date(timeIntervalSince1970: 2))
        settings.port = 70_000
        #expect(settings.port == 9000, "The key's range also applies to another default.")
        settings.alias = ""
        #expect(settings.alias == "web")
        settings.alias = nil
        settings.lastDeploy = nil
        #expect(suite.keys == ["hosts", "quality"])
        #expect(reporter.errors.map(\.key) == ["port", "alias"])
    }

    @Test("static members in expressions")
    func staticMembersInPlace() throws {
        suite[.quality] += 0.1
        suite[.hosts].append("a.example")
        suite[.hosts][0] = "b.example"
        suite[.weights]["a", default: []].append(1)
        suite[.weights]["a", default: []].append(2)
        suite[.maximum]? += 1
        #expect(
            suite.snapshot() == [
                "quality": .double(0.8 + 0.1),
                "hosts": ["b.example", "a.example"],
                "weights": ["a": [1, 2]],
                "maximum": 43,
            ]
        )
        try suite.reset(.quality, .hosts, .maximum)
        #expect(suite.keys == ["weights"])
        #expect(suite.contains(.weights))
        #expect(!suite.contains(.quality))
        try suite.transaction { settings in
            settings[.quality] *= 2
            settings[.weights]["b"] = [3]
            settings[.minimum] = 1
        }
        #expect(suite[.quality] == 1.6)
        #expect(suite[.weights] == ["a": [1, 2], "b": [3]])
        #expect(suite[.minimum] == 1)
    }

    @Test("static members with computed defaults")
    func computedDefaults() {
        #expect(suite[.workers] == 8)
        #expect(suite[.greeting] == "good day")
        #expect(suite[.verbose] == true)
        #expect(suite.keys.isEmpty)
        suite[.workers] += 1
        #expect(suite.snapshot() == ["workers": 9])
    }

    @Test("static members with ranges and validators")
    func rules() {
        suite[.even] = 3
        suite[.even] = -2
        suite[.name] = ""
        suite[.alias] = ""
        #expect(suite.keys.isEmpty)
        #expect(reporter.errors.map(\.key) == ["even", "even", "name", "alias"])
        suite[.even] = 4
        suite[.name] = "a"
        suite[.alias] = nil
        #expect(suite.snapshot() == ["even": 4, "name": "a"])
        #expect(reporter.errors.count == 4)
    }

    @Test("static members with bridges")
    func bridges() throws {
        #expect(suite[.accent] == Color(red: 1, green: 2, blue: 3))
        #expect(suite[.tint] == nil)
        suite[.accent].green = 9
        suite[.tint] = Color(red: 4, green: 5, blue: 6)
        #expect(suite.snapshot() == ["accent": [1, 9, 3], "tint": [4, 5, 6]])
        suite[.tint] = nil
        #expect(suite.keys == ["accent"])
        try suite.setStoredValue([1, 2, 300], forKey: "accent")
        #expect(suite[.accent] == Color(red: 1, green: 2, blue: 3))
        #expect(reporter.errors.map(\.key) == ["accent"])
    }

    @Test("static members whose nil is a value or means that no value is stored")
    func twoKindsOfNil() {
        #expect(suite[.maximum] == 42)
        suite[.maximum] = nil
        #expect(suite[.maximum] == nil)
        #expect(suite.snapshot() == ["maximum": .null])
        suite[.lastDeploy] = Date(timeIntervalSince1970: 0)
        suite[.lastDeploy] = nil
        #expect(suite.keys == ["maximum"])
    }

    // Reading creates no file, so suites that are stored in files leave none.
    @Test("strings, with string literals as suites")
    func literalSuites() {
        let settings = KeyedSettingsElsewhere()
        #expect(settings.$quality.suite.name == "client-tests.elsewhere")
        #expect(settings.$text.suite == settings.$lastDeploy.suite)
        #expect(settings.$flag.suite == SettingsSuite("client-tests.elsewhere"))
        #expect(settings.$text.key == "a key with spaces.and 🗝")
        #expect(settings.quality == 0.1)
        #expect(settings.lastDeploy == nil)
        #expect(!settings.flag)
        #expect(settings.text.isEmpty)
    }
}
