// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "Keys are classes".

/// A namespace for keys: extend it with static members.
///
/// ```swift
/// extension SettingKeys {
///     static let quality = SettingKey("quality", default: 0.8)
///     static let lastDeploy = SettingKey<Date?>("lastDeploy")
/// }
///
/// suite[.quality] += 0.1
/// try suite.reset(.quality, .lastDeploy)
/// ```
public typealias SettingKeys = AnySettingKey

/// A key of any type.
///
/// Its subclass ``SettingKey`` adds the type and the default. It is a superclass so that Swift finds `.quality` wherever a
/// ``SettingKey`` is expected. Extend it under the name ``SettingKeys``.
///
/// Unchecked: the compiler does not check `Sendable` for a class that has a subclass. All properties are constants of
/// `Sendable` types.
public class AnySettingKey: @unchecked Sendable {
    /// The name.
    ///
    /// Keys are flat: `"log.level"` is one key.
    public let name: String

    fileprivate init(name: String) {
        self.name = name
    }

    /// The setting of the key in a suite.
    func observed(in suite: SettingsSuite) -> any ObservedSetting {
        Setting(SettingKey<StoredValue?>(name), suite: suite)
    }
}

extension AnySettingKey: Hashable {
    /// Returns whether both keys have the same name and the same type of values.
    ///
    /// Defaults, conversions and validators are not compared, because closures cannot be.
    public static func == (left: AnySettingKey, right: AnySettingKey) -> Bool {
        left.name == right.name && type(of: left) == type(of: right)
    }

    /// Hashes the name and the type of the values.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(ObjectIdentifier(type(of: self)))
    }
}

extension AnySettingKey: CustomStringConvertible {
    /// The name.
    public var description: String { name }
}

extension AnySettingKey: CustomReflectable {
    /// A mirror without children, so that `dump` prints only the ``description``.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The definition of a setting: its key, its type, its default, its conversion and its validator.
///
/// A key belongs to no suite; ``Setting`` joins the two. Create a key once, in a `static let`.
///
/// Unchecked for the reason given at ``AnySettingKey``.
public final class SettingKey<Value: Sendable>: AnySettingKey, @unchecked Sendable {
    let source: SettingDefault<Value>
    private let definition: SettingDefinition<Value>

    /// - Parameters:
    ///   - name: The key.
    ///   - source: The default.
    ///   - definition: The conversion and the validator.
    private init(_ name: String, default source: SettingDefault<Value>, _ definition: SettingDefinition<Value>) {
        self.source = source
        self.definition = definition
        super.init(name: name)
    }

    convenience init(
        describing name: String,
        default source: SettingDefault<Value>,
        describe: (inout SettingDescription) -> Void
    ) {
        self.init(name, default: source, SettingDefinition(describe))
    }

    /// Creates an optional key without a default.
    convenience init<Wrapped>(
        optional name: String,
        describe: (inout SettingDescription) -> Void
    ) where Value == Wrapped? {
        self.init(name, default: .absent(nil), SettingDefinition<Wrapped>(describe).optional)
    }

    /// Creates the same definition with another default.
    convenience init(_ key: SettingKey, default value: Value) {
        self.init(key.name, default: .fixed(value), key.definition)
    }

    override func observed(in suite: SettingsSuite) -> any ObservedSetting {
        Setting(self, suite: suite)
    }

    /// The value while nothing is stored.
    ///
    /// It is never stored itself.
    public var defaultValue: Value {
        switch source {
        case .fixed(let value), .absent(let value): value
        case .computed(let makeDefault): makeDefault()
        }
    }

    var conversion: SettingConversion<Value> { definition.functions.conversion }
    var validator: Validator<Value> { definition.functions.validator }

    /// The fingerprint of the definition; `nil` for a setting that is not shared with another definition.
    var fingerprint: SettingFingerprint? {
        let (conversion, validator) = (definition.conversionFingerprint, definition.validatorFingerprint)
        return switch source {
        case .fixed(let value): SettingFingerprint(default: value, conversion, validator)
        case .computed: nil
        // The definition is the optional's already.
        case .absent: SettingFingerprint(default: (), conversion, validator)
        }
    }
}

/// The source of a setting's default.
enum SettingDefault<Value: Sendable>: Sendable {
    case fixed(Value)
    case computed(@Sendable () -> Value)
    /// There is none: `nil` means that nothing is stored.
    case absent(Value)
}

// MARK: - Types with a conversion of their own

extension SettingKey where Value: StoredValueConvertible {
    /// Creates a key with a fixed default.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - value: The value while nothing is stored.
    ///   - validate: Returns whether a value is valid. Rejected values are neither stored nor returned.
    public convenience init(
        _ name: String,
        default value: Value,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(describing: name, default: .fixed(value)) { $0.values(of: Value.self, where: validate) }
    }

