// SPDX-License-Identifier: Apache-2.0

/// A check of a setting's values.
struct Validator<Value: Sendable>: Sendable {
    /// `nil` where every value is valid.
    let check: (@Sendable (Value) throws -> Void)?
    /// Describes the valid values, apart from those that a closure rejects; `nil` where it rejects all others.
    private let describe: (@Sendable () -> ValidDescription)?

    var valid: ValidDescription? { describe?() }

    private init(_ describe: (@Sendable () -> ValidDescription)?, check: (@Sendable (Value) throws -> Void)?) {
        self.describe = describe
        self.check = check
    }

    init(
        in valid: (any ValidValues<Value> & Sendable)?,
        _ conversion: SettingConversion<Value>,
        _ validate: (@Sendable (Value) throws -> Bool)?
    ) {
        let check = validate.map { validate in { @Sendable value in try Self.check(value, by: validate) } }
        guard let valid else {
            self.init(nil, check: check)
            return
        }
        let describe = { @Sendable in ValidDescription(valid, conversion) }
        self.init(describe) { value in
            guard valid.contains(value) else { throw describe().error }
            try check?(value)
        }
    }

    /// A validator for optionals, which accepts `nil`.
    var optional: Validator<Value?> {
        guard let check else { return Validator<Value?>(describe, check: nil) }
        return Validator<Value?>(describe) { value in
            if let value { try check(value) }
        }
    }

    private static func check(_ value: Value, by validate: (Value) throws -> Bool) throws {
        do {
            guard try validate(value) else { throw SettingsError.rejectedByValidator() }
        } catch var error as SettingsError {
            if error.remedy.isEmpty { error.remedy = SettingsError.rejectedByValidator().remedy }
            throw error
        } catch {
            throw SettingsError.rejectedByValidator(error)
        }
    }
}

/// A description of valid values.
package struct ValidDescription: Sendable {
    /// The limits as stored values; `nil` for values that are no range, or whose limits cannot be stored.
    package let limits: RangeLimits<StoredValue>?
    /// The stored forms of all valid values; `nil` if they are not listed, or one of them has none.
    package let choices: [StoredValue]?
    /// The texts of all valid values; `nil` if they are not listed.
    let choiceTexts: [String]?
    /// The valid values as they are written in source, or separated by commas if they are listed.
    let text: String
    private let words: RangeWords

    fileprivate init<Value>(_ valid: any ValidValues<Value>, _ conversion: SettingConversion<Value>) {
        do {
            limits = try valid.limits?.map(conversion.encode)
        } catch {
            // Such a limit has no form that another program could compare.
            limits = nil
        }
        do {
            let list = try valid.list?.map { try conversion.encode($0) ?? .null }
            // A set has no order.
            choices = valid is [Value] ? list : list?.sorted { $0.text < $1.text }
        } catch {
            choices = nil
        }
        choiceTexts = choices?.map { conversion.written($0).text }
        text = choiceTexts?.joined(separator: ", ") ?? valid.sourceText
        words = valid.words
    }

    /// The words for values that are not listed, such as `in 1...5`; `nil` if they are listed.
    var rangePhrase: String? { choices == nil ? words.inside : nil }

    /// The error of a value that is not valid.
    fileprivate var error: SettingsError { choices == nil ? .outside(words) : .notListed(text) }
}
