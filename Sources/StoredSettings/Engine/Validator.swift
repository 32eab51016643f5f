// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "A validator that reads its own setting receives the value that it
// checks".

/// A check of a setting's values.
struct Validator<Value: Sendable>: Sendable {
    /// `nil` where every value is valid.
    let check: (@Sendable (Value) throws -> Void)?
    /// Describes the valid values, apart from those that a closure rejects; `nil` where it rejects all others.
    private let describe: (@Sendable () -> ValidDescription)?
    /// Whether a closure of the user is part of the check.
    let hasClosure: Bool

    var valid: ValidDescription? { describe?() }

    private init(
        _ describe: (@Sendable () -> ValidDescription)?,
        hasClosure: Bool,
        check: (@Sendable (Value) throws -> Void)?
    ) {
        self.describe = describe
        self.hasClosure = hasClosure
        self.check = check
    }

    init(
        in valid: (any ValidValues<Value> & Sendable)?,
        _ conversion: SettingConversion<Value>,
        _ validate: (@Sendable (Value) throws -> Bool)?
    ) {
        let check = validate.map { validate in { @Sendable value in try Self.check(value, by: validate) } }
        guard let valid else {
            self.init(nil, hasClosure: check != nil, check: check)
            return
        }
        let describe = { @Sendable in ValidDescription(valid, conversion) }
        self.init(describe, hasClosure: check != nil) { value in
            guard valid.contains(value) else { throw describe().error }
            try check?(value)
        }
    }

    /// A validator for optionals, which accepts `nil`.
    var optional: Validator<Value?> {
        guard let check else { return Validator<Value?>(describe, hasClosure: false, check: nil) }
        return Validator<Value?>(describe, hasClosure: hasClosure) { value in
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

/// A value that a validator checks on the current thread.
///
/// A validator may read settings, whose values are validated then. One that reads its own setting, directly or through the
/// validator of another one, would never end. So it receives the value that it checks.
final class Validation: Sendable {
    @TaskLocal private static var inherited: Validation?

    private let extent = ThreadExtent()
    private let value: any Sendable
    private let key: String
    private let engine: SettingsEngine
    private let outer = isCurrent ? inherited : nil

    private init(_ value: some Sendable, _ key: String, _ engine: SettingsEngine) {
        (self.value, self.key, self.engine) = (value, key, engine)
    }

    /// Whether the caller is a validator.
    static var isCurrent: Bool { inherited?.extent.isCurrent ?? false }

    /// The value of a key that is being checked; `nil` if there is none of the type.
    static func value<Value>(forKey key: String, in engine: SettingsEngine, as type: Value.Type) -> Value? {
        var validation = inherited
        while let current = validation {
            if current.extent.isCurrent, current.key == key, current.engine === engine,
                let value = current.value as? Value
            {
                return value
            }
            validation = current.outer
        }
        return nil
    }

    /// Runs work that is no part of the validation.
    static func runWithout<Result>(_ body: () throws -> Result) rethrows -> Result {
        try $inherited.withValue(nil, operation: body)
    }

    static func run(_ value: some Sendable, _ key: String, _ engine: SettingsEngine, _ check: () throws -> Void)
        rethrows
    {
        let validation = Validation(value, key, engine)
        try validation.extent.run { try $inherited.withValue(validation, operation: check) }
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

    init<Value>(_ valid: any ValidValues<Value>, _ conversion: SettingConversion<Value>) {
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
    var error: SettingsError { choices == nil ? .outside(words) : .notListed(text) }
}
