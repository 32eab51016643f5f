// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsTesting
import TestSupport
import Testing

@testable import StoredSettingsFoundation

extension SettingKeys {
    fileprivate static let quality = SettingKey("quality", default: 0.8)
    fileprivate static let launches = SettingKey("launches", default: 0)
    fileprivate static let registered = SettingKey("StoredSettingsTests.registered", default: 80)
}

extension UserDefaultsTests {
    @Suite("UserDefaults code and this library")
    struct PlainCode {
        @Test("Row 41: values that UserDefaults code has stored are read")
        func plainIsRead() async throws {
            try await withDefaults { defaults, _ in
                defaults.set(true, forKey: "bool")
                defaults.set(7, forKey: "int")
                defaults.set(Int.max, forKey: "max")
                defaults.set(0.25, forKey: "double")
                defaults.set(0.1 as Float, forKey: "float")
                defaults.set("text", forKey: "string")
                defaults.set(Data([1, 2]), forKey: "data")
                defaults.set(Date(timeIntervalSinceReferenceDate: 700_000_000), forKey: "date")
                defaults.set(["a", "b"], forKey: "strings")
                defaults.set([1, 2.5, true, ["deep": [1]]] as [Any], forKey: "mixed")
                defaults.set(["a": 1, "b": 0], forKey: "counts")
                let suite = SettingsSuite(userDefaults: defaults)
                #expect(
                    suite.snapshot() == [
                        "bool": true, "int": 7, "max": .integer(Int128(Int.max)), "double": 0.25,
                        "float": .double(Double(0.1 as Float)), "string": "text", "data": .data(Data([1, 2])),
                        "date": .date(Date(timeIntervalSinceReferenceDate: 700_000_000)), "strings": ["a", "b"],
                        "mixed": [1, 2.5, true, ["deep": [1]]], "counts": ["a": 1, "b": 0],
                    ]
                )
                #expect(suite[SettingKey("max", default: 0)] == Int.max)
                #expect(suite[SettingKey("float", default: 0 as Float)] == 0.1)
                #expect(suite[SettingKey("counts", default: ["": 0])] == ["a": 1, "b": 0])
            }
        }

        @Test(
            "a set to a value that Foundation considers equal is stored, also for UserDefaults code and other processes"
        )
        func equalToFoundation() async throws {
            try await withDefaults { defaults, domain in
                let suite = SettingsSuite(userDefaults: defaults)
                let values: [(old: StoredValue, new: StoredValue)] = [
                    ("\u{e9}", "e\u{301}"), (["\u{e9}"], ["e\u{301}"]), (["k": "\u{e9}"], ["k": "e\u{301}"]),
                    (["\u{e9}": 1], ["e\u{301}": 1]), (1, 1.0), (1, true), (0.0, -0.0), ([1], [true]),
                ]
                for (index, (old, new)) in values.enumerated() {
                    try await suite.setStoredValue(old, forKey: "\(index)")
                    try await suite.setStoredValue(new, forKey: "\(index)")
                    #expect(suite[storedValueFor: "\(index)"] == new, "\(new)")
                    let other = SettingsSuite(store: UserDefaultsStore(try domain.open()))
                    #expect(other[storedValueFor: "\(index)"] == new, "\(new)")
                }
                let text = try #require(defaults.string(forKey: "0"))
                #expect(text.unicodeScalars.elementsEqual("e\u{301}".unicodeScalars))
                let written = try #require(domain.contentsOnDisk["0"] as? String)
                #expect(written.unicodeScalars.elementsEqual("e\u{301}".unicodeScalars))
            }
        }

        @Test("a value of UserDefaults code that is nested too deeply is not read")
        func nestedTooDeep() async throws {
            try await withDefaults { defaults, _ in
                let suite = SettingsSuite(userDefaults: defaults)
                defaults.set((0..<200).reduce(1 as Any) { value, _ in [value] }, forKey: "plain")
                #expect(suite.snapshot().isEmpty)
            }
        }

