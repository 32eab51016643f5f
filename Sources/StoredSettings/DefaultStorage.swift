// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "A default is fixed unless it is a closure".

/// A property whose value is stored under a key.
///
/// The value in the declaration is the default.
///
/// ```swift
/// struct ServerSettings: Sendable {
///     @DefaultStorage(key: "port", in: 1...65_535) var port = 8080
///     @DefaultStorage(key: "hosts", suite: "com.acme.proxy") var hosts: Set<String> = ["localhost"]
/// }
///
/// let settings = ServerSettings()
/// settings.port = 9090                       // stored when the assignment returns
/// for await port in settings.$port.values { print(port) }
/// ```
///
/// The default is never stored. It is returned while no usable value is stored; a stored value that cannot be used is
/// reported to the suite's reporter. See ``Setting/value`` for assignments, and ``Setting`` for the members of `$port`.
///
/// The memberwise initializer of a struct sets the default, and stores nothing: `ServerSettings(port: 5)` reads 5 until a
/// value is stored.
///
/// Creating a property takes less than 200 ns when its setting has been created before.
///
/// ### Classes and actors
///
/// The wrapper works in structs, classes and actors. In Swift 6 mode the compiler rejects every property wrapper with a
/// setter in a `final class` whose `Sendable` it checks, in a `static var` and in a global variable. Declare the settings in
/// a struct, and store it in a `static let` or a global `let`. A class that contains only settings can be marked
/// `@unchecked Sendable` instead.
///
/// In an `@Observable` class the macro and the wrapper both replace the property's accessors, so mark it
/// `@ObservationIgnored`. A suite that is ``SettingsSuite/observable(_:)`` notifies Observation by itself:
///
/// ```swift
/// @Observable
/// final class Model {
///     @ObservationIgnored @DefaultStorage(key: "port") var port = 8080
/// }
/// ```
///
/// ### Codable types
///
/// A setting is stored by its suite and is not part of an encoded struct. In a `Codable` struct, declare `CodingKeys`
/// with the other properties:
///
/// ```swift
/// struct Server: Codable {
///     @DefaultStorage(key: "port") var port = 8080
///     var name: String
///
///     private enum CodingKeys: CodingKey { case name }
/// }
/// ```
@propertyWrapper
public struct DefaultStorage<Value: Sendable>: Sendable {
    @usableFromInline let setting: Setting<Value>

    /// The stored value, or the default.
    public var wrappedValue: Value {
        @inlinable get { setting.value }
        nonmutating set { setting.value = newValue }
        nonmutating _modify { yield &setting.value }
    }

    /// The setting itself, to update, reset, observe or explain it.
    public var projectedValue: Setting<Value> { setting }
}

extension DefaultStorage: CustomStringConvertible {
    /// The ``Setting/description`` of the setting, without the value.
    public var description: String { setting.description }
}

extension DefaultStorage {
    /// Stores the property under a key that is defined elsewhere, with its type and default.
    ///
    /// - Parameters:
    ///   - key: The definition.
    ///   - suite: The suite that stores the value.
    public init(_ key: SettingKey<Value>, suite: SettingsSuite = .standard) {
        setting = Setting(key, suite: suite)
    }

    /// Stores the property under a key that is defined elsewhere, with another default.
    ///
    /// - Parameters:
    ///   - wrappedValue: The default, in place of the key's.
    ///   - key: The definition.
    ///   - suite: The suite that stores the value.
    public init(wrappedValue: Value, _ key: SettingKey<Value>, suite: SettingsSuite = .standard) {
        setting = Setting(SettingKey(key, default: wrappedValue), suite: suite)
    }

    /// Stores the property under a key.
    ///
    /// - Parameters:
    ///   - wrappedValue: The default.
    ///   - key: The key: any non-empty string.
    ///   - suite: The suite that stores the value.
    ///   - valid: The valid values; `nil` for all. Others are neither stored nor returned.
    ///   - validate: Returns whether one of the valid values is valid.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value: StoredValueConvertible {
        setting = Setting(
            key,
            default: wrappedValue,
            suite: suite,
            in: valid,
            validate: validate,
            help: help,
            traits: traits
        )
    }

    /// Stores the property under a key that is a case of an enum.
    ///
    /// - Parameters:
    ///   - wrappedValue: The default.
    ///   - key: A value whose raw value is the key.
    ///   - suite: The suite that stores the value.
    ///   - valid: The valid values; `nil` for all. Others are neither stored nor returned.
    ///   - validate: Returns whether one of the valid values is valid.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init(
        wrappedValue: Value,
        _ key: some RawRepresentable<String>,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value: StoredValueConvertible {
        setting = Setting(
            key.rawValue,
            default: wrappedValue,
            suite: suite,
            in: valid,
            validate: validate,
            help: help,
            traits: traits
        )
    }

    /// Stores the property under a key, converted by a bridge.
    ///
    /// - Parameters:
    ///   - wrappedValue: The default.
    ///   - key: The key: any non-empty string.
    ///   - suite: The suite that stores the value.
    ///   - valid: The valid values; `nil` for all. Others are neither stored nor returned.
    ///   - bridge: The conversions.
    ///   - validate: Returns whether one of the valid values is valid.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public init(
        wrappedValue: Value,
        key: String,
        suite: SettingsSuite = .standard,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) {
        setting = Setting(
            key,
            default: wrappedValue,
            suite: suite,
            in: valid,
            as: bridge,
            validate: validate,
            help: help,
            traits: traits
        )
    }
}
