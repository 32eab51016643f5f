// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

extension SettingKeys {
    fileprivate static let quality = SettingKey("quality", default: 0.75)
    fileprivate static let launchCount = SettingKey("launchCount", default: 0)
    fileprivate static let hosts = SettingKey("hosts", default: ["localhost"])
    fileprivate static let port = SettingKey("port", default: 8080, in: 1...65_535)
    fileprivate static let weights = SettingKey<[String: [Int]]>("weights", default: [:])
    fileprivate static var doubled: SettingKey<Int> { SettingKey("doubled") { 21 * 2 } }
}

extension SettingMembers {
    fileprivate var quality: SettingKey<Double> { .quality }
    fileprivate var launchCount: SettingKey<Int> { SettingKey("launchCount", default: 0) }
    fileprivate var hosts: SettingKey<[String]> { .hosts }
    fileprivate var nickname: SettingKey<String?> { SettingKey("nickname") }
    fileprivate var doubled: SettingKey<Int> { .doubled }
    /// A default that is too long to be compared by its bits.
    fileprivate var motto: SettingKey<String> { SettingKey("motto", default: String(repeating: "more ", count: 9)) }
}

private enum AppKey: String { case flag, comment, ratio, level, first, second }

private struct Settings: Sendable {
    @DefaultStorage(key: "flag") var plain = true
    @DefaultStorage(AppKey.flag) var flag = true
    @DefaultStorageOptional(AppKey.comment, validate: { !$0.isEmpty }) var comment: String?
    @DefaultStorage(AppKey.ratio, in: 0.0..<1.0) var ratio = 0.5
    @DefaultStorage(AppKey.level, validate: { $0 != .debug }) var level = Level.info
    @DefaultStorage(key: AppKey.first.rawValue, as: RawValueBridge()) var first = TaskPriority.low
    @DefaultStorageOptional(key: AppKey.second.rawValue, as: RawValueBridge()) var second: TaskPriority?
    @DefaultStorageOptional(key: "name") var name: String?
    @DefaultStorage(key: "count") var count: Int? = 42
    @DefaultStorage(.quality) var quality
    @DefaultStorage(.doubled) var doubled
    @DefaultStorage(.port) var port = 9000
}

@Suite("Parity: declarations")
struct DeclaringParityTests {
    private let reporter = RecordingReporter()
    private let suite: SettingsSuite
    private let settings: Settings

    init() {
        let suite = SettingsSuite.inMemory(reporter: reporter)
        self.suite = suite
        settings = SettingsSuite.withStandard(suite) { Settings() }
    }

    @Test("Row 1: a property that is not optional has a default")
    func property() {
        #expect(settings.plain)
        settings.plain = false
        #expect(!settings.plain)
        #expect(suite.snapshot() == ["flag": false])
    }

    @Test("Row 2: an optional property that is nil stores nothing")
    func optional() {
        #expect(settings.name == nil)
        settings.name = "ada"
        #expect(settings.name == "ada")
        #expect(suite.snapshot() == ["name": "ada"])
        settings.name = nil
        #expect(settings.name == nil)
        #expect(suite.keys.isEmpty)
    }

    @Test("Row 3: an optional property with a default stores nil as a value")
    func optionalWithDefault() throws {
        #expect(settings.count == 42)
        settings.count = nil
        #expect(settings.count == nil)
        #expect(suite.snapshot() == ["count": .null])
        try settings.$count.reset()
        #expect(settings.count == 42)
        #expect(suite.keys.isEmpty)
    }

    @Test("Row 4: keys are cases of an enumeration, also for optional properties")
    func enumKeys() {
        settings.flag = false
        settings.comment = "text"
        settings.comment = ""
        settings.ratio = 1
        settings.level = .debug
        #expect(reporter.errors.map(\.key) == ["comment", "ratio", "level"])
        #expect(settings.$flag.key == "flag")
        #expect(suite.snapshot() == ["flag": false, "comment": "text"])
        settings.comment = nil
        settings.ratio = 0.75
        settings.first = .high
        settings.second = .high
        let high = StoredValue.integer(Int128(TaskPriority.high.rawValue))
        #expect(suite.snapshot() == ["flag": false, "ratio": 0.75, "first": high, "second": high])
    }

