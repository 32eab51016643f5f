// SPDX-License-Identifier: Apache-2.0

extension SettingBox {
    /// What is read in place of whatever is stored; `nil` when nothing is.
    var overrideReading: Reading? {
        for override in overrideReadings {
            if let reading = override.reading { return reading }
        }
        return nil
    }

    /// What all overrides of the setting give, highest first.
    ///
    /// What is wrong with those that would serve is reported, once.
    var overrideReadings: [OverrideReading<Value>] {
        guard let overrideCache, let overrides else { return [] }
        let (readings, isNew) = overrideCache.readings {
            overrides.overrides.compactMap(reading)
        }
        if isNew { report(readings.problems(), overrides) }
        return readings
    }

    private func report(_ problems: [SettingsError], _ overrides: OverrideList) {
        for problem in problems where overrides.isFirst(problem) {
            reporter.report(problem)
        }
    }

    private func reading(of override: SettingsOverride) -> OverrideReading<Value>? {
        switch override.source {
        case .commandLine(let arguments):
            let options = CommandLineOptions(arguments: arguments ?? SystemCalls.arguments())
            let occurrences = meant(options.occurrences(ofKey: key.name))
            guard let last = occurrences.last else { return nil }
            return reading(from: last.flag, .commandLine) { try value(of: last, occurrences) }
        case .environment(let variables, let prefix):
            guard let name = OverrideName.variable(forKey: key.name, prefix: prefix) else { return nil }
            let text = variables.map { $0[name] } ?? SystemCalls.environmentVariable(name)
            guard let text else { return nil }
            return reading(from: name, .environment) { try value(of: text) }
        }
    }

    private func reading(
        from source: String,
        _ layer: SettingsLayer,
        _ read: () throws -> Value
    ) -> OverrideReading<Value> {
        do {
            let value = try read()
            let reading = Reading(value: value, stored: nil)
            return OverrideReading(layer: layer, source: source, result: .success(reading))
        } catch {
            let problem = unusable(.wrapping(error, as: .invalidValue), from: source)
            return OverrideReading(layer: layer, source: source, result: .failure(problem))
        }
    }
}

extension Sequence {
    /// What is wrong with the overrides above the one that serves.
    func problems<Value>() -> [SettingsError] where Element == OverrideReading<Value> {
        prefix { $0.reading == nil }
            .compactMap { override in
                guard case .failure(let error) = override.result else { return nil }
                return error
            }
    }
}

// MARK: - From text

extension SettingBox {
    /// The flags without those that are another setting's: `--no-cache` says nothing of a `cache` that is no Boolean.
    private func meant(_ occurrences: [CommandLineOptions.Occurrence]) -> [CommandLineOptions.Occurrence] {
        guard occurrences.contains(where: \.isNegated), !takes(.bool(false)) else { return occurrences }
        return occurrences.filter { !$0.isNegated }
    }

    private func value(
        of last: CommandLineOptions.Occurrence,
        _ all: [CommandLineOptions.Occurrence]
    ) throws -> Value {
        guard !last.isNegated || last.text == nil else {
            throw SettingsError.invalidValue("a flag that begins with no- takes no value")
        }
        let isBoolean = takes(.bool(true))
        if last.text == nil, last.isNegated || isBoolean { return try accepted(.bool(!last.isNegated)) }
        let value: Value
        do {
            value = try decoded(all.map(\.text))
        } catch {
            // What follows a Boolean's flag is its value only if it can be, but for the flag that `UserDefaults` takes.
            guard isBoolean, !last.isAttached, !last.isKey else { throw error }
            return try accepted(.bool(true))
        }
        try key.validator(value)
        return value
    }

    private func value(of text: String) throws -> Value {
        let value = try decoded([text])
        try key.validator(value)
        return value
    }

    private func accepted(_ storedValue: StoredValue) throws -> Value {
        let value = try key.conversion.decode(storedValue)
        try key.validator(value)
        return value
    }

