// SPDX-License-Identifier: Apache-2.0

import StoredSettings
import StoredSettingsCommand

/// The keys of a suite as settings without declarations.
struct SuiteKeys: UndeclaredSettings {
    let suite: SettingsSuite
    /// The type that new values have; `nil` to infer it.
    var type: ValueType?

    func setting(forKey key: String) -> AnySetting {
        AnySetting(StoredKey(key: key, suite: suite, type: type), declaration: key)
    }
}

/// A key of a suite, as a setting of any type.
struct StoredKey: CatalogSetting {
    let key: String
    let suite: SettingsSuite
    let type: ValueType?

    var metadata: SettingMetadata { SettingMetadata(help: "", traits: []) }
    var typeName: String { currentStoredValue.map { ValueType(of: $0)?.rawValue ?? "null" } ?? "none" }
    var valueType: Any.Type { StoredValue.self }
    var schemaType: Any.Type? { nil }
    var valid: ValidDescription? { nil }
    var choices: [String]? { nil }
    var isSet: Bool { suite.contains(key) }
    var defaultStoredValue: StoredValue? { nil }
    var currentStoredValue: StoredValue? { suite[storedValueFor: key] }
    var storedKeys: StoredKeys { StoredKeys(key) }
    var current: CurrentValue { CurrentValue(value: currentStoredValue) }

    var summary: (layer: SettingsLayer, text: String, hidesStore: Bool) {
        guard let value = currentStoredValue else { return (.default, "\(key) has no value in \(suite)", false) }
        return (.store, "\(key) = \(value.text) (\(typeName)), \(suite.persistence)", false)
    }

    func set(text: String) throws {
        try suite.setStoredValue(converted(text).value, forKey: key)
    }

    func converted(_ text: String) throws -> ConvertedText {
        do {
            let value =
                if let type { try type.value(ofText: text) } else {
                    try ValueType.value(ofText: text, replacing: currentStoredValue)
                }
            try value.checkStorable(forKey: key)
            return ConvertedText(value.storedAsJSON)
        } catch let error as SettingsError {
            var error = error
            error.key = key
            if error.consequence.isEmpty { error.consequence = "nothing is changed" }
            throw error
        }
    }

    func check(_ stored: StoredValue) throws {
        try stored.checkStorable(forKey: key)
    }

    func reset() throws {
        try suite.setStoredValue(nil, forKey: key)
    }

    func text(of value: StoredValue) -> String { value.text }

    func findProblems() -> [SettingsError] { [] }
}
