// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "Settings with one definition are shared".

/// How the values of a setting are converted, and which of them are valid.
///
/// A declaration describes its setting once, in a closure that completes a definition:
///
/// ```swift
/// Setting(name, default: value, suite: suite) {
///     $0.values(by: bridge, in: range, where: validate)
/// }
/// ```
///
/// The closure runs for the fingerprint alone, which finds a setting that exists already. For a new setting it runs once
/// more, with the functions, and the result is stored in the ``SettingKey``. So a fingerprint and its functions cannot
/// differ, and the declaration of a known setting allocates nothing.
///
/// The key's name and the default stand beside the definition: a generic type that holds a `Value` needs its metadata
/// at run time, and that lookup takes as long as the rest of a declaration.
struct SettingDefinition<Value: Sendable>: Sendable {
    /// `nil` for a conversion that cannot be compared.
    private(set) var conversionFingerprint: ConversionFingerprint?
    /// `nil` for a validator that cannot be compared.
    private(set) var validatorFingerprint: ValidatorFingerprint?
    /// `nil` in a definition that has only fingerprints.
    private(set) var functions: SettingFunctions<Value>?
    private let hasFunctions: Bool

    private init(hasFunctions: Bool) {
        self.hasFunctions = hasFunctions
    }

    /// Returns a definition without functions.
    static func fingerprints(_ define: (inout Self) -> Void) -> Self {
        var definition = Self(hasFunctions: false)
        define(&definition)
        return definition
    }

    /// Returns a definition with its functions.
    static func complete(_ define: (inout Self) -> Void) -> Self {
        var definition = Self(hasFunctions: true)
        define(&definition)
        return definition
    }

    /// Defines values that a bridge converts and a validator accepts.
    mutating func values(
        by bridge: some StoredValueBridge<Value>,
        where validate: (@Sendable (Value) throws -> Bool)?
    ) {
        conversionFingerprint = .bridged(by: bridge)
        validatorFingerprint = validate == nil ? .everything : nil
        if hasFunctions { functions = SettingFunctions(.bridged(by: bridge), Validator(validate)) }
    }

    /// Defines values of a range that a bridge converts and a validator accepts.
    mutating func values(
        by bridge: some StoredValueBridge<Value>,
        in range: some RangeExpression<Value> & Sendable,
        where validate: (@Sendable (Value) throws -> Bool)?
    ) where Value: Comparable {
        conversionFingerprint = .bridged(by: bridge)
        validatorFingerprint = validate == nil ? .range(range) : nil
        if hasFunctions { functions = SettingFunctions(.bridged(by: bridge), Validator(in: range, validate)) }
    }

    /// The definition of an optional setting whose `nil` means that nothing is stored.
    var optional: SettingDefinition<Value?> {
        var definition = SettingDefinition<Value?>(hasFunctions: hasFunctions)
        definition.conversionFingerprint = conversionFingerprint?.optional
        definition.validatorFingerprint = validatorFingerprint
        definition.functions = functions.map { SettingFunctions($0.conversion.optional, $0.validator.optional) }
        return definition
    }
}

extension SettingDefinition where Value: StoredValueConvertible {
    /// Defines values that the type's own conformance converts and a validator accepts.
    mutating func values(where validate: (@Sendable (Value) throws -> Bool)?) {
        conversionFingerprint = .convertible
        validatorFingerprint = validate == nil ? .everything : nil
        if hasFunctions { functions = SettingFunctions(.convertible(), Validator(validate)) }
    }

    /// Defines values of a range that the type's own conformance converts and a validator accepts.
    mutating func values(
        in range: some RangeExpression<Value> & Sendable,
        where validate: (@Sendable (Value) throws -> Bool)?
    ) where Value: Comparable {
        conversionFingerprint = .convertible
        validatorFingerprint = validate == nil ? .range(range) : nil
        if hasFunctions { functions = SettingFunctions(.convertible(), Validator(in: range, validate)) }
    }
}

/// The conversion and the validator of a definition.
///
/// An object, so that a definition is copied and released without generic metadata.
final class SettingFunctions<Value: Sendable>: Sendable {
    let conversion: SettingConversion<Value>
    let validator: Validator<Value>

    init(_ conversion: SettingConversion<Value>, _ validator: Validator<Value>) {
        (self.conversion, self.validator) = (conversion, validator)
    }
}

/// The conversions between a setting's type and its stored values.
struct SettingConversion<Value: Sendable>: Sendable {
    let decode: @Sendable (StoredValue) throws -> Value
    /// Returns `nil` for a value that means that nothing is stored.
    let encode: @Sendable (Value) throws -> StoredValue?

    static func bridged(by bridge: some StoredValueBridge<Value>) -> Self {
        SettingConversion {
            try bridge.value(from: $0)
        } encode: {
            try bridge.storedValue(from: $0)
        }
    }

    /// The conversion of an optional whose `nil` means that nothing is stored.
    fileprivate var optional: SettingConversion<Value?> {
        SettingConversion<Value?> {
            try decode($0)
        } encode: {
            try $0.flatMap(encode)
        }
    }
}

extension SettingConversion where Value: StoredValueConvertible {
    static func convertible() -> Self {
        SettingConversion {
            try Value(storedValue: $0)
        } encode: {
            try $0.storedValue()
        }
    }
}

/// A check of a setting's values.
struct Validator<Value: Sendable>: Sendable {
    /// `nil` where every value is valid.
    private let check: (@Sendable (Value) throws -> Void)?

    private init(check: (@Sendable (Value) throws -> Void)?) {
        self.check = check
    }

    init(_ validate: (@Sendable (Value) throws -> Bool)? = nil) {
        guard let validate else {
            check = nil
            return
        }
        check = { value in
            guard try Self.verdict(of: validate, on: value) else { throw SettingsError.rejectedByValidator }
        }
    }

    init(
        in range: some RangeExpression<Value> & Sendable,
        _ validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        let other = Validator(validate)
        check = { value in
            guard range.contains(value) else { throw SettingsError.outside(range.sourceText) }
            try other.check?(value)
        }
    }

    /// A validator for optionals, which accepts `nil`.
    fileprivate var optional: Validator<Value?> {
        guard let check else { return Validator<Value?>() }
        return Validator<Value?>(check: { value in
            if let value { try check(value) }
        })
    }

    func callAsFunction(_ value: Value) throws {
        try check?(value)
    }

    private static func verdict(of validate: @Sendable (Value) throws -> Bool, on value: Value) throws -> Bool {
        do {
            return try validate(value)
        } catch let error as SettingsError {
            throw error
        } catch {
            throw SettingsError.thrownByValidator(error)
        }
    }
}

extension RangeExpression {
    /// The range as it is written in source.
    fileprivate var sourceText: String {
        switch self {
        case let range as PartialRangeFrom<Bound>: "\(range.lowerBound)..."
        case let range as PartialRangeThrough<Bound>: "...\(range.upperBound)"
        case let range as PartialRangeUpTo<Bound>: "..<\(range.upperBound)"
        default: "\(self)"
        }
    }
}