    /// What the texts of an override mean, one for each time that it was given; `nil` where no text followed.
    ///
    /// Where one value is wanted, the last text is it. Where a list is wanted, all texts are, so none may be unusable.
    private func decoded(_ texts: [String?]) throws -> Value {
        guard let last = texts.last ?? nil else { throw SettingsError.invalidValue("no value follows it") }
        // What takes anything would take every text as a string, and no number could be given.
        if Value.self is StoredValue.Type || Value.self is StoredValue?.Type {
            return try key.conversion.decode(OverrideText.anything(last))
        }
        var failures: [SettingsError] = []
        // A list of JSON is one of several lists.
        let values = OverrideText.values(of: last).filter { texts.count == 1 || $0.kind != .array }
        if let value = firstDecoded(values, &failures) { return value }
        if texts.count > 1 {
            if !texts.contains(nil), let value = try decodedList(texts.compactMap { $0 }, &failures) { return value }
            for text in texts.dropLast() { _ = try decoded([text]) }
        }
        if let value = try decodedList([last], &failures) { return value }
        throw SettingsError.mostTelling(of: failures)
    }

    private func decodedList(_ texts: [String], _ failures: inout [SettingsError]) throws -> Value? {
        try firstDecoded(OverrideText.lists(of: texts), &failures)
            ?? firstDecoded(OverrideText.dictionaries(of: texts), &failures)
    }

    /// The first that the type can read.
    private func firstDecoded(_ candidates: [StoredValue], _ failures: inout [SettingsError]) -> Value? {
        for candidate in candidates {
            do {
                return try key.conversion.decode(candidate)
            } catch {
                failures.append(.wrapping(error, as: .invalidValue))
            }
        }
        return nil
    }

    private func takes(_ value: StoredValue) -> Bool {
        do {
            _ = try key.conversion.decode(value)
            return true
        } catch {
            // The question is only whether.
            return false
        }
    }
}

// MARK: - What is wrong

extension SettingBox {
    private func unusable(_ cause: SettingsError, from source: String) -> SettingsError {
        var error = SettingsError(
            cause.code,
            fact: "\(source) cannot be used: \(cause.fact)",
            consequence: "it is ignored, and the next layer serves",
            remedy: "give \(source) \(wanted), or leave it out",
            key: key.name,
            underlying: cause.underlying
        )
        error.path = cause.path
        error.suite = suiteName
        return error
    }

    /// What an override of this setting should be, as far as its type and its default tell.
    private var wanted: String {
        if let type = Value.self as? any (CaseIterable & StoredValueConvertible).Type, let cases = type.texts {
            return "one of \(cases.joined(separator: ", "))"
        }
        return switch encoded(key.defaultValue)?.kind {
        case .bool: "true or false"
        case .integer: "an integer that the setting takes"
        case .double: "a number that the setting takes"
        case .array: "a list such as a,b, or a JSON array"
        case .dictionary where Mirror(reflecting: key.defaultValue).displayStyle == .dictionary: "a JSON object"
        case .dictionary: "a JSON object with all of its parts"
        default: "a value that the setting takes"
        }
    }
}

extension CaseIterable where Self: StoredValueConvertible {
    /// The texts of all cases, if each is stored as one.
    fileprivate static var texts: [String]? {
        do {
            return try allCases.map { try String(storedValue: $0.storedValue()) }
        } catch {
            return nil
        }
    }
}

extension SettingsError {
    /// Why none of some attempts succeeded: that 300 is out of range says more than that it is no Boolean, and what says
    /// where in a list or a structure more than what does not.
    fileprivate static func mostTelling(of failures: [SettingsError]) -> SettingsError {
        failures.first { $0.code != .typeMismatch }
            ?? failures.last { !$0.path.isEmpty }
            ?? failures.first
            ?? .invalidValue("there is no text")
    }
}
