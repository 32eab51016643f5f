// SPDX-License-Identifier: Apache-2.0

/// A property whose value is stored under a key, with the value it is declared with as its default.
///
/// ```swift
/// struct ServerSettings: Sendable {
///     @DefaultStorage(key: "port", in: 1...65_535) var port = 8080
///     @DefaultStorage(key: "hosts", suite: "com.acme.proxy") var hosts: Set<String> = ["localhost"]
/// }
///
/// let settings = ServerSettings()
/// settings.port = 9090                       // stored when the assignment returns
/// for await port in settings.$port.values { … }
/// ```
///
/// The default is never stored. Reading gives it while nothing is stored, or nothing that can be used; what is wrong is
/// reported to the suite's reporter. See ``Setting/value`` for what an assignment does, and ``Setting`` for what `$port`
/// offers beyond it.
///
/// It works in structs, classes and actors. In Swift 6 mode the compiler refuses all property wrappers with a setter in a
/// `final class` whose `Sendable` it checks, in a `static var` and in a global variable. Declare the settings in a struct, and
/// store one of these in a `static let` or a global `let`. A class that has nothing but settings can be marked
/// `@unchecked Sendable` instead.
@propertyWrapper
public struct DefaultStorage<Value: Sendable>: Sendable {
    @usableFromInline let setting: Setting<Value>

    /// The value: what is stored, or the default.
    public var wrappedValue: Value {
        @inlinable get { setting.value }
        nonmutating set { setting.value = newValue }
    }

    /// The setting itself, to update, reset, watch or explain.
    public var projectedValue: Setting<Value> { setting }
}

extension DefaultStorage {
    /// Stores the property under a key that is defined elsewhere, with its type and default.
    ///
    /// - Parameters:
    ///   - key: The definition.
    ///   - suite: The suite it is kept in.
    public init(_ key: SettingKey<Value>, suite: SettingsSuite = .standard) {
        setting = Setting(key, suite: suite)
    }

    /// Stores the property under a key that is defined elsewhere, with another default.
    ///
    /// - Parameters:
    ///   - wrappedValue: The value that serves while nothing is stored, in place of the key's.
    ///   - key: The definition.
    ///   - suite: The suite it is kept in.
    public init(wrappedValue: Value, _ key: SettingKey<Value>, suite: SettingsSuite = .standard) {
        let key = SettingKey(key, default: wrappedValue)
        setting = .shared(key.name, key.form, in: suite) { key }
    }

    /// Stores the property under a key, through a bridge.
    ///
    /// - Parameters:
    ///   - wrappedValue: The value that serves while nothing is stored.
    ///   - key: The key; any text that is not empty.
    ///   - suite: The suite it is kept in.
    ///   - bridge: The conversions.
    ///   - validate: Which values the setting takes. What it refuses, or throws for, is neither stored nor read.
    public init(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        let form = SettingFingerprint(wrappedValue, .bridged(by: bridge), .anything(validate))
        setting = .shared(key, form, in: suite) {
            SettingKey(key, default: wrappedValue, as: bridge, validate: validate)
        }
    }

    /// Stores the property under a key that is a case of an enum, through a bridge.
    ///
    /// - Parameters:
    ///   - wrappedValue: The value that serves while nothing is stored.
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite it is kept in.
    ///   - bridge: The conversions.
    ///   - validate: Which values the setting takes.
    public init(
        wrappedValue: Value,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(wrappedValue: wrappedValue, key: key.rawValue, suite: suite, as: bridge, validate: validate)
    }
}

extension DefaultStorage where Value: StoredValueConvertible {
    /// Stores the property under a key.
    ///
    /// - Parameters:
    ///   - wrappedValue: The value that serves while nothing is stored.
    ///   - key: The key; any text that is not empty.
    ///   - suite: The suite it is kept in.
    ///   - validate: Which values the setting takes. What it refuses, or throws for, is neither stored nor read.
    public init(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        let form = SettingFingerprint(wrappedValue, .convertible, .anything(validate))
        setting = .shared(key, form, in: suite) { SettingKey(key, default: wrappedValue, validate: validate) }
    }

    /// Stores the property under a key that is a case of an enum.
    ///
    /// - Parameters:
    ///   - wrappedValue: The value that serves while nothing is stored.
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite it is kept in.
    ///   - validate: Which values the setting takes.
    public init(
        wrappedValue: Value,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) {
        self.init(wrappedValue: wrappedValue, key: key.rawValue, suite: suite, validate: validate)
    }

    /// Stores the property under a key, if its value lies in a range.
    ///
    /// - Parameters:
    ///   - wrappedValue: The value that serves while nothing is stored.
    ///   - key: The key; any text that is not empty.
    ///   - suite: The suite it is kept in.
    ///   - range: The values that the setting takes. Another is neither stored nor read.
    ///   - validate: Which values of the range the setting takes.
    public init(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        in range: some RangeExpression<Value> & Sendable,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        let form = SettingFingerprint(wrappedValue, .convertible, .within(range, validate))
        setting = .shared(key, form, in: suite) {
            SettingKey(key, default: wrappedValue, in: range, validate: validate)
        }
    }

    /// Stores the property under a key that is a case of an enum, if its value lies in a range.
    ///
    /// - Parameters:
    ///   - wrappedValue: The value that serves while nothing is stored.
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite it is kept in.
    ///   - range: The values that the setting takes.
    ///   - validate: Which values of the range the setting takes.
    public init(
        wrappedValue: Value,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        in range: some RangeExpression<Value> & Sendable,
        validate: (@Sendable (Value) throws -> Bool)? = nil
    ) where Value: Comparable {
        self.init(wrappedValue: wrappedValue, key: key.rawValue, suite: suite, in: range, validate: validate)
    }
}
