// SPDX-License-Identifier: Apache-2.0

extension SettingBox {
    /// The warnings of names that follow from old keys, of variables that belong to other settings, and of the order of the sources.
    func sourceWarnings(of readings: [LayerReading<Value>], _ names: SecretNames) -> [SettingsError] {
        var warnings = readings.compactMap { reading in
            reading.newSource.map { SettingsError.oldName(reading.source, of: $0, key: key.name) }
        }
        warnings += layers?.problems ?? []
        warnings += names.taken.filter { $0.owner != key.name }
            .map { .takenVariable($0.variable, by: $0.owner, key: key.name) }
        for index in warnings.indices { warnings[index].suite = suiteName }
        return warnings
    }

    /// Reads flags or a variable; `nil` if they have no value for the setting, or for another source.
    func reading(ofTextsIn source: LayerSource) -> LayerReading<Value>? {
        switch source {
        case .commandLine(let given):
            guard let arguments = given ?? SystemCalls.arguments() else {
                let problem = SettingsError.unknownArguments
                return LayerReading(layer: .commandLine, source: "the command line", result: .failure(problem))
            }
            let options = CommandLineOptions(arguments: arguments)
            for name in key.storedKeys.all {
                let flag = name == key.name ? key.metadata.traits.flag : nil
                let occurrences = relevant(options.occurrences(ofKey: name, flag: flag))
                guard let last = occurrences.last else { continue }
                var reading = reading(from: last.flag, .commandLine) { try value(of: last, occurrences) }
                if name != key.name { reading.newSource = names(in: source).current ?? "-\(key.name)" }
                return reading
            }
        case .environment(let variables, _, _):
            let names = names(in: source)
            for name in names.all {
                guard let text = variables.map({ $0[name] }) ?? SystemCalls.environmentVariable(name),
                    !ServiceVariables.contains(name, in: variables)
                else { continue }
                var reading = reading(from: name, .environment) { try value(ofText: text) }
                if name != names.current { reading.newSource = names.current }
                return reading
            }
        default:
            break
        }
        return nil
    }

    private func names(in source: LayerSource) -> OverrideNames {
        OverrideNames(of: key.storedKeys, key.metadata.traits, in: source)
    }

    func reading(
        from source: String,
        _ layer: SettingsLayer,
        _ read: () throws -> Value
    ) -> LayerReading<Value> {
        do {
            let value = try read()
            return LayerReading(layer: layer, source: source, result: .success(value))
        } catch {
            let problem = unusable(shown(error, as: .invalidValue), from: source, layer)
            return LayerReading(layer: layer, source: source, result: .failure(problem))
        }
    }
}

// MARK: - Decoding

extension SettingBox {
    /// Returns the flags that belong to this setting: `--no-cache` does not belong to a `cache` that is not a Boolean.
    private func relevant(_ occurrences: [CommandLineOptions.Occurrence]) -> [CommandLineOptions.Occurrence] {
        guard occurrences.contains(where: \.isNegated), !canDecode(.bool(false)) else { return occurrences }
        return occurrences.filter { !$0.isNegated }
    }

    private func value(
        of last: CommandLineOptions.Occurrence,
        _ all: [CommandLineOptions.Occurrence]
    ) throws -> Value {
        guard !last.isNegated || last.text == nil else {
            throw SettingsError(
                .invalidValue,
                fact: "a flag that begins with --no- takes no value",
                remedy: "pass it without a value"
            )
        }
        let isBoolean = canDecode(.bool(true))
        if last.text == nil, last.isNegated || isBoolean { return try validated(.bool(!last.isNegated)) }
        let value: Value
        do {
            value = try decoded(all.map(\.text))
        } catch {
            // The argument after the flag of a Boolean need not be its value, except after one dash, as for
            // `UserDefaults`.
            guard isBoolean, !Self.isUntyped, !last.isAttached, !last.isKey else { throw error }
            return try validated(.bool(true))
        }
        try validate(value)
        return value
    }

    /// Converts and checks a text, as that of an environment variable.
    ///
    /// The value of `base` has the members that the text lacks. An override, which has none, takes those that the type requires
    /// from the default.
    func value(ofText text: String, over base: (() -> Value)? = nil) throws -> Value {
        let value = try decoded([text], over: base)
        try validate(value)
        return value
    }

    /// Whether the setting has any stored value.
    static var isUntyped: Bool { Value.self is StoredValue.Type || Value.self is StoredValue?.Type }

    private func validated(_ storedValue: StoredValue) throws -> Value {
        let value = try conversion.decode(storedValue)
        try validate(value)
        return value
    }

