// SPDX-License-Identifier: Apache-2.0

/// A search for the settings of values.
struct CatalogSearch {
    private(set) var settings: [AnySetting] = []
    private(set) var conflicts: [SettingsError] = []
    /// The objects that were visited, because they may refer to each other.
    private var visited: Set<ObjectIdentifier> = []

    /// The number of levels of values inside of values that are searched.
    ///
    /// Settings are not deeper, and the search of a long list of objects must not overflow the stack.
    private static let maximumDepth = 16

    /// Adds the settings of a value, and of the values inside of it.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - path: Where it is declared.
    ///   - depth: The number of values around it.
    mutating func visit(_ value: Any, path: String, depth: Int = 0) {
        if let declaration = value as? any SettingDeclaration {
            return add(AnySetting(declaration.declaredSetting, declaration: path))
        }
        guard depth < Self.maximumDepth else { return }
        var mirror: Mirror? = Mirror(reflecting: value)
        switch mirror?.displayStyle {
        case .struct, .tuple, .optional: break
        case .class:
            // A value that is displayed as a class is an object.
            guard visited.insert(ObjectIdentifier(value as AnyObject)).inserted else { return }
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
        switch label {
        case "some", nil: path
        case let label?: path + "." + (label.hasPrefix("_") ? String(label.dropFirst()) : label)
        }
    }

    private mutating func add(_ setting: AnySetting) {
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
