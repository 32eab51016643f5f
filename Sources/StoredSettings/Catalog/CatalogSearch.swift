// SPDX-License-Identifier: Apache-2.0

/// A search for the settings of values.
struct CatalogSearch {
    private(set) var settings: [AnySetting] = []
    private(set) var conflicts: [SettingsError] = []
    /// The number of declarations.
    private var found = 0
    /// The number of levels of values inside of values that are searched.
    ///
    /// Settings are not deeper, and the search of a long chain of values must not overflow the stack.
    private static let maximumDepth = 16

    /// Adds the settings of a value, and of the values inside of it.
    ///
    /// Objects inside of it are not searched: other threads may change them, and they may refer to anything.
    mutating func visit(_ value: Any) {
        let name = "\(type(of: value))"
        let before = found
        visit(value, path: name, depth: 0)
        if found == before { conflicts.append(.withoutSettings(name)) }
    }

    /// Finds what contradicts in the declarations of different settings.
    mutating func finish() {
        findSharedOldKeys()
        for suite in settings.suites {
            for source in suite.sources { findSharedNames(in: source, of: suite) }
        }
    }

    /// Finds flags and variables that would give a value to several settings.
    private mutating func findSharedNames(in source: LayerSource, of suite: SettingsSuite) {
        var owners: [String: AnySetting] = [:]
        for setting in settings where setting.suite == suite {
            for name in setting.allNames(in: source) {
                guard let other = owners.updateValue(setting, forKey: name), other.key != setting.key else { continue }
                // A shared key is another error, from which this one follows.
                let (keys, others) = (setting.base.storedKeys.all, other.base.storedKeys.all)
                guard others.allSatisfy({ !keys.contains($0) }) else { continue }
                conflicts.append(.sharedName(name, other, setting))
            }
        }
    }

    private mutating func findSharedOldKeys() {
        for (index, setting) in settings.enumerated() {
            for other in settings[..<index] where other.suite.engine === setting.suite.engine {
                let (keys, others) = (setting.base.storedKeys, other.base.storedKeys)
                if let key = others.all.first(where: {
                    keys.old.contains($0) || others.old.contains($0) && keys.current == $0
                }),
                    setting.key != other.key
                {
                    conflicts.append(.sharedOldKey(key, other, setting))
                }
            }
        }
    }

    private mutating func visit(_ value: Any, path: String, depth: Int) {
        // The type first: a cast of a value that fails also searches for a conversion of the value, which takes as long again.
        if type(of: value) is any SettingDeclaration.Type, let declaration = value as? any SettingDeclaration {
            return add(AnySetting(declaration.declaredSetting, declaration: path))
        }
        guard depth < Self.maximumDepth else { return }
        var mirror: Mirror? = Mirror(reflecting: value)
        switch mirror?.displayStyle {
        case .struct, .tuple, .optional: break
        case .class where depth == 0 && !(type(of: value) is any Actor.Type): break
        default: return
        }
        while let current = mirror {
            for child in current.children {
                visit(child.value, path: self.path(path, child.label), depth: depth + 1)
            }
            mirror = current.superclassMirror
        }
    }

    /// The path of a property: the storage of `$port` has the label `_port`.
    private func path(_ path: String, _ label: String?) -> String {
        guard let label, label != "some" else { return path }
        let name = label.hasPrefix("_") ? String(label.dropFirst()) : label
        // The elements of a tuple have the labels `.0`, `.1` and so on.
        return name.hasPrefix(".") ? path + name : "\(path).\(name)"
    }

    private mutating func add(_ setting: AnySetting) {
        found += 1
        guard let known = settings.first(where: { $0.key == setting.key && $0.suite == setting.suite }) else {
            settings.append(setting)
            return
        }
        if let difference = known.difference(from: setting) {
            conflicts.append(.conflictingDeclarations(known, setting, difference))
        }
    }
}

extension AnySetting {
    /// The setting's flags or variables in a source, those of a Boolean that begin with `--no-` included.
    fileprivate func allNames(in source: LayerSource) -> [String] {
        let names = names(in: source).all
        guard source.hasFlags, base.isBoolean else { return names }
        return names + names.map { "--no-" + $0.dropFirst(2) }
    }

    /// What differs in the definition of another declaration of the same key; `nil` if nothing does that can be compared.
    fileprivate func difference(from other: AnySetting) -> String? {
        if base.valueType != other.base.valueType { return "types" }
        if base.defaultStoredValue != other.base.defaultStoredValue { return "defaults" }
        if validValues != other.validValues { return "valid values" }
        if traits != other.traits { return "traits" }
        return nil
    }
}

extension SettingsError {
    fileprivate static func withoutSettings(_ name: String) -> SettingsError {
        SettingsError(
            .emptyCatalog,
            fact: "no setting is declared in a value of type \(name)",
            consequence: "the catalog does not contain its settings",
            remedy: "pass an instance of a struct or a class with settings; pass the elements of an array one by one"
        )
    }

    fileprivate static func sharedOldKey(_ key: String, _ setting: AnySetting, _ other: AnySetting) -> SettingsError {
        var error = SettingsError(
            .conflictingDeclarations,
            fact:
                "'\(key)' is a key of \(setting.declaration) and of \(other.declaration), and an old one of at least one of them",
            consequence: "a set of one of them removes the value of the other",
            remedy: "remove '\(key)' from the old keys",
            key: key
        )
        error.suite = setting.suite.name
        return error
    }

    fileprivate static func sharedName(_ name: String, _ setting: AnySetting, _ other: AnySetting) -> SettingsError {
        var error = SettingsError(
            .conflictingDeclarations,
            fact: "\(name) belongs to \(setting.declaration), and to \(other.declaration) with the key '\(other.key)'",
            consequence: "one argument or variable changes both",
            remedy: "rename one of them, or give it another name with the trait .flag or .environment",
            key: setting.key
        )
        error.suite = setting.suite.name
        return error
    }

    fileprivate static func conflictingDeclarations(
        _ setting: AnySetting,
        _ other: AnySetting,
        _ difference: String
    ) -> SettingsError {
        var error = SettingsError(
            .conflictingDeclarations,
            fact: "\(setting.declaration) and \(other.declaration) declare it with different \(difference)",
            consequence: "each of them treats the stored value in its own way",
            remedy: "use one declaration, or two keys",
            key: setting.key
        )
        error.suite = setting.suite.name
        return error
    }
}
