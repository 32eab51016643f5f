// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

extension SettingsCatalog {
    /// Returns a JSON Schema of the settings file of a suite, by which editors complete and check it.
    ///
    /// The schema follows draft-07 (https://json-schema.org/draft-07). It contains types, ranges of numbers, the cases of enums,
    /// defaults, help and deprecations, also for members of structures, and rejects unknown keys. It accepts every file that
    /// `validate(unknownKeys:)` accepts. What a validator or a conversion rejects beyond that, only the library knows. It contains
    /// no default of a secret setting.
    ///
    /// A file names its schema in the member `"$schema"`, which is no setting.
    ///
    /// - Parameter suite: The suite; `nil` for the suite of the first setting.
    /// - Returns: The schema as JSON, on several lines.
    public func jsonSchema(for suite: SettingsSuite? = nil) -> String {
        var properties: [String: StoredValue] = [
            "$schema": ["type": "string"]
        ]
        let settings = settings(of: suite)
        for key in settings.first?.suite.engine.recordKeys.withLock(\.self) ?? [] {
            properties[key] = ["type": "array", "items": ["type": "string"]]
        }
        var schemas: [String: StoredValue] = [:]
        for setting in settings {
            for old in setting.traits.oldKeys { schemas[old] = .dictionary(setting.oldSchema) }
        }
        for setting in settings { schemas[setting.key] = .dictionary(setting.schema) }
        properties.merge(schemas.withObjects) { $1 }
        var schema: [String: StoredValue] = [
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": .dictionary(properties), "additionalProperties": false,
        ]
        if let name = settings.first?.suite.name { schema["title"] = .string(name) }
        do {
            return String(decoding: try JSONWriter.prettyText(of: .dictionary(schema)), as: UTF8.self)
        } catch {
            // A default that is nested too deeply could not be stored either.
            return "{}\n"
        }
    }
}

extension AnySetting {
    fileprivate var schema: [String: StoredValue] {
        var schema = Schemas.schema(of: base.schemaType, example: base.defaultStoredValue)
        if !isSecret, let choices = base.valid?.choices, Schemas.hasOneForm(base.schemaType) {
            schema = ["enum": .array(choices.map(\.storedAsJSON))]
        }
        if let limits = base.valid?.limits { schema = schema.limited(by: limits) }
        if !isSecret, schema["type"] == "object", !base.members.isEmpty { schema["properties"] = base.members.schemas }
        if !isSecret, let value = base.defaultStoredValue { schema["default"] = base.written(value) }
        let help = help.sentences
        if !help.isEmpty { schema["description"] = .string(help) }
        if let deprecation = traits.deprecation {
            schema["deprecated"] = true
            schema["deprecationMessage"] = .string(deprecation)
        }
        return schema
    }

    /// The schema of an old key.
    fileprivate var oldSchema: [String: StoredValue] {
        var schema = schema
        schema["default"] = nil
        schema["deprecated"] = true
        schema["deprecationMessage"] = .string("Renamed to '\(key)'.")
        return schema
    }
}

extension [MemberDescription] {
    /// The schemas of the members of a structure, by their names.
    fileprivate var schemas: StoredValue { .dictionary(Dictionary(uniqueKeysWithValues: map { ($0.name, $0.schema) })) }
}

extension MemberDescription {
    fileprivate var schema: StoredValue {
        // Nothing is known about a member that is nil by default.
        guard let type else { return [:] }
        var schema = Schemas.schema(of: type, example: defaultValue)
        // Inside a structure, a type encodes itself.
        if let cases = (type as? any (CaseIterable & Encodable).Type)?.codedCases {
            schema = ["enum": .array(cases)]
        } else if schema["enum"] != nil {
            return [:]
        }
        if !members.isEmpty { schema["properties"] = members.schemas }
        if let choices = traits?.valid?.choices { schema = ["enum": .array(choices.map(\.storedAsJSON))] }
        if let limits = traits?.valid?.limits { schema = schema.limited(by: limits) }
        var member: [String: StoredValue] = isNullable ? ["anyOf": [.dictionary(schema), ["type": "null"]]] : schema
        member["default"] = defaultValue
        if let help = traits?.help.sentences, !help.isEmpty { member["description"] = .string(help) }
        return .dictionary(member)
    }
}

extension CaseIterable where Self: Encodable {
    /// The forms of all cases as parts of a structure; `nil` when a case has none.
    fileprivate static var codedCases: [StoredValue]? {
        do {
            return try allCases.map { try StoredValueEncoder().encode($0).storedAsJSON }
        } catch {
            return nil
        }
    }
}

extension [String: StoredValue] {
    /// These schemas of keys, with those of the objects in which the values of keys with periods may be.
    fileprivate var withObjects: Self {
        var objects: [String: Self] = [:]
        for (key, schema) in self {
            for (object, member) in key.divisions where self[object] == nil {
                objects[object, default: [:]][member] = schema
            }
        }
        let schemas = objects.mapValues { members -> StoredValue in
            ["type": "object", "properties": .dictionary(members.withObjects), "additionalProperties": false]
        }
        return merging(schemas) { own, _ in own }
    }

    /// The schema with the limits of numbers.
    fileprivate func limited(by limits: RangeLimits<StoredValue>) -> [String: StoredValue] {
        // Only the alternative of a number has limits.
        if case .array(let alternatives) = self["anyOf"] {
            let limited = alternatives.map { alternative -> StoredValue in
                guard case .dictionary(let schema) = alternative else { return alternative }
                return .dictionary(schema.limited(by: limits))
            }
            return merging(["anyOf": .array(limited)]) { $1 }
        }
        guard self["type"] == "integer" || self["type"] == "number" else { return self }
        var schema = self
        if let lower = limits.lower, lower.isNumber { schema["minimum"] = lower }
        if let upper = limits.upper, upper.isNumber {
            if limits.isUpperExcluded { schema["maximum"] = nil }
            schema[limits.isUpperExcluded ? "exclusiveMaximum" : "maximum"] = upper
        }
        return schema
    }
}

extension StoredValue {
    fileprivate var isNumber: Bool {
        switch storedAsJSON {
        case .integer, .double: true
        default: false
        }
    }
}

extension SettingHelp {
    /// The summary, the unit and the discussion.
    var sentences: String {
        let unit = unit.isEmpty ? "" : "In \(unit)."
        return [summary, unit, discussion].filter { !$0.isEmpty }.joined(separator: " ")
    }
}
