// SPDX-License-Identifier: Apache-2.0

extension SettingBox {
    /// The warnings of names that follow from old keys, of variables that belong to other settings, and of the order of the sources.
    func sourceWarnings(of readings: [LayerReading<Value>], _ names: SecretNames) -> [SettingsError] {
        var warnings = readings.compactMap { reading in
            reading.newSource.map { SettingsError.oldName(reading.source, of: $0, key: key.name) }
        }
        for case let document? in readings.map(\.document) {
            guard let object = ignoredObject(ofKey: key.name, { document.contents[$0] }) else { continue }
            var warning = SettingsError.ignoredMember(of: object, key: key.name)
            warning.location = document.location(ofValueForKey: key.name)
            warnings.append(warning)
        }
        warnings += layers?.problems ?? []
        warnings += names.taken.filter { $0.owner != key.name }
            .map { .takenVariable($0.variable, by: $0.owner, key: key.name) }
        for index in warnings.indices { warnings[index].suite = suiteName }
        return warnings
    }

    /// Reads flags or a variable; `nil` if they have no value for the setting, or for another source.
    func reading(ofTextsIn source: LayerSource, over makeLower: () -> Value) -> LayerReading<Value>? {
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
                let read = { try self.value(of: last, occurrences, over: makeLower) }
                var reading = reading(from: last.flag, .commandLine, read) { problem($0, last.flag, .commandLine) }
                if name != key.name { reading.newSource = names(in: source).current ?? "-\(key.name)" }
                return reading
            }
        case .environment(let variables, _, _):
            let names = names(in: source)
            for name in names.all {
                guard let text = variables.map({ $0[name] }) ?? SystemCalls.environmentVariable(name),
                    !ServiceVariables.contains(name, in: variables)
                else { continue }
                let read = { try self.decoded([text], over: makeLower) }
                var reading = reading(from: name, .environment, read) { problem($0, name, .environment) }
                if name != names.current { reading.newSource = names.current }
                return reading
            }
        default:
            break
        }
        return nil
    }

    /// Reads the flag or the variable of a member of a structure.
    func reading(
        ofMember path: [String],
        in source: LayerSource,
        over makeLower: () -> Value
    ) -> LayerReading<Value>? {
        guard let name = names(in: source).member(path) else { return nil }
        switch source {
        case .commandLine(let given):
            guard let arguments = given ?? SystemCalls.arguments() else { return nil }
            let options = CommandLineOptions(arguments: arguments)
            let key = ([key.name] + path).joined(separator: ".")
            let found = options.occurrences(ofKey: key, flag: String(name.dropFirst(2)), isMember: true)
            guard let last = found.last else { return nil }
            let read = {
                // A flag without a value is that of a Boolean.
                let text = last.text ?? (last.isNegated ? "false" : "true")
                return try self.decoded(last.text == nil ? [text] : found.map(\.text), memberAt: path, over: makeLower)
            }
            return reading(from: last.flag, .commandLine, read) { problem($0, last.flag, .commandLine, memberAt: path) }
        case .environment(let variables, _, _):
            guard let text = variables.map({ $0[name] }) ?? SystemCalls.environmentVariable(name) else { return nil }
            let read = { try self.decoded([text], memberAt: path, over: makeLower) }
            return reading(from: name, .environment, read) { problem($0, name, .environment, memberAt: path) }
        default:
            return nil
        }
    }

    /// The names that lead to the members of the default, those of members of members first.
    var memberPaths: [[String]] { key.metadata.traits.isWhole ? [] : shape?.memberPaths ?? [] }

    private func names(in source: LayerSource) -> OverrideNames {
        OverrideNames(of: key.storedKeys, key.metadata.traits, in: source)
    }

    /// Reads and validates the value of a source.
    func reading(
        from source: String,
        _ layer: SettingsLayer,
        _ read: () throws -> (value: Value, stored: StoredValue),
        _ problem: (any Error) -> SettingsError
    ) -> LayerReading<Value> {
        var found: (value: Value, stored: StoredValue)?
        let result: Result<Value, SettingsError>
        do {
            let new = try read()
            found = new
            try validate(new.value)
            result = .success(new.value)
        } catch {
            result = .failure(problem(error))
        }
        return LayerReading(
            layer: layer,
            source: source,
            result: result,
            stored: found?.stored,
            unvalidated: found?.value
        )
    }

    private func problem(
        _ error: any Error,
        _ source: String,
        _ layer: SettingsLayer,
        memberAt path: [String] = []
    ) -> SettingsError {
        unusable(shown(error, as: .invalidValue), from: source, layer, validForm(memberAt: path))
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
        _ all: [CommandLineOptions.Occurrence],
        over makeLower: () -> Value
    ) throws -> (value: Value, stored: StoredValue) {
        guard !last.isNegated || last.text == nil else {
            throw SettingsError(
                .invalidValue,
                fact: "a flag that begins with --no- takes no value",
                remedy: "pass it without a value"
            )
        }
        func boolean(_ isOn: Bool) throws -> (value: Value, stored: StoredValue) {
            (try conversion.decode(.bool(isOn)), .bool(isOn))
        }
        let isBoolean = canDecode(.bool(true))
        if last.text == nil, last.isNegated || isBoolean { return try boolean(!last.isNegated) }
        do {
            return try decoded(all.map(\.text), over: makeLower)
        } catch {
            // The argument after the flag of a Boolean need not be its value, except after one dash, as for
            // `UserDefaults`.
            guard isBoolean, !Self.isUntyped, !last.isAttached, !last.isKey else { throw error }
            return try boolean(true)
        }
    }

    /// Whether the setting has any stored value.
    static var isUntyped: Bool { Value.self is StoredValue.Type || Value.self is StoredValue?.Type }

    /// Decodes the strings of an override, or a text that is to be stored.
    ///
    /// A setting of a single value uses the last string. A setting of a list uses all strings, so each must be usable. A string is
    /// `nil` where no value followed the flag.
    ///
    /// - Parameters:
    ///   - texts: The strings.
    ///   - path: The names of the member that the texts are for; none for the whole value.
    ///   - makeLower: Returns the value with the members that a structure lacks.
    /// - Returns: The value, which is not validated, and what it was decoded from.
    /// - Throws: ``SettingsError`` when the setting has no such value.
    func decoded(
        _ texts: [String?],
        memberAt path: [String] = [],
        over makeLower: () -> Value
    ) throws -> (value: Value, stored: StoredValue) {
        if texts.contains(where: { $0?.isRepaired ?? false }) {
            throw SettingsError.invalidValue("the text is not valid UTF-8")
        }
        guard let last = texts.last ?? nil else { throw SettingsError.invalidValue("no value follows it") }
        // A setting of any stored value would accept every string as it is, and could never receive a number.
        if Self.isUntyped {
            let stored = try OverrideText.anything(last)
            return (try conversion.decode(stored), stored)
        }
        var failures: [SettingsError] = []
        // If the flag occurs several times, an array of JSON is one part of the list.
        let values = OverrideText.values(of: last).filter { texts.count == 1 || $0.kind != .array }
        if let found = firstDecoded(values, at: path, &failures, over: makeLower) { return found }
        if texts.count > 1 {
            let list = texts.compactMap { $0 }
            if list.count == texts.count, let found = try firstDecodedList(list, at: path, &failures, over: makeLower) {
                return found
            }
            for text in texts.dropLast() { _ = try decoded([text], memberAt: path, over: makeLower) }
        }
        if let found = try firstDecodedList([last], at: path, &failures, over: makeLower) { return found }
        // An empty string has no parts. Its first interpretation is the string itself, and that error says that it is empty.
        if last.isEmpty, let first = failures.first { throw first.ofEmptyText }
        throw SettingsError.mostSpecific(of: failures, beneath: path.count)
    }

    private func firstDecodedList(
        _ texts: [String],
        at path: [String],
        _ failures: inout [SettingsError],
        over makeLower: () -> Value
    ) throws -> (value: Value, stored: StoredValue)? {
        try firstDecoded(OverrideText.lists(of: texts), at: path, &failures, over: makeLower)
            ?? firstDecoded(OverrideText.dictionaries(of: texts), at: path, &failures, over: makeLower)
    }

    /// Returns the first candidate that the type can read.
    ///
    /// The first candidate has the texts themselves. If a type that reads texts exactly has refused them, it must not read a
    /// rounded number instead.
    private func firstDecoded(
        _ candidates: [StoredValue],
        at path: [String],
        _ failures: inout [SettingsError],
        over makeLower: () -> Value
    ) -> (value: Value, stored: StoredValue)? {
        let candidates = candidates.map { $0.nested(at: path) }
        for (index, candidate) in candidates.enumerated() {
            do {
                let value = try convertText(candidate, over: makeLower)
                if index > 0, encoded(value)?.isRounded(from: candidates[0]) == true { continue }
                return (value, candidate)
            } catch {
                failures.append(.wrapping(error, as: .invalidValue))
            }
        }
        return nil
    }

    private func convertText(_ candidate: StoredValue, over makeLower: () -> Value) throws -> Value {
        // An empty string is an empty dictionary. It must not stand for the value beneath.
        guard candidate != [:] else { return try conversion.decode(candidate) }
        var lower: Value?
        let value = try convert(candidate) {
            let value = makeLower()
            lower = value
            return value
        }
        if let lower { try checkNames(in: candidate, over: lower) }
        return value
    }

    /// Throws when a part has a name that the type ignores.
    ///
    /// With a mistyped name, the value would be the one beneath.
    private func checkNames(in candidate: StoredValue, over lower: Value) throws {
        let search = MemberSearch(of: candidate) { [self] part in
            do {
                return encoded(try convert(part) { lower })
            } catch {
                // The type reads the member, and does not accept this one.
                return nil
            }
        }
        guard let member = search?.found.first else { return }
        let owner = member.path.count == 1 ? "the setting" : "it"
        var error = SettingsError.invalidValue("\(owner) has no member '\(member.name)'")
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
        _ form: @autoclosure () -> String? = nil,
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
            ? "\(verb) \(form() ?? validForm())"
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
    func validForm(memberAt path: [String] = [], inJSON: Bool = false) -> String {
        if !path.isEmpty, let shape {
            let valid = key.metadata.traits.members.member(at: path)?.valid
            if let choices = valid?.choiceTexts { return "one of \(choices.joined(separator: ", "))" }
            let types = shape.parts.types[path] ?? []
            let form = ValidForm(of: types.count == 1 ? types[0] : nil, example: shape.form.part(at: path))
            return form.text(in: valid?.rangePhrase, isDictionary: false, inJSON: inJSON)
        }
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
    /// without. The path of every error may begin with that of a member.
    fileprivate static func mostSpecific(of failures: [SettingsError], beneath depth: Int) -> SettingsError {
        failures.first { $0.code != .typeMismatch }
            ?? failures.last { $0.path.count > depth }
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
