// SPDX-License-Identifier: Apache-2.0

extension Setting: CatalogSetting {
    package var metadata: SettingMetadata { box.key.metadata }
    package var storedKeys: StoredKeys { box.key.storedKeys }
    package func isSecret(_ stored: StoredValue?) -> Bool { box.isSecret(stored) }
    package var isSecret: Bool { isSecret(box.storedValue) }
    package var valueType: Any.Type { Value.self }
    package var schemaType: Any.Type? {
        guard box.key.conversion.isOwn else { return nil }
        if case .absent = box.key.source { return (Value.self as? any OptionalType.Type)?.wrappedType ?? Value.self }
        return Value.self
    }
    package var typeName: String { "\(Value.self)" }
    package var valid: ValidDescription? { box.key.validator.valid }
    package var choices: [String]? { box.choices }
    package var defaultStoredValue: StoredValue? { box.encoded(defaultValue) }

    package var summary: (layer: SettingsLayer, text: String, hidesStore: Bool) {
        let explanation = explain()
        let warning = engine.ignoredValue(of: box.key.storedKeys).map { box.naming($0, as: .oldKeyIgnored) }
        let text = explanation.description + (warning.map { "; \($0.message)" } ?? "")
        return (explanation.layer, text, explanation.hidesStore)
    }

    package var current: CurrentValue {
        let reading = box.uncachedReading
        return CurrentValue(value: box.encoded(reading.value), isFromSecretFile: reading.isFromSecretFile)
    }

    package func set(text: String) throws { try store(converted(text)) }

    /// Stores what a person has given.
    func store(_ converted: ConvertedText) throws {
        // A whole value can be stored while the settings file is malformed.
        guard let setPart = converted.setPart else { return try write(converted.value) }
        do {
            try suite.transaction(setPart)
        } catch {
            throw unsaved(error)
        }
    }

    package func converted(_ text: String) throws -> ConvertedText { try converted(text, memberAt: []) }

    func converted(_ text: String, memberAt path: [String]) throws -> ConvertedText {
        // It also stands for a value from a secret file, whose setting need not be secret.
        guard text != SettingTraits.redactedText else { throw refusal(SettingsError.placeholder) }
        return try converted("use \(box.validForm(memberAt: path))") {
            try box.decoded([text], memberAt: path, over: $0)
        }
    }

    package func converted(_ given: StoredValue) throws -> ConvertedText {
        try given.checkStorable(forKey: key)
        let converted = try converted("use \(box.validForm(inJSON: true))") {
            (try box.convert(given, over: $0), given)
        }
        return converted.setPart == nil ? ConvertedText(given) : converted
    }

    /// Converts what a person gives, and notes whether it has only some members of a structure.
    private func converted(
        _ remedy: @autoclosure () -> String,
        _ convert: (() -> Value) throws -> (value: Value, stored: StoredValue)
    ) throws -> ConvertedText {
        let now = box.readingBeneathOverrides(of: box.storedValue, isReported: false, isForChange: true).value
        do {
            let (value, form) = try convert { now }
            if let whole = box.encoded(value), box.lacksMember(form, of: whole) {
                let known = box.storedValue
                let old = box.encoded(now)
                _ = try box.encode(value, insteadOf: old, besides: known, naming: form, mayBeWhole: true)
                // Another process may change the other members meanwhile.
                return ConvertedText(whole) { try $0.set(form, over: now, for: self) }
            }
            try box.validate(value)
            return ConvertedText(try box.encode(value))
        } catch {
            throw refusal(box.shown(error, as: .invalidValue), remedy())
        }
    }

    package func check(_ stored: StoredValue) throws {
        try stored.checkStorable(forKey: key)
        do {
            _ = try box.decode(stored)
        } catch {
            throw refusal(error, "use \(box.validForm(inJSON: true))")
        }
    }

    /// The error of a value that is to be stored, which says that nothing has changed.
    private func refusal(_ error: any Error, _ remedy: @autoclosure () -> String = "") -> SettingsError {
        var error = box.naming(error, as: .invalidValue)
        error.consequence = "the setting keeps the value it had"
        if error.remedy.isEmpty { error.remedy = remedy() }
        return error
    }

    package func written(_ stored: StoredValue) -> StoredValue { box.key.conversion.written(stored) }

    package func text(of value: StoredValue) -> String {
        // A setting of any stored value reads JSON first.
        SettingBox<Value>.isUntyped ? value.jsonText : value.text
    }

    package func warnings(in contents: [String: StoredValue]) -> [SettingsError] {
        var warnings: [SettingsError] = []
        let (overrides, bases) = (box.overrideReadings(over: box.storedValue), box.baseReadings())
        let stored = storedKeys.all.filter { engine.value(ofKey: $0, in: contents) != nil }
        if stored.first == key, let old = stored.dropFirst().first {
            warnings.append(.ignoredOldKey(old, of: key))
        }
        if let warning = engine.ignoredMember(of: key, in: contents) { warnings.append(warning) }
        if let deprecation = metadata.traits.deprecation {
            let stored = stored.first.map { "the key '\($0)'" }
            if let source = overrides.first?.source ?? stored ?? bases.first?.source {
                warnings.append(.deprecated(key, setBy: source, deprecation))
            }
        }
        return warnings.map(suite.naming) + box.sourceWarnings(of: overrides + bases, box.secretNames)
    }

    package func findProblems() -> [SettingsError] {
        let overrides = box.overrideReadings(over: box.storedValue)
        let bases = box.baseReadings()
        // Beneath a complete override, and beneath a complete stored value, nothing else has a part in the value.
        var problems = overrides.problems(includingHidden: true) + bases.problems(includingHidden: true)
        let overrideCount = problems.count
        do {
            if let stored = box.storedValue { _ = try box.decode(stored) }
        } catch {
            problems.append(box.unreadable(error))
        }
        let ofDefault = box.problem(ofDefault: defaultValue).map { [$0] } ?? []
        guard !problems.isEmpty else { return ofDefault }
        // The program may stop because of these errors.
        let used = "if the program continues, \(phraseOfValueInUse) is used"
        for index in problems.indices {
            problems[index].consequence =
                index < overrideCount ? used : "\(used), and the stored value is left as it is"
        }
        return problems + ofDefault
    }

    private var phraseOfValueInUse: String {
        let explanation = explain()
        if let source = explanation.source { return "the value of \(source)" }
        return explanation.layer == .store ? "the stored value" : "the \(explanation.layer)"
    }
}
