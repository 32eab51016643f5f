// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A member is addressed like a setting".

/// A member of a structure, as people name it: by the key of the setting and its own names, as in `limits.burst`.
struct SettingMember<Value: Sendable>: CatalogSetting {
    let setting: Setting<Value>
    /// The names that lead to the member.
    let path: [String]

    var key: String { ([setting.key] + path).joined(separator: ".") }
    var suite: SettingsSuite { setting.suite }
    private var traits: SettingTraits.Member? { setting.metadata.traits.members.member(at: path) }
    var metadata: SettingMetadata {
        SettingMetadata(help: traits?.help ?? "", traits: setting.isSecret(at: path) ? .secret : [])
    }
    var storedKeys: StoredKeys { setting.storedKeys }
    var isSecret: Bool { setting.isSecret(at: path) }
    func isSecret(_ stored: StoredValue?) -> Bool { isSecret }
    var typeName: String { defaultStoredValue.map { "\($0.kind)" } ?? "value" }
    var valueType: Any.Type { StoredValue.self }
    var schemaType: Any.Type? { nil }
    var valid: ValidDescription? { traits?.valid }
    var choices: [String]? { valid?.choiceTexts }
    var isSet: Bool { setting.box.storedValue.flatMap { setting.box.presentForm(of: $0).part(at: path) } != nil }
    var defaultStoredValue: StoredValue? { setting.defaultStoredValue?.part(at: path) }

    var current: CurrentValue {
        let whole = setting.current
        let value = whole.value?.part(at: path)
        return CurrentValue(value: value == .null ? nil : value, isFromSecretFile: whole.isFromSecretFile)
    }

    var summary: (layer: SettingsLayer, text: String, hidesStore: Bool) {
        let explanation = setting.explain()
        let name = path.joined(separator: ".")
        let origin = explanation.members.first { $0.name == name || $0.name.hasPrefix(name + ".") }
        let layer = origin?.layer ?? explanation.layer
        let place = origin?.source.map { "given by \($0)" } ?? "from the \(layer)"
        let text = isSecret || current.isFromSecretFile ? SettingTraits.redactedText : current.value.map(text) ?? "nil"
        let problem = explanation.problem.map { "; \($0.message)" } ?? ""
        return (layer, "\(key) = \(text), \(place)\(problem)", isSet && layer != .store)
    }

    func names(in source: LayerSource) -> OverrideNames {
        OverrideNames(member: setting.names(in: source).member(path))
    }

    func converted(_ text: String) throws -> ConvertedText { try setting.converted(text, memberAt: path) }

    func converted(_ given: StoredValue) throws -> ConvertedText { try setting.converted(given.nested(at: path)) }

    func check(_ stored: StoredValue) throws { try setting.check(stored.nested(at: path)) }

    func unknownMembers(in stored: StoredValue) -> [SettingsError] {
        setting.unknownMembers(in: stored.nested(at: path))
    }

    var removal: ConvertedText { setting.removal(ofMemberAt: path) }

    func set(text: String) throws { try setting.store(converted(text)) }

    func reset() throws { try setting.store(removal) }

    func text(of value: StoredValue) -> String { value.text }

    func findProblems() -> [SettingsError] { setting.findProblems() }
}

extension Setting {
    /// Returns the member with some names, joined by periods; `nil` if the value and the default have no such member.
    package func member(_ name: String) -> (any CatalogSetting)? {
        let isNamed = { (path: [String]) in path.joined(separator: ".") == name }
        if let path = box.memberPaths.first(where: isNamed) { return SettingMember(setting: self, path: path) }
        guard !box.key.metadata.traits.isWhole else { return nil }
        // The value in use can have a structure where the default has none.
        let used = box.encoded(box.value).flatMap { StructureShape(of: $0, box.conversion.parts) }
        return used?.memberPaths.first(where: isNamed).map { SettingMember(setting: self, path: $0) }
    }

    package var memberNames: [String] {
        box.memberPaths.map { ([key] + $0).joined(separator: ".") }
    }

    package func memberNames(in source: LayerSource) -> [String] {
        let names = names(in: source)
        return box.memberPaths.compactMap(names.member)
    }

    /// Whether no text for people may contain a member.
    fileprivate func isSecret(at path: [String]) -> Bool {
        let traits = metadata.traits
        // Only the traits of members make the structure secret: those of the others do not.
        guard traits.isSecret, !traits.isWholeSecret else { return isSecret }
        let types =
            box.shape?.parts.types.filter { $0.key.starts(with: path) || path.starts(with: $0.key) }.flatMap(\.value)
            ?? []
        return traits.members.isSecret(at: path) || types.contains { $0 is any SecretType.Type }
    }

    /// What removes a member from the stored structure.
    fileprivate func removal(ofMemberAt path: [String]) -> ConvertedText {
        let rest = box.storedValue.flatMap { box.presentForm(of: $0).removing(path[...]) }
        let isLast = rest == [:]
        return ConvertedText(isLast ? nil : rest) { try $0.remove(path, of: self) }
    }

    package var members: [MemberDescription] {
        box.shape.map { MemberDescription.all(in: $0.form, $0.parts, metadata.traits.members, at: []) } ?? []
    }
}

/// What a type asks for when it decodes a member of a structure.
package struct MemberDescription: Sendable {
    package let name: String
    /// The type; `nil` if it is unknown, or one of several.
    package let type: Any.Type?
    package let isNullable: Bool
    /// The stored form of the default.
    package let defaultValue: StoredValue
    /// What is declared about it.
    package let traits: SettingTraits.Member?
    /// The members of a member that is a structure itself.
    package let members: [MemberDescription]

    fileprivate static func all(
        in form: StoredValue,
        _ parts: DecodingTrace.Parts,
        _ traits: [SettingTraits.Member],
        at path: [String]
    ) -> [MemberDescription] {
        guard parts.structures.contains(path), case .dictionary(let members) = form else { return [] }
        return members.sorted { $0.key < $1.key }
            .map { name, value in
                let place = path + [name]
                // An optional is asked for first, and then the type inside.
                var types = parts.types[place] ?? []
                let optional = types.first as? any OptionalType.Type
                if optional != nil { types.removeFirst() }
                return MemberDescription(
                    name: name,
                    type: types.count == 1 ? types[0] : nil,
                    isNullable: optional != nil || parts.nullable.contains(place),
                    defaultValue: value,
                    traits: traits.member(at: place),
                    members: all(in: value, parts, traits, at: place)
                )
            }
    }
}