    /// Decodes the strings of an override.
    ///
    /// A setting of a single value uses the last string. A setting of a list uses all strings, so each must be usable. A string is
    /// `nil` where no value followed the flag.
    private func decoded(_ texts: [String?], over base: (() -> Value)? = nil) throws -> Value {
        if texts.contains(where: { $0?.isRepaired ?? false }) {
            throw SettingsError.invalidValue("the text is not valid UTF-8")
        }
        guard let last = texts.last ?? nil else { throw SettingsError.invalidValue("no value follows it") }
        // A setting of any stored value would accept every string as it is, and could never receive a number.
        if Self.isUntyped {
            return try conversion.decode(OverrideText.anything(last))
        }
        var failures: [SettingsError] = []
        // If the flag occurs several times, an array of JSON is one part of the list.
        let values = OverrideText.values(of: last).filter { texts.count == 1 || $0.kind != .array }
        if let value = firstDecoded(values, &failures, { try convertOverride($0, over: base) }) { return value }
        if texts.count > 1 {
            if !texts.contains(nil), let value = try decodedList(texts.compactMap { $0 }, over: base, &failures) {
                return value
            }
            for text in texts.dropLast() { _ = try decoded([text]) }
        }
        if let value = try decodedList([last], over: base, &failures) { return value }
        // An empty string has no parts. Its first interpretation is the string itself, and that error says that it is empty.
        if last.isEmpty, let first = failures.first { throw first.ofEmptyText }
        throw SettingsError.mostSpecific(of: failures)
    }

    private func decodedList(
        _ texts: [String],
        over base: (() -> Value)?,
        _ failures: inout [SettingsError]
    ) throws -> Value? {
        func convert(_ candidate: StoredValue) throws -> Value { try convertOverride(candidate, over: base) }
        return try firstDecoded(OverrideText.lists(of: texts), &failures, convert)
            ?? firstDecoded(OverrideText.dictionaries(of: texts), &failures) { pairs in
                guard let base, let value = try merged(pairs, into: base) else { return try convert(pairs) }
                return value
            }
    }

    /// Returns the first candidate that the type can read.
    ///
    /// The first candidate has the texts themselves. If a type that reads texts exactly has refused them, it must not read a
    /// rounded number instead.
    private func firstDecoded(
        _ candidates: [StoredValue],
        _ failures: inout [SettingsError],
        _ convert: (StoredValue) throws -> Value
    ) -> Value? {
        for (index, candidate) in candidates.enumerated() {
            do {
                let value = try convert(candidate)
                if index > 0, encoded(value)?.isRounded(from: candidates[0]) == true { continue }
                return value
            } catch {
                failures.append(.wrapping(error, as: .invalidValue))
            }
        }
        return nil
    }

    /// Decodes an override over the default, not over the stored value: an override hides the layers below it.
    ///
    /// A text that is to be stored is decoded over the value beneath the overrides. If it lacks a member that the type requires,
    /// it is a part, and all members that it lacks are those of that value.
    private func convertOverride(_ candidate: StoredValue, over base: (() -> Value)?) throws -> Value {
        // An empty string is an empty dictionary. It must not hide the stored value by the default.
        guard candidate != [:] else { return try conversion.decode(candidate) }
        // Only a part needs the other value.
        var start: Value?
        let value = try conversion.decode(candidate) {
            let value = base?() ?? key.defaultValue
            start = value
            return value
        }
        guard let start else { return value }
        try checkNames(in: candidate, over: start)
        return base == nil ? value : completed(candidate, from: start) ?? value
    }

    /// Returns a structure with the members that pairs name; `nil` for a value of another kind.
    private func merged(_ pairs: StoredValue, into base: () -> Value) throws -> Value? {
        guard Value.self is any Decodable.Type, Self.isStructure(key.defaultValue) else { return nil }
        let start = base()
        guard Self.isStructure(start), let value = completed(pairs, from: start) else { return nil }
        try checkNames(in: pairs, over: start)
        return value
    }

    /// Whether a value, or the value inside an optional, has members with fixed names.
    private static func isStructure(_ value: Value) -> Bool {
        var mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .optional {
            // An optional without a value may contain a structure.
            guard let inner = mirror.children.first else { return true }
            mirror = Mirror(reflecting: inner.value)
        }
        return mirror.displayStyle == .struct || mirror.displayStyle == .class
    }

    /// Returns a part with all members of a value that it lacks; `nil` if that is no value.
    private func completed(_ part: StoredValue, from value: Value) -> Value? {
        guard case .dictionary(let given) = part, case .dictionary(let members)? = encoded(value) else { return nil }
        let whole = StoredValue.dictionary(members.merging(given) { $1 })
        do {
            // It may be a part of a part.
            return try conversion.decode(whole) { value }
        } catch {
            // An enum has one member at a time.
            return nil
        }
    }

