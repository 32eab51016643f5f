// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings
import StoredSettingsFoundation
import Testing

// The code of Documentation/ComingFromUserDefault.md, between the markers; `SnippetTests` compares them.

// snippet: row-16
enum Style: String, StoredValueConvertible { case plain, fancy }
// end

// snippet: row-17
struct Layout: Codable, Equatable, StoredValueConvertible { var columns = 1 }
// end

// snippet: row-19
final class Pen: NSObject, NSSecureCoding, StoredValueConvertible {
    // end
    static var supportsSecureCoding: Bool { true }
    let width: Double

    init(width: Double) { self.width = width }
    init?(coder: NSCoder) { width = coder.decodeDouble(forKey: "width") }

    func encode(with coder: NSCoder) { coder.encode(width, forKey: "width") }
}

// snippet: row-20
struct Angle: StoredValueConvertible, Equatable {
    var degrees: Int

    init(degrees: Int) { self.degrees = degrees }

    init(storedValue: StoredValue) throws {
        degrees = try storedValue.as(Int.self)
        guard 0..<360 ~= degrees else { throw SettingsError.invalidValue("the angle is outside 0..<360") }
    }

    func storedValue() throws -> StoredValue { degrees.storedValue() }
}
// end

// snippet: row-21
struct Theme: StoredRepresentable, Hashable {
    var style: Style

    init(stored style: Style) { self.style = style }
    var stored: Style { style }
}
// end

struct History: Collection {
    var entries: [String] = []

    var startIndex: Int { entries.startIndex }
    var endIndex: Int { entries.endIndex }
    func index(after index: Int) -> Int { entries.index(after: index) }
    subscript(index: Int) -> String { entries[index] }
}

// snippet: row-23
extension History: StoredCollection {
    init(stored elements: [String]) { entries = elements }
}
// end

private struct Settings: Sendable {
    // snippet: row-1
    @DefaultStorage(key: "x") var x = false
    // end
    // snippet: row-2
    @DefaultStorageOptional(key: "name") var name: String?
    // end
    // snippet: row-3
    @DefaultStorage(key: "count") var count: Int? = 42
    // end
    // snippet: row-10
    @DefaultStorage(key: "y", suite: "com.acme.tool") var y = false
    // end
    // snippet: row-14
    @DefaultStorage(key: "opened") var opened = Date.distantPast
    // end
    // snippet: row-15
    @DefaultStorage(key: "deep") var deep: [String: [String: [Int]]] = [:]
    // end
    @DefaultStorage(key: "layout") var layout = Layout()
    @DefaultStorage(key: "angle") var angle = Angle(degrees: 0)
    @DefaultStorage(key: "themes") var themes: Set<Theme> = []
    @DefaultStorage(key: "history") var history = History()
    @DefaultStorage(key: "pen") var pen = Pen(width: 1)
}

@Suite("Coming from UserDefault")
struct UserDefaultGuide {
    private let suite = SettingsSuite.inMemory()
    private let settings: Settings

    init() {
        settings = SettingsSuite.withStandard(suite) { Settings() }
    }

    @Test("declarations and use")
    func declaring() throws {
        settings.x = true
        settings.name = "ada"
        settings.count = nil
        #expect(suite.snapshot() == ["x": true, "name": "ada", "count": nil])
        #expect(settings.$y.suite.name == "com.acme.tool")
        // snippet: row-11
        #expect(settings.$x.key == "x" && settings.$x.defaultValue == false && settings.$x.suite == suite)
        // end
        // snippet: row-12
        let stored = try settings.$count.load()
        print(settings.$count.explain())
        // end
        #expect(stored == .some(nil))
        // snippet: row-13
        settings.x = true
        // end
        // snippet: row-37
        try settings.$x.reset()
        // end
        #expect(!settings.x && !settings.$x.isSet)
    }

    @Test("types")
    func types() throws {
        settings.opened = Date(timeIntervalSinceReferenceDate: 0.5)
        settings.deep["a"] = ["b": [1]]
        settings.layout.columns = 2
        settings.angle = Angle(degrees: 90)
        settings.themes = [Theme(stored: .fancy)]
        settings.history.entries = ["a"]
        settings.history = History(stored: ["a", "b"])
        settings.pen = Pen(width: 2)
        #expect(suite[storedValueFor: "layout"] == ["columns": 2])
        #expect(suite[storedValueFor: "angle"] == 90 && suite[storedValueFor: "themes"] == ["fancy"])
        #expect(suite[storedValueFor: "history"] == ["a", "b"] && settings.pen.width == 2)
        try suite.setStoredValue(400, forKey: "angle")
        #expect(throws: SettingsError.self) { try settings.$angle.load() }
        // snippet: row-35
        let observed = suite.observable()
        // end
        // snippet: row-40
        let shared = SettingsSuite("com.acme.tool")
        // end
        #expect(observed.isObservable && shared.name == "com.acme.tool")
    }

    @Test("migrating data")
    func data() throws {
        let old = SettingsSuite.inMemory([
            "x": true, "count": [], "name": ["ada"], "layout": .data(Data(#"{"columns":3}"#.utf8)),
        ])
        try bringAlong(from: old, into: settings)
        #expect(settings.x && settings.count == nil && settings.name == "ada" && settings.layout.columns == 3)
        #expect(suite[storedValueFor: "name"] == "ada" && suite[storedValueFor: "count"] == .null)
        expectFailedMigration(of: "x") { suite in
            let settings = SettingsSuite.withStandard(suite) { Settings() }
            try bringAlong(from: .inMemory(["name": ["ada"], "x": 1]), into: settings)
        }
    }

    // snippet: bring-along
    private func bringAlong(from old: SettingsSuite, into settings: Settings) throws {
        var migrator = SettingsMigrator()
        migrator.addStep("from UserDefault") { values in
            for key in ["x", "name", "count", "layout"] where values[storedValueFor: key] == nil {
                values[storedValueFor: key] = old[storedValueFor: key]
            }
            try values.convert(settings.$name, from: LegacyOptional())
            try values.convert(settings.$count, from: LegacyOptional())
            try values.convert(settings.$layout, from: LegacyJSON())
            _ = try values.value(of: settings.$x)
        }
        try migrator.migrate(settings.$x.suite)
    }
    // end

    /// Compiled but not run, because other tests use `UserDefaults` at the same time; `LegacyTests` runs similar code.
    private func overUserDefaults() throws {
        // snippet: row-41
        let suite = SettingsSuite(userDefaults: .standard)
        // end
        // snippet: in-place
        @DefaultStorage(key: "count", suite: suite, as: LegacyOptional()) var count: Int? = 42
        @DefaultStorage(key: "name", suite: suite, as: LegacyOptional()) var name: String? = nil
        @DefaultStorage(key: "layout", suite: suite, as: LegacyJSON()) var layout = Layout()
        @DefaultStorage(key: "maybe", suite: suite, as: LegacyOptional(LegacyJSON())) var maybe: Layout? = nil
        // end
        // snippet: row-14-url
        let file = SettingKey("file", default: URL(fileURLWithPath: "/"), as: UserDefaultsURL())
        // end
        // snippet: start
        try bringAlong(from: SettingsSuite(userDefaults: .standard), into: settings)
        // end
        _ = file
    }
}
