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
    /// `"log.level"` is one key. In a settings file, it may be a name, or the member `level` of an object `log`.
    public let name: String
    /// The keys under which a value may be stored.
    let storedKeys: StoredKeys

    fileprivate init(_ storedKeys: StoredKeys) {
        name = storedKeys.current
        self.storedKeys = storedKeys
    }

    /// The setting of the key in a suite, for a subscriber of several settings.
    func tracker(in suite: SettingsSuite) -> any ChangeTracking {
        TrackedSetting(Setting(SettingKey<StoredValue?>(name), suite: suite), for: suite.engine)
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
    let metadata: SettingMetadata
    private let functions: SettingFunctions<Value>
    /// The fingerprint without the default, unless there is none.
    private let definition: SettingFingerprint?

    private init(
        _ name: String,
        default source: SettingDefault<Value>,
        _ metadata: SettingMetadata,
        _ functions: SettingFunctions<Value>,
        _ definition: SettingFingerprint?
    ) {
        self.source = source
        self.metadata = metadata
        self.functions = functions
        self.definition = definition
        super.init(StoredKeys(name, old: metadata.traits.oldKeys))
    }

    convenience init(
        describing name: String,
        default source: SettingDefault<Value>,
        _ metadata: SettingMetadata,
        describe: (inout SettingDescription) -> Void
    ) {
        let description = SettingDescription(describe, hasFunctions: true)
        let functions = description.functions(of: Value.self)
        self.init(name, default: source, metadata, functions, description.fingerprint)
    }

    /// Creates an optional key without a default.
    convenience init<Wrapped>(
        optional name: String,
        _ metadata: SettingMetadata,
        describe: (inout SettingDescription) -> Void
    ) where Value == Wrapped? {
        let description = SettingDescription(describe, hasFunctions: true)
        let functions = description.functions(of: Wrapped.self).optional
        self.init(name, default: .absent(nil), metadata, functions, description.fingerprint?.optional)
    }

    /// Creates the same definition with another default.
    convenience init(_ key: SettingKey, default value: Value) {
        self.init(key.name, default: .fixed(value), key.metadata, key.functions, key.definition)
    }

    /// Creates the definition of the same setting in a group, for the whole suite.
    convenience init(_ key: SettingKey, in group: SuiteGroup) {
        let metadata = group.metadata(key.metadata)
        self.init(group.key(key.name), default: key.source, metadata, key.functions, key.definition)
    }

    override func tracker(in suite: SettingsSuite) -> any ChangeTracking {
        TrackedSetting(Setting(self, suite: suite), for: suite.engine)
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

    var conversion: SettingConversion<Value> { functions.conversion }
    var validator: Validator<Value> { functions.validator }

    /// Throws an error if a value is not valid.
    ///
    /// Every set calls this. A copy of the validator would make it find the metadata of a generic type first.
    func validate(_ value: Value) throws { try functions.validator.check?(value) }

    /// The fingerprint of the definition; `nil` for a setting that is not shared with another definition.
    var fingerprint: SettingFingerprint? {
        switch source {
        case .fixed(let value): definition?.with(default: value)
        case .computed: nil
        case .absent: definition
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

// MARK: - Creating a key

extension SettingKey {
    /// Creates a key with a fixed default.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - value: The value while nothing is stored.
    ///   - valid: The valid values; `nil` for all. Others are neither stored nor returned.
    ///   - validate: Returns whether one of the valid values is valid.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public convenience init(
        _ name: String,
        default value: Value,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value: StoredValueConvertible {
        self.init(describing: name, default: .fixed(value), SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Value.self, in: valid, where: validate)
        }
    }

    /// Creates a key whose default is computed each time it is needed.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - makeDefault: Returns the value while nothing is stored. It may be called on any thread, and is not checked.
    ///   - valid: The valid values; `nil` for all. Others are neither stored nor returned.
    ///   - validate: Returns whether one of the valid values is valid.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public convenience init(
        _ name: String,
        default makeDefault: @escaping @Sendable () -> Value,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value: StoredValueConvertible {
        self.init(describing: name, default: .computed(makeDefault), SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Value.self, in: valid, where: validate)
        }
    }

    /// Creates a key without a default: `nil` means that nothing is stored, and assigning `nil` removes the stored value.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - valid: The valid values, apart from `nil`. Others are neither stored nor returned.
    ///   - validate: Returns whether one of the valid values is valid. It is not called for `nil`.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public convenience init<Wrapped: StoredValueConvertible>(
        _ name: String,
        in valid: (any ValidValues<Wrapped> & Sendable)? = nil,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == Wrapped? {
        self.init(optional: name, SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Wrapped.self, in: valid, where: validate)
        }
    }

    /// Creates a key for a type that is converted by a bridge.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - value: The value while nothing is stored.
    ///   - valid: The valid values; `nil` for all. Others are neither stored nor returned.
    ///   - bridge: The conversions.
    ///   - validate: Returns whether one of the valid values is valid.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public convenience init(
        _ name: String,
        default value: Value,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) {
        self.init(describing: name, default: .fixed(value), SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Value.self, by: bridge, in: valid, where: validate)
        }
    }

    /// Creates a key whose default is computed each time it is needed, for a type that is converted by a bridge.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - makeDefault: Returns the value while nothing is stored. It may be called on any thread, and is not checked.
    ///   - valid: The valid values; `nil` for all. Others are neither stored nor returned.
    ///   - bridge: The conversions.
    ///   - validate: Returns whether one of the valid values is valid.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public convenience init(
        _ name: String,
        default makeDefault: @escaping @Sendable () -> Value,
        in valid: (any ValidValues<Value> & Sendable)? = nil,
        as bridge: some StoredValueBridge<Value>,
        validate: (@Sendable (Value) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) {
        self.init(describing: name, default: .computed(makeDefault), SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Value.self, by: bridge, in: valid, where: validate)
        }
    }

    /// Creates a key without a default, for a type that is converted by a bridge.
    ///
    /// - Parameters:
    ///   - name: The key: any non-empty string.
    ///   - valid: The valid values, apart from `nil`. Others are neither stored nor returned.
    ///   - bridge: The conversions of the type inside the optional.
    ///   - validate: Returns whether one of the valid values is valid. It is not called for `nil`.
    ///   - help: What the setting is for.
    ///   - traits: Further properties, such as ``SettingTraits/secret``.
    public convenience init<Wrapped: Sendable>(
        _ name: String,
        in valid: (any ValidValues<Wrapped> & Sendable)? = nil,
        as bridge: some StoredValueBridge<Wrapped>,
        validate: (@Sendable (Wrapped) throws -> Bool)? = nil,
        help: SettingHelp = "",
        traits: SettingTraits = []
    ) where Value == Wrapped? {
        self.init(optional: name, SettingMetadata(help: help, traits: traits)) {
            $0.values(of: Wrapped.self, by: bridge, in: valid, where: validate)
        }
    }
}