    @Test("Row 5: keys are static members that declare the type and the default")
    func staticKeys() {
        #expect(settings.quality == 0.75)
        #expect(suite[.quality] == 0.75)
        suite[.quality] = 0.5
        #expect(settings.quality == 0.5)
        settings.quality = 0.25
        #expect(suite[.quality] == 0.25)
        // The default of the property, and the range of the key.
        settings.port = 70_000
        #expect(settings.port == 9000 && suite[.port] == 8080)
        #expect(reporter.errors.map(\.code) == [.validationFailed])
        #expect(suite.snapshot() == ["quality": 0.25])
    }

    @Test("Row 6: a subscript reads, assigns and changes in place, also inside collections")
    func inPlace() {
        suite[.quality] += 0.25
        suite[.launchCount] += 1
        suite[.launchCount] += 1
        suite[.hosts].append("example.org")
        suite[.hosts][0] = "first"
        suite[.weights]["a", default: []].append(1)
        suite[.weights]["a"]?[0] += 41
        #expect(suite[.hosts] == ["first", "example.org"])
        #expect(
            suite.snapshot() == [
                "quality": 1.0, "launchCount": 2, "hosts": ["first", "example.org"], "weights": ["a": [42]],
            ]
        )
    }

    @Test("Row 7: a key is used directly, from a local variable")
    func keyObject() {
        let isUnicorn = SettingKey("isUnicorn", default: false)
        let tags = SettingKey<Set<String>>("tags", default: [])
        suite[isUnicorn].toggle()
        suite[tags].insert("new")
        let most = SettingKey<Int?>("most", default: 42)
        suite[most]? += 1
        #expect(suite[isUnicorn] && suite[most] == 43)
        #expect(Setting(tags, suite: suite).value == ["new"])
        #expect(suite.contains(isUnicorn))
    }

    @Test("Row 8: keys are members of a suite's values")
    func dynamicMembers() {
        suite.members.launchCount += 1
        suite.members.launchCount += 1
        suite.members.hosts.append("example.org")
        suite.members.nickname = "ada"
        #expect(suite.members.quality == 0.75)
        #expect(suite.members.launchCount == 2)
        #expect(suite.members.doubled == 42)
        #expect(suite.members.nickname == "ada")
        let nickname = suite.setting(\.nickname)
        #expect(nickname.value == "ada" && nickname.isSet)
        suite.members.nickname = nil
        #expect(suite.snapshot() == ["launchCount": 2, "hosts": ["localhost", "example.org"]])
        #expect(SettingsSuite.inMemory().members.launchCount == 0)
        suite.members.motto += "still"
        #expect(suite.members.motto.hasSuffix("more still"))
    }

    @Test("Row 9: a default is computed at each use and never stored")
    func computedDefault() {
        let base = Setting("base", default: 2, suite: suite)
        let twice = Setting(SettingKey("twice") { base.value * 2 }, suite: suite)
        #expect(twice.value == 4)
        base.value = 5
        #expect(twice.value == 10)
        #expect(twice.defaultValue == 10)
        #expect(settings.doubled == 42)
        #expect(suite[SettingKey<Bool?>("verbose") { true }] == true)
        #expect(suite.keys == ["base"])
    }

    @Test("Row 11: the suite, the key and the default of a property are readable")
    func parts() {
        #expect(settings.$count.suite == suite)
        #expect(settings.$count.key == "count")
        #expect(settings.$count.defaultValue == 42)
        settings.quality = 0.5
        #expect(settings.$quality.suite == suite)
        #expect(settings.$quality.key == "quality")
        #expect(settings.$quality.defaultValue == 0.75)
        #expect(settings.$name.suite == suite)
        #expect(settings.$name.key == "name")
        #expect(settings.$name.defaultValue == nil)
    }

    @Test("Row 12: load() throws the reason why a value cannot be read, and can be repeated")
    func loading() throws {
        #expect(try settings.$quality.load() == nil)
        settings.quality = 0.5
        #expect(try settings.$quality.load() == 0.5)
        #expect(settings.$quality.explain().problem == nil)

        try suite.setStoredValue("much", forKey: "quality")
        #expect(settings.quality == 0.5)
        expectError(.typeMismatch) { try settings.$quality.load() }
        #expect(settings.$quality.explain().problem?.code == .typeMismatch)
        #expect(reporter.errors.map(\.code) == [.typeMismatch])

        try suite.setStoredValue(0.25, forKey: "quality")
        #expect(try settings.$quality.load() == 0.25)
        #expect(settings.quality == 0.25)
    }
}
