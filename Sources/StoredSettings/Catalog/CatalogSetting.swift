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
        let old = engine.ignoredOldKey(of: box.key.storedKeys)
        let warning = old.map { box.naming(SettingsError.ignoredOldKey($0, of: key), as: .oldKeyIgnored) }
        let text = explanation.description + (warning.map { "; \($0.message)" } ?? "")
        return (explanation.layer, text, explanation.hidesStore)
    }

    package var current: CurrentValue {
        let reading = box.uncachedReading
        return CurrentValue(value: box.encoded(reading.value), isFromSecretFile: reading.isFromSecretFile)
    }

    package func set(text: String) throws {
        let converted = try converted(text)
        // A whole value can be stored while the settings file is malformed.
        guard let setPart = converted.setPart else { return try write(converted.value) }
        do {
            try suite.transaction(setPart)
        } catch {
            throw unsaved(error)
        }
    }

    private func set(part text: String, over base: Value, in transaction: inout SettingsTransaction) throws {
        // Another process may have changed a member that the text lacks.
        let current = usableValue(in: transaction) ?? base
        try transaction.set(value(ofText: text) { current }, for: self)
    }

    private func usableValue(in transaction: SettingsTransaction) -> Value? {
        do {
            return try transaction.value(of: self)
        } catch {
            // The stored value cannot be decoded, and is replaced.
            return nil
        }
    }

    package func converted(_ text: String) throws -> ConvertedText {
        let (value, base) = try value(ofText: text)
        let stored = try box.encode(value)
        guard let base else { return ConvertedText(stored) }
        return ConvertedText(stored) { transaction in try set(part: text, over: base, in: &transaction) }
    }

    /// Converts a text that is to be stored.
    ///
    /// - Returns: The value, and the one that has the members that the text lacks; `nil` if it lacks none.
    private func value(ofText text: String) throws -> (value: Value, base: Value?) {
        var base: Value?
        let value = try value(ofText: text) {
            let value = box.readingBeneathOverrides(of: box.storedValue, isReported: false, isForChange: true).value
            base = value
            return value
        }
        let isOfSecret = box.storedValue == nil && box.baseReading(isReported: false)?.isFromSecretFile == true
        guard base == nil || !isOfSecret else { throw box.naming(SettingsError.partOfSecret, as: .invalidValue) }
        return (value, base)
    }

    private func value(ofText text: String, over base: @escaping () -> Value) throws -> Value {
        try refusing("use \(box.validForm())") {
            // It also stands for a value from a secret file, whose setting need not be secret.
            guard text != SettingTraits.redactedText else { throw SettingsError.placeholder }
            do {
                return try box.value(ofText: text, over: base)
            } catch {
                throw box.shown(error, as: .invalidValue)
            }
        }
    }

    package func check(_ stored: StoredValue) throws {
        try stored.checkStorable(forKey: key)
        _ = try refusing("use \(box.validForm(inJSON: true))") { try box.decode(stored) }
    }

    /// Converts a value that is to be stored; an error says that nothing has changed.
    private func refusing(_ remedy: @autoclosure () -> String, _ convert: () throws -> Value) throws -> Value {
        do {
            return try convert()
        } catch {
            var error = box.naming(error, as: .invalidValue)
            error.consequence = "the setting keeps the value it had"
            if error.remedy.isEmpty { error.remedy = remedy() }
            throw error
        }
    }

    package func written(_ stored: StoredValue) -> StoredValue { box.key.conversion.written(stored) }

    package func text(of value: StoredValue) -> String {
        // A setting of any stored value reads JSON first.
        SettingBox<Value>.isUntyped ? value.jsonText : value.text
    }

    package func warnings(in contents: [String: StoredValue]) -> [SettingsError] {
        var warnings: [SettingsError] = []
        let (overrides, bases) = (box.quietOverrideReadings, box.quietBaseReadings)
        if contents[key] != nil, let old = storedKeys.old.first(where: { contents[$0] != nil }) {
            warnings.append(.ignoredOldKey(old, of: key))
        }
        if let deprecation = metadata.traits.deprecation {
            let stored = (storedKeys.all.first { contents[$0] != nil }).map { "the key '\($0)'" }
            if let source = overrides.first?.source ?? stored ?? bases.first?.source {
                warnings.append(.deprecated(key, setBy: source, deprecation))
            }
        }
        return warnings.map(suite.naming) + box.sourceWarnings(of: overrides + bases, box.secretNames)
    }

    package func findProblems() -> [SettingsError] {
        var problems = (box.quietOverrideReadings + box.quietBaseReadings)
            .compactMap { reading in
                if case .failure(let error) = reading.result { error } else { nil }
            }
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