        @Test("Row 41: UserDefaults code reads the values of this library, in this process and another")
        func oursIsRead() async throws {
            try await withDefaults { defaults, domain in
                let suite = SettingsSuite(userDefaults: defaults)
                let date = Date(timeIntervalSinceReferenceDate: 700_000_000.5)
                try await suite.transaction { settings in
                    settings[SettingKey("bool", default: false)] = true
                    settings[SettingKey("int", default: 0)] = 7
                    settings[SettingKey("double", default: 0.0)] = 1
                    settings[SettingKey("width", default: CGFloat(0))] = 0.1
                    settings[SettingKey("string", default: "")] = "text"
                    settings[SettingKey("data", default: Data())] = Data([1])
                    settings[SettingKey("date", default: .distantPast)] = date
                    settings[SettingKey("hosts", default: [""])] = ["a", "b"]
                    settings[SettingKey("counts", default: ["": 0])] = ["a": 1]
                }
                #expect(defaults.bool(forKey: "bool") && defaults.integer(forKey: "int") == 7)
                #expect(defaults.double(forKey: "double") == 1 && defaults.string(forKey: "string") == "text")
                #expect(defaults.double(forKey: "width") == 0.1)
                #expect(suite[SettingKey("width", default: CGFloat(0))] == 0.1)
                #expect(defaults.data(forKey: "data") == Data([1]))
                #expect(defaults.stringArray(forKey: "hosts") == ["a", "b"])
                #expect(defaults.dictionary(forKey: "counts") as? [String: Int] == ["a": 1])
                let read = try #require(defaults.object(forKey: "date") as? Date)
                #expect(abs(read.timeIntervalSince(date)) < 1)
                #if !canImport(ObjectiveC)
                let file = try domain.contentsOnDisk
                #expect(file["int"] as? Int == 7 && file["hosts"] as? [String] == ["a", "b"])
                #expect(file["date"] as? Date == Date(timeIntervalSinceReferenceDate: 700_000_000))
                #endif
            }
        }

        @Test("Row 41: changes and removals by UserDefaults code are read at once, also of values of this library")
        func changes() async throws {
            try await withDefaults { defaults, _ in
                let suite = SettingsSuite(userDefaults: defaults)
                let count = Setting(.launches, suite: suite)
                let date = Setting("date", default: Date.distantPast, suite: suite)
                count.value = 1
                date.value = Date(timeIntervalSinceReferenceDate: 0.25)
                defaults.set(2, forKey: "launches")
                #expect(count.value == 2)
                let other = Date(timeIntervalSinceReferenceDate: 5)
                defaults.set(other, forKey: "date")
                #expect(date.value == other)
                defaults.removeObject(forKey: "launches")
                defaults.removeObject(forKey: "date")
                // Until then, Foundation on Linux returns the removed value itself.
                defaults.synchronize()
                #expect(count.value == 0 && !count.isSet && !date.isSet && suite.keys == [])
            }
        }

        @Test("overrides take precedence over stored and registered values")
        func overridden() async throws {
            try await withDefaults { defaults, _ in
                let suite = SettingsSuite(userDefaults: defaults, sources: [.commandLine(["-registered", "9"])])
                let setting = Setting("registered", default: 1, suite: suite)
                defaults.register(defaults: ["registered": 8080])
                #expect(setting.value == 9 && !setting.isSet)
                #expect(setting.explain().shadowed == [.fallback: 8080, .default: 1])
                #expect(setting.explain().description.contains("over the fallback 8080, over the default 1"))
                setting.value = 2
                #expect(setting.value == 9 && defaults.integer(forKey: "registered") == 2)
                #expect(Setting("registered", default: 1, suite: SettingsSuite(userDefaults: defaults)).value == 2)
            }
        }

