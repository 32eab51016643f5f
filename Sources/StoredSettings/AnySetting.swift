// SPDX-License-Identifier: Apache-2.0

/// A setting of any type, as an element of a ``SettingsCatalog``.
///
/// Values are strings here, in the form that flags and environment variables have: see <doc:OverridingSettings>. A string is
/// itself, other values are JSON. The text of a setting with the trait ``SettingTraits/secret``, or from a secret file, is
/// `••••`. ``set(text:)`` accepts every other ``text``.
public struct AnySetting: Sendable {
    package let base: any CatalogSetting
    /// Where the setting is declared, such as `ServerSettings.port`.
    public let declaration: String

    package init(_ base: any CatalogSetting, declaration: String) {
        self.base = base
        self.declaration = declaration
    }

    /// The key.
    public var key: String { base.key }

    /// The suite that stores the setting.
    public var suite: SettingsSuite { base.suite }

    /// What the setting is for.
    public var help: SettingHelp { base.metadata.help }

    /// Further properties of the setting.
    public var traits: SettingTraits { base.metadata.traits }

    /// Whether the value is secret, so that no text contains it.
    package var isSecret: Bool { base.isSecret }

    /// The name of the type of the values, such as `Int` or `Optional<LogLevel>`.
    public var typeName: String { base.typeName }

    /// The name of the flag on the command line, without the two dashes, such as `log-level`; `nil` if the suite does not read
    /// the command line, or the key has no letters and digits.
    ///
    /// It follows from the key, unless ``SettingTraits/flag(_:)`` is another one.
    public var flag: String? {
        name(where: \.hasFlags).map { String($0.dropFirst(2)) }
    }

    /// The name of the environment variable, such as `ACME_LOG_LEVEL`; `nil` if the suite does not read the environment, or the
    /// key has no letters and digits.
    ///
    /// It follows from the prefix of the suite's variables and the key, unless ``SettingTraits/environment(_:)`` is another
    /// one. If the suite has several prefixes, it is the variable that takes precedence.
    public var environmentVariable: String? { name(where: \.hasVariables) }

    /// The setting's flags or variables in a source.
    package func names(in source: LayerSource) -> OverrideNames { base.names(in: source) }

    /// The members of a structure, and the members of these, such as `limits.burst`; empty for another type.
    ///
    /// They are the members of the default. Each has a flag and a variable of its own, and a key: `catalog["limits.burst"]`.
    public var members: [AnySetting] {
        base.memberNames.compactMap { member(String($0.dropFirst(key.count + 1))) }
    }

    /// The member of a structure with some names, joined by periods; `nil` if there is none.
    package func member(_ name: String) -> AnySetting? {
        base.member(name).map { AnySetting($0, declaration: declaration) }
    }

    /// The name in the first source of a kind.
    private func name(where isOfKind: (LayerSource) -> Bool) -> String? {
        suite.sources.first(where: isOfKind).flatMap { names(in: $0).current }
    }

    /// The valid values as they are written in source, such as `1...65535`, or as a list, such as `text, json`; `nil` when
    /// all are valid, or only a closure decides.
    public var validValues: String? { base.valid?.text }

    /// The texts of all valid values, if the setting lists them or they are an enum; `nil` for another type.
    public var choices: [String]? { base.choices }

    /// The text of the default; `nil` when it is `nil`, or has no stored form.
    public var defaultText: String? { redactedText(of: CurrentValue(value: base.defaultStoredValue)) }

    /// The text of the value; `nil` when it is `nil`, or has no stored form.
    public var text: String? { redactedText(of: base.current) }

    /// The layer that the value comes from.
    public var layer: SettingsLayer { base.summary.layer }

    /// Whether a value is stored, even one that cannot be decoded.
    public var isSet: Bool { base.isSet }

    /// One sentence on where the value comes from, what it hides, and what is wrong: see ``Setting/explain()``.
    public func explain() -> String { base.summary.text }

