// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A catalog is found by reflection".

/// All settings of one or more values, found in their declarations.
///
/// ```swift
/// let catalog = SettingsCatalog(ServerSettings())
/// try catalog.validate()                       // throws one error that lists every problem
/// for setting in catalog { print(setting.key, setting.text ?? "–", setting.help.summary) }
/// try catalog["port"]?.set(text: "9090")
/// ```
///
/// The catalog contains each property with a wrapper of this library, and each ``Setting``, of a struct, a tuple or a class with
/// its superclasses, and of the structs and tuples inside. Objects inside are not searched: pass them as further values.
/// Properties are found by Swift's reflection, which an executable that is built with `-disable-reflection-metadata` does not
/// contain; ``validate(unknownKeys:)`` fails if a value has no settings. They are in the order of their declarations, and two
/// declarations of one setting are one element.
///
/// Creating a catalog takes some microseconds per setting, and reads no values. A catalog may be used from any thread.
public struct SettingsCatalog: Sendable {
    private let settings: [AnySetting]
    /// The errors of declarations that contradict each other.
    let conflicts: [SettingsError]

    /// Finds the settings of some values.
    ///
    /// - Parameter values: Structs and classes with settings.
    public init(_ values: Any...) {
        var search = CatalogSearch()
        for value in values { search.visit(value) }
        search.finish()
        settings = search.settings
        conflicts = search.conflicts
    }

    /// The setting with a key; `nil` if there is none.
    ///
    /// If several suites have settings with the key, the first one is returned.
    public subscript(key: String) -> AnySetting? {
        settings.first { $0.key == key }
    }
}

extension Sequence<AnySetting> {
    /// The suites of the settings, each once, in the order of the settings.
    var suites: [SettingsSuite] {
        reduce(into: []) { suites, setting in
            if !suites.contains(setting.suite) { suites.append(setting.suite) }
        }
    }
}

extension SettingsCatalog: RandomAccessCollection {
    /// The index of the first setting.
    public var startIndex: Int { settings.startIndex }

    /// The index after the last setting.
    public var endIndex: Int { settings.endIndex }

    /// The setting at an index.
    public subscript(index: Int) -> AnySetting { settings[index] }
}

/// A wrapper or another value that declares one setting.
protocol SettingDeclaration {
    var declaredSetting: any CatalogSetting { get }
}

extension DefaultStorage: SettingDeclaration {
    var declaredSetting: any CatalogSetting { setting }
}

extension DefaultStorageOptional: SettingDeclaration {
    var declaredSetting: any CatalogSetting { setting }
}

extension Setting: SettingDeclaration {
    var declaredSetting: any CatalogSetting { self }
}
