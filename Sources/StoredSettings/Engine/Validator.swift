// SPDX-License-Identifier: Apache-2.0

/// A check of a setting's values.
struct Validator<Value: Sendable>: Sendable {
    /// `nil` where every value is valid.
    let check: (@Sendable (Value) throws -> Void)?
    /// The description of the valid values, apart from those that a closure rejects; `nil` where it rejects all others.
    let valid: ValidDescription?

    private init(_ valid: ValidDescription?, check: (@Sendable (Value) throws -> Void)?) {
        self.valid = valid
        self.check = check
    }

    /// Creates a validator.
    ///
    /// - Parameters:
    ///   - valid: The valid values; `nil` for all.
    ///   - conversion: The conversion of the limits of a range.
    ///   - validate: Returns whether one of them is valid.
    init(
        in valid: (any ValidValues<Value> & Sendable)?,
        _ conversion: SettingConversion<Value>,
        _ validate: (@Sendable (Value) throws -> Bool)?
    ) {
        let check = validate.map { Self.check($0) }
        guard let valid else {
            self.init(nil, check: check)
            return
        }
        let description = ValidDescription {
            ValidDescription.Limits(valid, conversion)
        } choices: {
            Self.choices(of: valid, conversion)
        } choiceText: {
            conversion.written($0).text
        } text: {
            valid.sourceText
        } words: {
            valid.words
        }
        self.init(description) { value in
            guard valid.contains(value) else { throw description.error }
            try check?(value)
        }
    }

    /// The stored forms of listed values; `nil` if they are not listed, or one of them has none.
    private static func choices(
        of valid: any ValidValues<Value>,
        _ conversion: SettingConversion<Value>
    ) -> [StoredValue]? {
        guard let list = valid.list else { return nil }
        do {
            let choices = try list.map { try conversion.encode($0) ?? .null }
            // A set has no order.
            return valid is [Value] ? choices : choices.sorted { $0.text < $1.text }
        } catch {
            return nil
        }
    }

    /// A validator for optionals, which accepts `nil`.
    var optional: Validator<Value?> {
        guard let check else { return Validator<Value?>(valid, check: nil) }
        return Validator<Value?>(valid) { value in
            if let value { try check(value) }
        }
    }

    private static func check(
        _ validate: @escaping @Sendable (Value) throws -> Bool
    ) -> @Sendable (Value) throws -> Void {
        { value in
            guard try verdict(of: validate, on: value) else { throw SettingsError.rejectedByValidator }
        }
    }

    private static func verdict(of validate: @Sendable (Value) throws -> Bool, on value: Value) throws -> Bool {
        do {
            return try validate(value)
        } catch var error as SettingsError {
            if error.remedy.isEmpty { error.remedy = SettingsError.rejectedByValidator.remedy }
            throw error
        } catch {
            throw SettingsError.thrownByValidator(error)
        }
    }
}

/// A description of valid values, which is made when it is needed.
package struct ValidDescription: Sendable {
    /// The limits of a range, as stored values.
    struct Limits: Sendable {
        var lower: StoredValue?
        var upper: StoredValue?
        /// Whether the upper limit is not valid itself.
        var isUpperExcluded: Bool

        /// Creates the limits; `nil` for values that are no range, or whose limits cannot be stored.
        init?<Value>(_ valid: any ValidValues<Value>, _ conversion: SettingConversion<Value>) {
            guard let limits = valid.limits else { return nil }
            do {
                lower = try limits.lower.flatMap(conversion.encode)
                upper = try limits.upper.flatMap(conversion.encode)
            } catch {
                // Such a limit has no form that another program could compare.
                return nil
            }
            isUpperExcluded = limits.isUpperExcluded
        }
    }

    private let makeLimits: @Sendable () -> Limits?
    private let makeChoices: @Sendable () -> [StoredValue]?
    private let textOfChoice: @Sendable (StoredValue) -> String
    private let makeText: @Sendable () -> String
    private let makeWords: @Sendable () -> RangeWords

    fileprivate init(
        limits: @escaping @Sendable () -> Limits?,
        choices: @escaping @Sendable () -> [StoredValue]?,
        choiceText: @escaping @Sendable (StoredValue) -> String,
        text: @escaping @Sendable () -> String,
        words: @escaping @Sendable () -> RangeWords
    ) {
        (makeLimits, makeChoices, textOfChoice, makeText, makeWords) = (limits, choices, choiceText, text, words)
    }

    /// The limits; `nil` for values that are no range.
    var limits: Limits? { makeLimits() }

    /// The stored forms of all valid values; `nil` if they are not listed.
    var choices: [StoredValue]? { makeChoices() }

    /// The texts of all valid values; `nil` if they are not listed.
    var choiceTexts: [String]? { choices?.map(textOfChoice) }

    /// The valid values as they are written in source, or separated by commas if they are listed.
    var text: String { choiceTexts?.joined(separator: ", ") ?? makeText() }

    /// The words for values that are not listed, such as `in 1...5`; `nil` if they are listed.
    var rangePhrase: String? { choices == nil ? makeWords().inside : nil }

    /// The error of a value that is not valid.
    fileprivate var error: SettingsError { choices == nil ? .outside(makeWords()) : .notListed(text) }
}
