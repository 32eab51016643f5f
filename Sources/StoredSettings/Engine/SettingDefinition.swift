// SPDX-License-Identifier: Apache-2.0

/// How the values of a setting are converted, and which of them are valid.
///
/// A declaration describes its setting once, in a closure that completes a definition:
///
/// ```swift
/// Setting(name, default: value, suite: suite) {
///     $0.convert(by: bridge)
///     $0.accept(in: range, where: validate)
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
    private(set) var validatorFingerprint: ValidatorFingerprint? = .everything
    /// `nil` in a definition that has only fingerprints.
    private(set) var conversion: SettingConversion<Value>?
    private(set) var validator = Validator<Value>()
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

    /// Converts values by a bridge.
    mutating func convert(by bridge: some StoredValueBridge<Value>) {
        conversionFingerprint = .bridged(by: bridge)
        guard hasFunctions else { return }
        conversion = SettingConversion {
            try bridge.value(from: $0)
        } encode: {
            try bridge.storedValue(from: $0)
        }
    }

    /// Accepts the values that a validator accepts.
    mutating func accept(where validate: (@Sendable (Value) throws -> Bool)?) {
        guard let validate else { return }
        validatorFingerprint = nil
        guard hasFunctions else { return }
        validator = Validator(validate)
    }

    /// Accepts the values of a range that a validator accepts.
    mutating func accept(
        in range: some RangeExpression<Value> & Sendable,
        where validate: (@Sendable (Value) throws -> Bool)?
    ) where Value: Comparable {
        validatorFingerprint = validate == nil ? .range(range) : nil
        guard hasFunctions else { return }
        validator = Validator(in: range, validate)
    }

    /// The definition of an optional setting whose `nil` means that nothing is stored.
    var optional: SettingDefinition<Value?> {
        var definition = SettingDefinition<Value?>(hasFunctions: hasFunctions)
        definition.conversionFingerprint = conversionFingerprint?.optional
        definition.validatorFingerprint = validatorFingerprint
        definition.conversion = conversion?.optional
        definition.validator = validator.optional
        return definition
    }
}

extension SettingDefinition where Value: StoredValueConvertible {
    /// Converts values by the type's own conformance.
    mutating func convert() {
        conversionFingerprint = .convertible
        guard hasFunctions else { return }
        conversion = SettingConversion {
            try Value(storedValue: $0)
        } encode: {
            try $0.storedValue()
        }
    }
}

/// The conversions between a setting's type and its stored values.
struct SettingConversion<Value: Sendable>: Sendable {
    let decode: @Sendable (StoredValue) throws -> Value
    /// Returns `nil` for a value that means that nothing is stored.
    let encode: @Sendable (Value) throws -> StoredValue?

    /// The conversion of an optional whose `nil` means that nothing is stored.
    fileprivate var optional: SettingConversion<Value?> {
        SettingConversion<Value?> {
            try decode($0)
        } encode: {
            try $0.flatMap(encode)
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