    /// Creates a key whose values lie in a range.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - value: The value while nothing is stored.
    ///   - range: The valid values.
    ///   - validate: Returns whether a value of the range is valid.
    public convenience init(
        _ name: String,
        default value: Value,
        in range: some RangeExpression<Value> & Sendable,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        self.init(describing: name, default: .fixed(value)) { $0.values(of: Value.self, in: range, where: validate) }
    }

    /// Creates a key whose default is computed each time it is needed.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - makeDefault: Returns the value while nothing is stored. It may be called on any thread.
    ///   - validate: Returns whether a value is valid. It is not called for the default.
    public convenience init(
        _ name: String,
        default makeDefault: @escaping @Sendable () -> Value,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(describing: name, default: .computed(makeDefault)) { $0.values(of: Value.self, where: validate) }
    }

    /// Creates a key whose values lie in a range, and whose default is computed each time it is needed.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - makeDefault: Returns the value while nothing is stored. It may be called on any thread.
    ///   - range: The valid values. The default is not checked.
    ///   - validate: Returns whether a value of the range is valid.
    public convenience init(
        _ name: String,
        default makeDefault: @escaping @Sendable () -> Value,
        in range: some RangeExpression<Value> & Sendable,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        self.init(describing: name, default: .computed(makeDefault)) {
            $0.values(of: Value.self, in: range, where: validate)
        }
    }
}

// MARK: - Types with a bridge

extension SettingKey {
    /// Creates a key for a type that is converted by a bridge.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - value: The value while nothing is stored.
    ///   - bridge: The conversions.
    ///   - validate: Returns whether a value is valid.
    public convenience init(
        _ name: String,
        default value: Value,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(describing: name, default: .fixed(value)) { $0.values(of: Value.self, by: bridge, where: validate) }
    }

    /// Creates a key whose values lie in a range and are converted by a bridge.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - value: The value while nothing is stored.
    ///   - range: The valid values.
    ///   - bridge: The conversions.
    ///   - validate: Returns whether a value of the range is valid.
    public convenience init(
        _ name: String,
        default value: Value,
        in range: some RangeExpression<Value> & Sendable,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        self.init(describing: name, default: .fixed(value)) {
            $0.values(of: Value.self, by: bridge, in: range, where: validate)
        }
    }

    /// Creates a key for a type that is converted by a bridge, and whose default is computed each time it is needed.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - makeDefault: Returns the value while nothing is stored. It may be called on any thread.
    ///   - bridge: The conversions.
    ///   - validate: Returns whether a value is valid. It is not called for the default.
    public convenience init(
        _ name: String,
        default makeDefault: @escaping @Sendable () -> Value,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(describing: name, default: .computed(makeDefault)) {
            $0.values(of: Value.self, by: bridge, where: validate)
        }
    }

    /// Creates a key whose values lie in a range and are converted by a bridge, with a computed default.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - makeDefault: Returns the value while nothing is stored. It may be called on any thread.
    ///   - range: The valid values. The default is not checked.
    ///   - bridge: The conversions.
    ///   - validate: Returns whether a value of the range is valid.
    public convenience init(
        _ name: String,
        default makeDefault: @escaping @Sendable () -> Value,
        in range: some RangeExpression<Value> & Sendable,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        self.init(describing: name, default: .computed(makeDefault)) {
            $0.values(of: Value.self, by: bridge, in: range, where: validate)
        }
    }
}

// MARK: - Optional types without a default

extension SettingKey {
    /// Creates a key without a default: `nil` means that nothing is stored, and assigning `nil` removes the stored value.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - validate: Returns whether a value is valid. It is not called for `nil`.
    public convenience init<Wrapped: StoredValueConvertible>(
        _ name: String,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil
    ) where Value == Wrapped? {
        self.init(optional: name) { $0.values(of: Wrapped.self, where: validate) }
    }

    /// Creates a key without a default, whose values lie in a range.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - range: The valid values, apart from `nil`.
    ///   - validate: Returns whether a value of the range is valid.
    public convenience init<Wrapped: StoredValueConvertible & Comparable>(
        _ name: String,
        in range: some RangeExpression<Wrapped> & Sendable,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil
    ) where Value == Wrapped? {
        self.init(optional: name) { $0.values(of: Wrapped.self, in: range, where: validate) }
    }

    /// Creates a key without a default, for a type that is converted by a bridge.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - bridge: The conversions of the type inside the optional.
    ///   - validate: Returns whether a value is valid. It is not called for `nil`.
    public convenience init<Wrapped: Sendable>(
        _ name: String,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil
    ) where Value == Wrapped? {
        self.init(optional: name) { $0.values(of: Wrapped.self, by: bridge, where: validate) }
    }
}
