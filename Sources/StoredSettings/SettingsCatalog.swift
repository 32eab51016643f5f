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

    /// The settings in the store of a suite, or of the first one, each key once.
    package func settings(of suite: SettingsSuite?) -> [AnySetting] {
        guard let suite = suite ?? first?.suite else { return [] }
        var keys: Set<String> = []
        return filter { $0.suite.engine === suite.engine && keys.insert($0.key).inserted }
    }
}

// MARK: - Explaining

extension SettingsCatalog {
    /// Returns where every value comes from, what it hides, and what is wrong, with a line for each setting.
    ///
    /// Secrets are `••••`.
    public func explain() -> String {
        suites.flatMap { suite in
            ["\(suite):"] + filter { $0.suite == suite }.map { "  " + $0.explain() }
        }
        .map { $0 + "\n" }
        .joined()
    }
}

// MARK: - Requirements

extension SettingsCatalog {
    /// Requires a condition on the values of several settings from now on.
    ///
    /// ```swift
    /// catalog.require("min is at most max", settings.$min, settings.$max) { $0 <= $1 }
    /// ```
    ///
    /// - ``validate(unknownKeys:)`` reports a requirement that is not met.
    /// - A set, an update or a transaction after which it would not be met throws
    ///   ``SettingsError/Code/requirementNotMet``, and changes nothing. Change several values in one transaction if each
    ///   change alone would not meet it.
    /// - If it is not met because a person has edited the file, or another program has changed a value, the last values that
    ///   meet it stay in use, and the stored ones are left as they are. A new process takes those values from the last good
    ///   copy, or uses the defaults. The reporter receives an error, and ``Setting/explain()`` names the problem. The values
    ///   are used as they are if not even the defaults meet the requirement.
    ///
    /// The requirement applies to all settings of the suite with these keys, for as long as the suite is used in this
    /// process. It is checked with the values that the program uses, including overrides.
    ///
    /// - Parameters:
    ///   - requirement: The requirement in words, for errors. It contains no value.
    ///   - settings: Settings of one suite.
    ///   - isMet: Returns whether the values meet the requirement. A value is not accepted if it throws. It uses only its
    ///     parameters: a setting that it reads has another value. It may run at the end of a transaction, while other writers
    ///     wait.
    public func require<each Value: Sendable>(
        _ requirement: String,
        _ settings: repeat Setting<each Value>,
        isMet: @escaping @Sendable (repeat each Value) throws -> Bool
    ) {
        var keys: [StoredKeys] = []
        var owner: SettingsSuite?
        for setting in repeat each settings {
            let suite = owner ?? setting.suite
            guard setting.suite.engine === suite.engine else {
                return suite.reporter.report(
                    setting.otherSuite(
                        than: "'\(suite.name)' of the requirement '\(requirement)'",
                        consequence: "the requirement is not checked",
                        remedy: "require conditions on settings of one suite"
                    )
                )
            }
            owner = suite
            keys.append(setting.box.key.storedKeys)
        }
        guard let owner else { return }
        // The engine owns the boxes, and must not own itself through the suites of the settings.
        let boxes = (repeat (each settings).box)
        let prepare: @Sendable ((StoredKeys) -> StoredValue?) -> Void = { stored in
            repeat (each boxes).findLastGoodValue(insteadOf: stored((each boxes).key.storedKeys))
        }
        let condition = Requirement(requirement, keys, owner, prepare: prepare) { stored in
            try isMet(repeat (each boxes).checkedValue(of: stored((each boxes).key.storedKeys)))
        }
        owner.engine.add(condition)
    }
}

extension Sequence<AnySetting> {
    /// The suites of the settings, each once, in the order of the settings.
    package var suites: [SettingsSuite] {
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
