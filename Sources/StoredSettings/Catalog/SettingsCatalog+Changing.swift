// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "Several settings are changed from texts at once".

extension SettingsCatalog {
    /// Stores the values of several texts in one transaction.
    ///
    /// ```swift
    /// try await catalog.set(["softLimit": "60", "hardLimit": "70"])
    /// ```
    ///
    /// Everything is checked before anything is stored. If the settings belong to several stores, there is one transaction for each. If
    /// several suites have a key, the first setting is changed, as with the subscript.
    ///
    /// - Parameter texts: The texts by the keys of the settings, in the form of a flag's value: see ``AnySetting/set(text:)``.
    /// - Throws: ``SettingsValidationError`` that lists every key without a setting, every text that is no valid value, and every
    ///   requirement that would not be met; ``SettingsError`` when the values cannot be saved, with the code
    ///   ``SettingsError/Code/partlyStored`` if those of another store are saved; `CancellationError` when the task is canceled before.
    ///   Otherwise nothing has changed.
    public nonisolated(nonsending) func set(_ texts: [String: String]) async throws {
        try await store(texts) { text, setting, edits in
            do {
                edits.add(try setting.base.converted(text), for: setting)
            } catch let error as SettingsError {
                throw error.ofTypedText(consequence: "nothing is changed")
            }
        }
    }

    /// Stores several values in one transaction, in the form that they have in a settings file.
    ///
    /// - Parameter values: The values by the keys of the settings. A null removes the stored value. A value takes the place of the whole
    ///   stored one.
    /// - Throws: The same as ``set(_:)``.
    public nonisolated(nonsending) func set(values: [String: StoredValue]) async throws {
        try await store(values) { value, setting, edits in
            guard value != .null else { return edits.add(nil, for: setting) }
            try setting.checkGiven(value)
            edits.add(value, for: setting)
        }
    }

    private nonisolated(nonsending) func store<Given>(
        _ given: [String: Given],
        _ add: (Given, AnySetting, inout SettingsEdits) throws -> Void
    ) async throws {
        var (edits, problems) = (SettingsEdits(), [SettingsError]())
        for (key, value) in given.sorted(by: { $0.key < $1.key }) {
            do {
                guard let setting = self[key] else { throw unknownKey(key) }
                try setting.suite.checkUnmanaged(setting.base.storedKeys.all)
                try add(value, setting, &edits)
            } catch {
                var error = SettingsError.wrapping(error, as: .invalidValue)
                error.consequence = "nothing is changed"
                problems.append(error)
            }
        }
        if problems.isEmpty { problems = edits.requirementErrors }
        guard problems.isEmpty else { throw SettingsValidationError(problems: problems) }
        do {
            try await edits.store()
        } catch let error as SettingsError where error.code == .requirementNotMet {
            throw SettingsValidationError(problems: [error])
        } catch let error as PartlyStoredError {
            throw SettingsError(error)
        }
    }

    private func unknownKey(_ key: String) -> SettingsError {
        let similar = Similarity.best(for: key, among: map(\.base.storedKeys))
        return SettingsError(
            .unknownKey,
            fact: "no setting has this key",
            remedy: similar.map { "use '\($0)' if that is meant, or leave it out" } ?? "leave it out",
            key: key
        )
    }
}

extension AnySetting {
    /// Throws ``SettingsError`` if a stored value that a person gives is not one of the setting, or has members that its type ignores.
    package func checkGiven(_ value: StoredValue, acceptsUnknownMembers: Bool = false) throws {
        if value == .string(SettingTraits.redactedText) {
            var error = SettingsError.placeholder
            error.key = key
            throw error
        }
        try base.check(value)
        if !acceptsUnknownMembers, let error = base.unknownMembers(in: value).first { throw error }
    }
}

extension SettingsEdits {
    /// The errors of the requirements that would not be met.
    fileprivate var requirementErrors: [SettingsError] {
        groups.flatMap { $0.suite.engine.requirementErrors(after: $0.preview) }
    }
}

extension SettingsError {
    fileprivate init(_ error: PartlyStoredError) {
        let cause = error.cause as? SettingsError
        self.init(
            .partlyStored,
            fact: cause?.fact ?? (error.cause is CancellationError ? "the task was canceled" : "\(error.cause)"),
            consequence: "the changes of \(error.names) are stored already, and the others are not",
            remedy: cause?.remedy ?? "make the other changes again",
            key: cause?.key,
            suite: cause?.suite,
            location: cause?.location,
            underlying: error.cause
        )
    }
}

// MARK: - All settings as JSON

extension SettingsCatalog {
    /// Returns all settings as an array of objects, in JSON on several lines, for programs.
    ///
    /// An object has the members `key`, `suite`, `value` (as in a settings file), `text` (see ``AnySetting/text``), `layer`, `default`,
    /// `type`, `help`, `valid`, `choices`, `isSecret`, `isSet`, `requiresRestart` and `deprecated`. Secrets are `••••`. It is what the
    /// command `config list --json` prints.
    public func json() throws -> String { try StoredValue.array(map(\.jsonObject)).prettyJSON }
}

extension AnySetting {
    /// The value in the form that it has in a settings file; `nil` when it is `nil`, or has no stored form.
    ///
    /// A secret is the string `••••`.
    public var value: StoredValue? {
        let value = shownValue(base.current)
        return value == .null ? nil : value
    }

    /// The setting as an object of JSON.
    package var jsonObject: StoredValue {
        let current = base.current
        return [
            "key": .string(key),
            "suite": .string(suite.name),
            "value": shownValue(current),
            "text": text(of: current).map(StoredValue.string) ?? .null,
            "layer": .string(layer.description),
            "default": shownValue(CurrentValue(value: base.defaultStoredValue)),
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
    package func shownValue(_ current: CurrentValue) -> StoredValue {
        guard let value = current.value else { return .null }
        return isSecret || current.isFromSecretFile ? .string(SettingTraits.redactedText) : value
    }
}

extension StoredValue {
    /// The value as JSON on several lines.
    package var prettyJSON: String {
        get throws { String(decoding: try JSONWriter.prettyText(of: self), as: UTF8.self) }
    }
}