        @Test("Row 41: values registered with UserDefaults override the default and do not count as stored")
        func registered() async throws {
            try await withDefaults { defaults, domain in
                let suite = SettingsSuite(userDefaults: defaults)
                let setting = Setting(.registered, suite: suite)
                #expect(setting.value == 80)
                defaults.register(defaults: [setting.key: 8080])
                #expect(setting.value == 8080 && defaults[.registered] == 8080)
                #expect(!setting.isSet && !suite.contains(setting.key) && suite.keys == [])
                #expect(try setting.load() == nil)
                #expect(setting.explain().layer == .fallback && setting.explain().value == 8080)
                // An update starts with the registered value, and a reset restores it.
                await #expect(try setting.update { $0 += 1 } == 8081)
                #expect(setting.isSet && setting.value == 8081)
                // A value that equals the registered one is stored nevertheless.
                setting.value = 8080
                #expect(setting.isSet)
                #if !canImport(ObjectiveC)
                #expect(try domain.contentsOnDisk[setting.key] as? Int == 8080)
                #endif
                setting.value = 1
                let changes = setting.changes()
                try await setting.reset()
                #expect(setting.value == 8080 && !setting.isSet)
                let change = await within { await changes.first { _ in true } }
                #expect(change??.old == 1 && change??.new == 8080)
            }
        }

        @Test("Row 41: UserDefaults accepts the keys of this library")
        func keys() async throws {
            try await withDefaults { defaults, _ in
                #expect(defaults[.quality] == 0.8)
                defaults[.quality] = 0.5
                defaults[.quality] += 0.25
                #expect(defaults[.quality] == 0.75 && defaults.double(forKey: "quality") == 0.75)
                defaults.set(0.125, forKey: "quality")
                #expect(defaults[.quality] == 0.125)
                #expect(UserDefaults.standard[.quality] == 0.8)
                #expect(
                    SettingsSuite(userDefaults: .standard)
                        == SettingsSuite(userDefaults: .standard, name: "UserDefaults")
                )
            }
        }

        @Test("suites over one object share a store, and suites over two objects of a domain see each other's changes")
        func identity() async throws {
            try await withDefaults { defaults, domain in
                let (one, two) = (SettingsSuite(userDefaults: defaults), SettingsSuite(userDefaults: defaults))
                #expect(one == two)
                let other = SettingsSuite(userDefaults: try domain.open())
                #expect(one != other)
                for count in 1...3 {
                    one[.launches] = count
                    #expect(other[.launches] == count)
                    #expect(try await Setting(.launches, suite: other).update { $0 += 10 } == count + 10)
                    #expect(one[.launches] == count + 10)
                }
            }
        }

        #if !canImport(ObjectiveC)
        @Test("the changes of another process are read by synchronize and by the next update")
        func otherProcesses() async throws {
            try await withDomain { domain in
                let suite = SettingsSuite(userDefaults: try domain.open())
                suite[.launches] = 1
                var contents = try domain.contentsOnDisk
                contents["launches"] = 5
                contents["other"] = "theirs"
                try domain.overwrite(with: contents)
                let changes = suite.changes()
                try await suite.synchronize()
                #expect(suite[.launches] == 5 && suite[storedValueFor: "other"] == "theirs")
                let first = await within { await changes.first { _ in true } }
                #expect(first??.origin == .external)
                contents["launches"] = 7
                try domain.overwrite(with: contents)
                await #expect(try Setting(.launches, suite: suite).update { $0 += 1 } == 8)
                #expect(try domain.contentsOnDisk["other"] as? String == "theirs")
            }
        }

        @Test("each set is on disk when it returns, and removing the last value removes the file")
        func durability() async throws {
            try await withDomain { domain in
                let suite = SettingsSuite(userDefaults: try domain.open())
                suite[.launches] = 1
                #expect(try domain.contentsOnDisk["launches"] as? Int == 1)
                suite[SettingKey<Date>("at", default: .distantPast)] = Date(timeIntervalSinceReferenceDate: 0.5)
                #expect(try domain.contentsOnDisk[ExactForms.key] is Data)
                try await suite.removeAll()
                #expect(!FileManager.default.fileExists(atPath: domain.file))
            }
        }
        #endif
    }
}