    /// Stores the value of a text.
    ///
    /// Of a structure, some members are enough. The others keep the values that they have beneath overrides. The text `••••` is
    /// no value of a secret setting.
    ///
    /// - Parameter text: The text, in the form of a flag's value.
    /// - Throws: ``SettingsError`` when the text is no valid value, or when the value cannot be saved. Then nothing has
    ///   changed.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func set(text: String) throws {
        try base.set(text: text)
    }

    /// Stores the value of a text, and suspends the task while it waits for another writer.
    ///
    /// - Parameter text: The text, in the form of a flag's value.
    /// - Throws: ``SettingsError`` when the text is no valid value, or when the value cannot be saved; `CancellationError` when
    ///   the task is canceled before. Then nothing has changed.
    public nonisolated(nonsending) func set(text: String) async throws {
        try await suite.engine.suspending { [base] in try base.set(text: text) }
    }

    /// Checks a text without storing it.
    ///
    /// - Parameter text: The text, in the form of a flag's value.
    /// - Throws: ``SettingsError`` when the text is no valid value.
    public func check(text: String) throws {
        do {
            _ = try base.converted(text)
        } catch let error as SettingsError {
            throw error.ofTypedText(consequence: "the setting does not accept it")
        }
    }

    /// Removes the stored value, so that the default is used.
    ///
    /// - Throws: ``SettingsError`` when the change cannot be saved. Then nothing has changed.
    @available(*, noasync, message: "write 'try await'; at the top level, in a function")
    public func reset() throws {
        try base.reset()
    }

    /// Removes the stored value, and suspends the task while it waits for another writer.
    ///
    /// - Throws: ``SettingsError`` when the change cannot be saved; `CancellationError` when the task is canceled before. Then
    ///   nothing has changed.
    public nonisolated(nonsending) func reset() async throws {
        try await suite.engine.suspending { [base] in try base.reset() }
    }

    /// Returns everything that is wrong with the setting's values in all sources, whether they are used or not.
    ///
    /// A file that cannot be read is not a problem of one setting: see ``SettingsCatalog/findProblems(unknownKeys:)``.
    public func findProblems() -> [SettingsError] {
        base.findProblems()
    }

    /// The texts of the current value and of every change: see ``Setting/values``.
    ///
    /// A text is `nil` for a value that is `nil`.
    public var texts: SettingsSuite.TupleValues<String?> {
        SettingsSuite.TupleValues(engine: suite.engine, keys: Set(base.storedKeys.all), isInitial: true) {
            var current = base.current
            return (
                readAll: {
                    let last = current
                    current = base.current
                    return current.value != last.value
                },
                current: { redactedText(of: current) }
            )
        }
    }

    package func redactedText(of current: CurrentValue) -> String? {
        // A stored null is the `nil` of an optional type.
        guard let value = current.value, value != .null else { return nil }
        return isSecret || current.isFromSecretFile ? SettingTraits.redactedText : base.text(of: base.written(value))
    }
}

// MARK: - Values for programs

extension AnySetting {
    /// The value in the form that it has in a settings file; `nil` when it is `nil`, or has no stored form.
    ///
    /// A secret is the string `••••`.
    public var value: StoredValue? {
        let value = redactedValue(base.current)
        return value == .null ? nil : value
    }

    /// The setting as an object of JSON.
    package var jsonObject: StoredValue {
        let current = base.current
        return [
            "key": .string(key),
            "suite": .string(suite.name),
            "value": redactedValue(current),
            "text": redactedText(of: current).map(StoredValue.string) ?? .null,
            "layer": .string(layer.description),
            "default": redactedValue(CurrentValue(value: base.defaultStoredValue)),
            "type": .string(typeName),
            "help": .string(help.summary),
            "valid": validValues.map(StoredValue.string) ?? .null,
            "choices": choices.map { .array($0.map(StoredValue.string)) } ?? .null,
            "isSecret": .bool(isSecret || current.isFromSecretFile),
            "isSet": .bool(isSet),
            "requiresRestart": .bool(traits.requiresRestart),
            "deprecated": traits.deprecation.map(StoredValue.string) ?? .null,
        ]
    }

    /// A value for output that contains no secrets.
    package func redactedValue(_ current: CurrentValue) -> StoredValue {
        guard let value = current.value else { return .null }
        return isSecret || current.isFromSecretFile ? .string(SettingTraits.redactedText) : value
    }
}

extension AnySetting {
    /// Throws ``SettingsError`` if a stored value that a person gives is not one of the setting, or has members that its type ignores.
    package func checkGiven(_ value: StoredValue, isPart: Bool = false, acceptsUnknownMembers: Bool = false) throws {
        if value == .string(SettingTraits.redactedText) {
            var error = SettingsError.placeholder
            error.key = key
            throw error
        }
        if !isPart { try base.check(value) }
        if !acceptsUnknownMembers, let error = base.unknownMembers(in: value).first { throw error }
    }
}

extension AnySetting: CustomStringConvertible {
    /// The setting's key and the name of its suite, without the value.
    public var description: String { "setting '\(key)' of suite '\(suite.name)'" }
}

extension AnySetting: CustomReflectable {
    /// A mirror without children, so that `dump` prints only the ``description``.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Sequence<AnySetting> {
    /// The members of structures with a key that begins with that of their setting.
    package func members(_ key: String) -> [AnySetting] {
        compactMap { key.hasPrefix($0.key + ".") ? $0.member(String(key.dropFirst($0.key.count + 1))) : nil }
    }
}

