// SPDX-License-Identifier: Apache-2.0

/// The name of a setting, without its type; and the place to keep keys in, as static members.
///
/// ```swift
/// extension SettingKeys {
///     static let quality = SettingKey("quality", default: 0.8)
///     static let lastDeploy = SettingKey<Date?>("lastDeploy")
/// }
///
/// suite[.quality] += 0.1
/// suite.reset(.quality, .lastDeploy)
/// ```
///
/// `Sendable` is not checked by the compiler here, because it never checks a class that has a subclass. It holds: a key
/// never changes once made, and all it stores is `Sendable`. The class has a subclass so that `.quality` is found
/// wherever a ``SettingKey`` is expected.
public class SettingKeys: @unchecked Sendable {
    /// The key's text.
    ///
    /// Keys are flat: `"log.level"` is one key.
    public let name: String

    fileprivate init(name: String) {
        self.name = name
    }

    /// The setting of a suite that the key stands for.
    func observed(in suite: SettingsSuite) -> any ObservedSetting {
        Setting(SettingKey<StoredValue?>(name), suite: suite)
    }
}

extension SettingKeys: CustomStringConvertible {
    /// The key's text.
    public var description: String { name }
}

extension SettingKeys: CustomReflectable {
    /// A mirror without parts, so that `dump` prints the ``description`` alone.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The definition of a setting in one place: its key, its type, its default, and what values it takes.
///
/// A key belongs to no suite; ``Setting`` joins the two. It is `Sendable` for the reason given at ``SettingKeys``.
public final class SettingKey<Value: Sendable>: SettingKeys, @unchecked Sendable {
    let source: SettingDefault<Value>
    let conversion: SettingConversion<Value>
    let rule: Validator<Value>

    init(
        _ name: String,
        conversion: SettingConversion<Value>,
        rule: Validator<Value> = Validator(),
        default source: SettingDefault<Value>
    ) {
        self.source = source
        self.conversion = conversion
        self.rule = rule
        super.init(name: name)
    }

    override func observed(in suite: SettingsSuite) -> any ObservedSetting {
        Setting(self, suite: suite)
    }

    /// The same definition with another default.
    convenience init(_ key: SettingKey, default value: Value) {
        self.init(key.name, conversion: key.conversion, rule: key.rule, default: .fixed(value))
    }

    /// The value that serves while nothing is stored.
    ///
    /// It is never stored itself.
    public var defaultValue: Value {
        switch source {
        case .fixed(let value), .absent(let value): value
        case .computed(let makeDefault): makeDefault()
        }
    }

    /// What makes it one with another; `nil` where it is one with itself alone.
    var form: SettingFingerprint? {
        switch source {
        case .fixed(let value): SettingFingerprint(value, conversion.form, rule.form)
        case .computed: nil
        case .absent: SettingFingerprint(absent: conversion.form, rule.form)
        }
    }
}

/// Where the default of a setting comes from.
enum SettingDefault<Value: Sendable>: Sendable {
    case fixed(Value)
    case computed(@Sendable () -> Value)
    /// There is none, so that `nil` is kept by storing nothing.
    case absent(Value)
}

extension SettingKey where Value: StoredValueConvertible {
    /// Creates a key with a fixed default.
    ///
    /// - Parameters:
    ///   - name: The key's text; any text that is not empty.
    ///   - value: The value that serves while nothing is stored.
    ///   - validate: Which values the setting takes. What it refuses, or throws for, is neither stored nor read.
    public convenience init(
        _ name: String,
        default value: Value,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(name, conversion: .convertible(), rule: Validator(validate), default: .fixed(value))
    }

    /// Creates a key whose values lie in a range.
    ///
    /// - Parameters:
    ///   - name: The key's text; any text that is not empty.
    ///   - value: The value that serves while nothing is stored.
    ///   - range: The values that the setting takes.
    ///   - validate: Which values of the range the setting takes.
    public convenience init(
        _ name: String,
        default value: Value,
        in range: some RangeExpression<Value> & Sendable,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        self.init(name, conversion: .convertible(), rule: Validator(in: range, validate), default: .fixed(value))
    }

    /// Creates a key whose default is computed whenever it is needed.
    ///
    /// - Parameters:
    ///   - name: The key's text; any text that is not empty.
    ///   - makeDefault: Computes the value that serves while nothing is stored. It may be called on any thread, and
    ///     more than once.
    public convenience init(_ name: String, default makeDefault: @escaping @Sendable () -> Value) {
        self.init(name, conversion: .convertible(), default: .computed(makeDefault))
    }
}

extension SettingKey {
    /// Creates a key for a type that is stored through a bridge.
    ///
    /// - Parameters:
    ///   - name: The key's text; any text that is not empty.
    ///   - value: The value that serves while nothing is stored.
    ///   - bridge: The conversions.
    ///   - validate: Which values the setting takes.
    public convenience init(
        _ name: String,
        default value: Value,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(name, conversion: .bridged(by: bridge), rule: Validator(validate), default: .fixed(value))
    }

    /// Creates a key without a default: `nil` means that nothing is stored, and assigning `nil` removes what is.
    ///
    /// - Parameters:
    ///   - name: The key's text; any text that is not empty.
    ///   - validate: Which values the setting takes. It is not asked about `nil`.
    public convenience init<Wrapped: StoredValueConvertible>(
        _ name: String,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil
    ) where Value == Wrapped? {
        let rule = Validator(unlessNil: Validator(validate))
        self.init(name, conversion: .absent(.convertible()), rule: rule, default: .absent(nil))
    }

    /// Creates a key without a default, whose values lie in a range.
    ///
    /// - Parameters:
    ///   - name: The key's text; any text that is not empty.
    ///   - range: The values that the setting takes, beside `nil`.
    ///   - validate: Which values of the range the setting takes.
    public convenience init<Wrapped: StoredValueConvertible & Comparable>(
        _ name: String,
        in range: some RangeExpression<Wrapped> & Sendable,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil
    ) where Value == Wrapped? {
        let rule = Validator(unlessNil: Validator(in: range, validate))
        self.init(name, conversion: .absent(.convertible()), rule: rule, default: .absent(nil))
    }

    /// Creates a key without a default, for a type that is stored through a bridge.
    ///
    /// - Parameters:
    ///   - name: The key's text; any text that is not empty.
    ///   - bridge: The conversions of the type inside the optional.
    ///   - validate: Which values the setting takes. It is not asked about `nil`.
    public convenience init<Wrapped: Sendable>(
        _ name: String,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil
    ) where Value == Wrapped? {
        let rule = Validator(unlessNil: Validator(validate))
        self.init(name, conversion: .absent(.bridged(by: bridge)), rule: rule, default: .absent(nil))
    }
}