    /// Throws when a partial override has a name that the type ignores.
    ///
    /// With a mistyped name, the value would be that of the start, and would hide the stored value.
    private func checkNames(in candidate: StoredValue, over start: Value) throws {
        let search = MemberSearch(of: candidate) { [self] in completed($0, from: start).flatMap(encoded) }
        guard let member = search?.found.first else { return }
        let owner = member.path.count == 1 ? "the setting" : "it"
        var error = SettingsError.invalidValue("\(owner) has no member '\(member.name)'")
        // The encoded value has no members that are nil, so the list may be incomplete.
        let names = member.known.prefix(10).joined(separator: ", ")
        error.remedy =
            Similarity.best(for: member.name, among: member.others).map { "use '\($0)' if that is meant" }
            ?? "use only names of its members, such as \(names)"
        error.path = member.path.dropLast()
        throw error
    }

    private func canDecode(_ value: StoredValue) -> Bool {
        do {
            _ = try conversion.decode(value)
            return true
        } catch {
            // The reason does not matter here.
            return false
        }
    }
}

extension StoredValue {
    /// Whether a decimal number in it, which is stored as a text, is not that of the original text.
    fileprivate func isRounded(from texts: StoredValue) -> Bool {
        switch (self, texts) {
        case (.string(let own), .string(let text)):
            guard let own = DecimalText(own), let wanted = DecimalText(text) else { return false }
            return own != wanted
        case (.array(let own), .array(let texts)):
            return zip(own, texts).contains { $0.isRounded(from: $1) }
        case (.dictionary(let own), .dictionary(let texts)):
            return own.contains { key, value in texts[key].map(value.isRounded) ?? false }
        default:
            return false
        }
    }
}

// MARK: - Errors

extension SettingBox {
    /// The error of a value above the store that cannot be used.
    ///
    /// The omission says how to do without the value, if not in the way that is usual for the layer.
    func unusable(
        _ cause: SettingsError,
        from source: String,
        _ layer: SettingsLayer,
        omission: String? = nil
    ) -> SettingsError {
        let (verb, usualOmission) =
            switch layer {
            case .environment: ("set \(source) to", "unset it")
            case .secretFile: ("write to that file", "remove it")
            default: ("give \(source)", "omit it")
            }
        // The remedy of a value outside a range is to assign another one.
        let correction =
            cause.remedy.isEmpty
            ? "\(verb) \(validForm())"
            : cause.remedy.replacing("assign a value", with: "\(verb) a value", maxReplacements: 1)
        var error = cause
        error.fact = "\(source) cannot be used: \(cause.fact)"
        error.consequence = "it is ignored, and the next layer is used"
        error.remedy = "\(correction), or \(omission ?? usualOmission)"
        (error.key, error.suite, error.location) = (key.name, suiteName, nil)
        return error
    }

    /// The texts of all valid values if they are listed, or of all values of the type; `nil` for a type without a list of its
    /// values, and for a setting with a bridge.
    var choices: [String]? {
        key.validator.valid?.choiceTexts ?? (conversion.isOwn ? Choices.texts(of: Value.self) : nil)
    }

    /// A description of the valid overrides of this setting, or of its valid values in a file of JSON.
    func validForm(inJSON: Bool = false) -> String {
        if let choices { return "one of \(choices.joined(separator: ", "))" }
        let form = ValidForm(of: conversion.isOwn ? Value.self : nil, example: encoded(key.defaultValue))
        let isDictionary = Mirror(reflecting: key.defaultValue).displayStyle == .dictionary
        return form.text(in: key.validator.valid?.rangePhrase, isDictionary: isDictionary, inJSON: inJSON)
    }
}

extension SettingsError {
    /// Returns the most helpful error of several failed attempts.
    ///
    /// An out-of-range error is more specific than a type mismatch, and an error with a path is more specific than one
    /// without.
    fileprivate static func mostSpecific(of failures: [SettingsError]) -> SettingsError {
        failures.first { $0.code != .typeMismatch }
            ?? failures.last { !$0.path.isEmpty }
            ?? failures.first
            ?? .invalidValue("the value is empty")
    }

    /// The error of an empty string, whose fact says so.
    fileprivate var ofEmptyText: SettingsError {
        guard !fact.contains(StoredValue.string("").phrase) else { return self }
        var error = self
        error.fact = "the value is empty: \(fact)"
        return error
    }
}
