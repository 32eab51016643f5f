// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing

@testable import StoredSettings

@Suite("Descriptions", .deadlockLimit)
struct DescriptionTests {
    private struct Settings {
        @DefaultStorage(key: "password") var password = "hunter2"
    }

    private static let port = SettingKey("port", default: 8080)

    @Test("the description of a suite contains its name and location")
    func suites() async throws {
        #expect("\(SettingsSuite.inMemory())".hasPrefix("suite 'in memory', stored in memory: "))
        try await withFileSuite { suite, path in
            #expect("\(suite)" == "suite stored in \(path)")
        }
    }

    @Test("the description of a setting contains its key and suite, and that of a key is its string")
    func settings() {
        let suite = SettingsSuite.inMemory()
        #expect("\(Setting(Self.port, suite: suite))" == "setting 'port' of suite 'in memory'")
        #expect("\(Self.port)" == "port")
        #expect("\(Self.port as SettingKeys)" == "port")
    }

    private static func texts(of thing: Any) -> [String] {
        var dumped = ""
        dump(thing, to: &dumped)
        return ["\(thing)", String(reflecting: thing), "\([thing])", dumped]
    }

    @Test("no description or dump of a change shows the values of a secret setting, which are accessible")
    func changes() async {
        let suite = SettingsSuite.inMemory().group("db")
        let traits: SettingTraits = [.secret, .renamed(from: "old")]
        let secret = Setting("a", default: "", suite: suite, traits: traits)
        let plain = Setting("b", default: "", suite: suite)
        var changes = secret.changes().makeAsyncIterator()
        var ofSuite = suite.changes().makeAsyncIterator()
        let observed = Mutex<[SettingChange<String>]>([])
        let observation = secret.observe(initial: true) { change in observed.withLock { $0.append(change) } }
        suite[storedValueFor: "old"] = "hunter1"
        secret.value = "hunter2"
        plain.value = "visible"
        observation.invalidate()
        let one = await changes.next()
        #expect(one?.new == "hunter2")
        let all = await ofSuite.next()
        #expect(all?["a"]?.new == "hunter2")
        for thing in [one as Any, all as Any, all?["a"] as Any, observed.withLock { $0 }] {
            for text in Self.texts(of: thing) { #expect(!text.contains("hunter"), "\(text)") }
        }
        #expect("\(observed.withLock { $0 })".contains("••••"))
        for text in Self.texts(of: all as Any) { #expect(text.contains("visible")) }
        #expect("\(SettingChange(old: 1, new: 2, origin: .local))" == "1 → 2 (local)")
        var secretly = SettingChange(old: 1, new: 2, origin: .local)
        secretly.isSecret = true
        #expect(secretly == SettingChange(old: 1, new: 2, origin: .local))
    }

    @Test("no description or dump shows a value or internals")
    func internals() {
        let suite = SettingsSuite.inMemory()
        let settings = SettingsSuite.withStandard(suite) { Settings() }
        settings.password = "correct horse"
        let key = SettingKey("password", default: "hunter2")
        let sources: [SettingsSource] = [
            .environment(["PASSWORD": "hunter2"], prefix: ""), .commandLine(["--password", "hunter2"]),
        ]
        for thing in [suite, settings, settings.$password, key, sources] as [Any] {
            var dumped = ""
            dump(thing, to: &dumped)
            for text in ["\(thing)", String(reflecting: thing), "\([thing])", dumped] {
                for secret in ["hunter2", "correct horse", "cell", "box", "engine", "Parts", "0x"] {
                    #expect(!text.contains(secret), "\(text)")
                }
            }
        }
    }
}
