// SPDX-License-Identifier: Apache-2.0

/// The two ways between a setting's type and what is stored.
struct SettingConversion<Value: Sendable>: Sendable {
    /// `nil` where it cannot be compared.
    let form: ConversionFingerprint?
    let decode: @Sendable (StoredValue) throws -> Value
    /// `nil` is for a value that is kept by storing nothing.
    let encode: @Sendable (Value) throws -> StoredValue?

    static func bridged(by bridge: some StoredValueBridge<Value>) -> Self {
        Self(form: .bridged(by: bridge)) {
            try bridge.value(from: $0)
        } encode: {
            try bridge.storedValue(from: $0)
        }
    }

    /// The conversion of an optional whose `nil` is kept by storing nothing.
    static func absent<Wrapped>(_ wrapped: SettingConversion<Wrapped>) -> Self where Value == Wrapped? {
        Self(form: wrapped.form?.absent) {
            try wrapped.decode($0)
        } encode: {
            try $0.flatMap(wrapped.encode)
        }
    }
}

extension SettingConversion where Value: StoredValueConvertible {
    static func convertible() -> Self {
        Self(form: .convertible) {
            try Value(storedValue: $0)
        } encode: {
            try $0.storedValue()
        }
    }
}

/// Which values a setting takes.
struct Validator<Value: Sendable>: Sendable {
    /// `nil` where it cannot be compared.
    let form: ValidatorFingerprint?
    private let check: (@Sendable (Value) throws -> Void)?

    init(_ validate: (@Sendable (Value) throws -> Bool)? = nil) {
        form = .anything(validate)
        guard let validate else {
            check = nil
            return
        }
        check = { value in
            guard try Self.verdict(of: validate, on: value) else {
                throw SettingsError.validationFailed("the value is refused by the setting's validator")
            }
        }
    }

    init(
        in range: some RangeExpression<Value> & Sendable,
        _ validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        let other = Validator(validate)
        form = .within(range, validate)
        check = { value in
            guard range.contains(value) else {
                throw SettingsError.validationFailed("the value is outside \(range.text)")
            }
            try other.check?(value)
        }
    }

    /// A rule for the values inside an optional: `nil` is always taken.
    init<Wrapped: Sendable>(unlessNil rule: Validator<Wrapped>) where Value == Wrapped? {
        form = rule.form
        guard let check = rule.check else {
            self.check = nil
            return
        }
        self.check = { value in
            if let value { try check(value) }
        }
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
            throw SettingsError.validationFailed("the setting's validator threw \(type(of: error))", underlying: error)
        }
    }
}

extension RangeExpression {
    /// The range as it is written in source.
    fileprivate var text: String {
        switch self {
        case let range as PartialRangeFrom<Bound>: "\(range.lowerBound)..."
        case let range as PartialRangeThrough<Bound>: "...\(range.upperBound)"
        case let range as PartialRangeUpTo<Bound>: "..<\(range.upperBound)"
        default: "\(self)"
        }
    }
}