/// The requirements of a catalog for a setting of any type.
package protocol CatalogSetting: Sendable {
    var key: String { get }
    var suite: SettingsSuite { get }
    var metadata: SettingMetadata { get }
    /// Whether no text may contain the values, because they are secret or contain a secret.
    var isSecret: Bool { get }
    /// Whether no text may contain a stored value.
    func isSecret(_ stored: StoredValue?) -> Bool
    var typeName: String { get }
    var valueType: Any.Type { get }
    /// The type whose stored form the values have: that inside an optional whose `nil` means that nothing is stored; `nil`
    /// for a setting with a bridge.
    var schemaType: Any.Type? { get }
    var valid: ValidDescription? { get }
    var choices: [String]? { get }
    var isSet: Bool { get }
    /// The stored form of the default; `nil` when there is none.
    var defaultStoredValue: StoredValue? { get }
    /// The stored form of the value, and where it comes from, as of one reading.
    var current: CurrentValue { get }
    var storedKeys: StoredKeys { get }
    /// The layer of the value, and the explanation.
    var summary: (layer: SettingsLayer, text: String, hidesStore: Bool) { get }
    func set(text: String) throws
    /// Converts and checks a text.
    ///
    /// - Throws: ``SettingsError`` that names the setting.
    func converted(_ text: String) throws -> ConvertedText
    /// The same for a value as in a file.
    func converted(_ given: StoredValue) throws -> ConvertedText
    /// Checks whether a stored value could be used.
    ///
    /// - Throws: ``SettingsError`` that names the setting.
    func check(_ stored: StoredValue) throws
    /// Returns the errors of the members of a stored value that the type ignores.
    func unknownMembers(in stored: StoredValue) -> [SettingsError]
    /// Returns the errors of the members that the type ignores, in the store and in the files and suites of layers.
    func unknownMembers() -> [SettingsError]
    /// Returns the warnings of old keys and names, of a deprecated setting in use, of variables that belong to other settings,
    /// and of the order of the sources.
    func warnings(in contents: [String: StoredValue]) -> [SettingsError]
    func reset() throws
    /// What removes the stored value.
    var removal: ConvertedText { get }
    /// Returns the member of a structure with some names, joined by periods; `nil` if there is none.
    func member(_ name: String) -> (any CatalogSetting)?
    /// The keys of all members, each with the key of the setting.
    var memberNames: [String] { get }
    /// What is known about the members of the default.
    var members: [MemberDescription] { get }
    /// The flags or the variables of the members in a source.
    func memberNames(in source: LayerSource) -> [String]
    /// The setting's flags or variables in a source.
    func names(in source: LayerSource) -> OverrideNames
    /// Returns a value as a person would write it; scripts receive ``text(of:)`` of the value itself.
    func written(_ stored: StoredValue) -> StoredValue
    func text(of value: StoredValue) -> String
    func findProblems() -> [SettingsError]
}

extension CatalogSetting {
    package var isSecret: Bool { metadata.traits.isSecret }
    package func isSecret(_ stored: StoredValue?) -> Bool { isSecret }
    package func written(_ stored: StoredValue) -> StoredValue { stored }
    package var removal: ConvertedText { ConvertedText(nil) }
    package func member(_ name: String) -> (any CatalogSetting)? { nil }
    package var memberNames: [String] { [] }
    package var members: [MemberDescription] { [] }
    package func memberNames(in source: LayerSource) -> [String] { [] }
    package func names(in source: LayerSource) -> OverrideNames {
        OverrideNames(of: storedKeys, metadata.traits, in: source)
    }
    package func converted(_ given: StoredValue) throws -> ConvertedText {
        try check(given)
        return ConvertedText(given)
    }
    package func unknownMembers(in stored: StoredValue) -> [SettingsError] { [] }
    package func unknownMembers() -> [SettingsError] { [] }
    package func warnings(in contents: [String: StoredValue]) -> [SettingsError] { [] }
}

/// What a person gives for a setting, a text or a value as in a file, after it was checked.
package struct ConvertedText: Sendable {
    /// The stored form of the value; `nil` removes the stored value.
    package let value: StoredValue?
    /// Stores only some members, in a transaction; `nil` if all are given.
    package let setPart: (@Sendable (inout SettingsTransaction) throws -> Void)?

    package init(_ value: StoredValue?, setPart: (@Sendable (inout SettingsTransaction) throws -> Void)? = nil) {
        (self.value, self.setPart) = (value, setPart)
    }
}

/// The value of a setting at one moment.
package struct CurrentValue: Sendable {
    /// The stored form; `nil` when there is none.
    package let value: StoredValue?
    /// Whether the value comes from a secret file, so that no text contains it.
    package let isFromSecretFile: Bool

    package init(value: StoredValue?, isFromSecretFile: Bool = false) {
        (self.value, self.isFromSecretFile) = (value, isFromSecretFile)
    }
}
