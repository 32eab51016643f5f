// SPDX-License-Identifier: Apache-2.0

// Types of your own as settings, and how they look in the file:
//
//     swift run custom-types

import ExampleSettings
import Foundation
import StoredSettings

/// An enum is stored as its raw value.
enum Theme: String, StoredValueConvertible { case light, dark }

/// A Codable type is stored as its structure.
///
/// What the file omits is taken from the default.
struct Window: Codable, StoredValueConvertible {
    var width = 800
    var height = 600
}

/// A type with a counterpart that can be stored is stored as that.
struct Celsius: StoredRepresentable {
    var degrees: Double

    init(degrees: Double) { self.degrees = degrees }
    init(stored degrees: Double) { self.degrees = degrees }
    var stored: Double { degrees }
}

/// A type with conversions of its own can reject what it reads.
struct Percentage: StoredValueConvertible {
    var fraction: Double

    init(fraction: Double) { self.fraction = fraction }

    init(storedValue: StoredValue) throws {
        let percent = try Double(storedValue: storedValue)
        guard 0...100 ~= percent else { throw SettingsError.invalidValue("the percentage is outside 0...100") }
        fraction = percent / 100
    }

    func storedValue() throws -> StoredValue { .double(fraction * 100) }
}

/// A bridge stores a type that belongs to another module.
struct UnixSeconds: StoredValueBridge {
    func value(from storedValue: StoredValue) throws -> Date {
        Date(timeIntervalSince1970: try Double(storedValue: storedValue))
    }

    func storedValue(from value: Date) throws -> StoredValue { .double(value.timeIntervalSince1970) }
}

struct Preferences: Sendable {
    @DefaultStorage(key: "theme", suite: .customTypes) var theme = Theme.light
    @DefaultStorage(key: "window", suite: .customTypes) var window = Window()
    @DefaultStorage(key: "alarm", suite: .customTypes) var alarm = Celsius(degrees: 80)
    @DefaultStorage(key: "volume", suite: .customTypes) var volume = Percentage(fraction: 0.5)
    @DefaultStorage(key: "visits", suite: .customTypes, as: UnixSeconds().array) var visits: [Date] = []
}

extension SettingsSuite {
    static let customTypes: SettingsSuite = "com.example.custom-types"
}

@main
struct CustomTypes {
    static func main() {
        do {
            try run(Preferences(), in: .customTypes)
        } catch {
            Console.fail("custom-types: \(error)")
        }
    }

    private static func run(_ preferences: Preferences, in suite: SettingsSuite) throws {
        preferences.theme = .dark
        preferences.window.width = 1024
        preferences.alarm = Celsius(degrees: 72.5)
        preferences.volume = Percentage(fraction: 0.75)
        preferences.visits = [Date(timeIntervalSince1970: 1_000_000_000)]
        try suite.checkpoint()
        if case .durable(let path) = suite.persistence {
            print(try String(contentsOfFile: path, encoding: .utf8), terminator: "")
        }
        print("volume: \(preferences.volume.fraction)")

        // As if a person had edited the file: one member is missing, and one value is out of range. Then the missing member is
        // that of the default, and the last good value stays in use.
        try suite.setStoredValue(["height": 300], forKey: "window")
        try suite.setStoredValue(200, forKey: "volume")
        print("window: \(preferences.window.width) × \(preferences.window.height)")
        do {
            _ = try preferences.$volume.load()
        } catch let error as SettingsError {
            print("volume: still \(preferences.volume.fraction), because \(error.fact)")
        }
        try suite.removeAll()
    }
}
