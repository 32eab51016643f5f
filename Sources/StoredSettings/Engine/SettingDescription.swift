// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "Settings with one definition are shared".
// See Documentation/Decisions/Values-and-JSON.md, "A Codable value is decoded over its default".

/// The description of a setting by its declaration: how its values are converted, and which of them are valid.
///
/// A declaration describes its setting once, in a closure that completes a description:
///
/// ```
/// Setting(name, default: value, suite: suite, metadata) {
///     $0.values(of: Value.self, by: bridge, in: valid, where: validate)
/// }
/// ```
///
/// The closure runs for the fingerprint alone, which finds a setting that exists already. For a new setting it runs once
/// more, with the functions, and the result is stored in the ``SettingKey``. So fingerprint and functions cannot differ,
/// and the declaration of a known setting allocates nothing.
///
/// It is not generic, and its methods are: a generic type, and its methods, need the type's metadata at run time, and that
/// lookup takes as long as the rest of a declaration.
struct SettingDescription {
    /// `nil` for a conversion or a validator that cannot be compared.
    private(set) var fingerprint: SettingFingerprint?
    /// ``SettingFunctions`` of the setting's type; `nil` in a description that has only the fingerprint.
    private var functions: AnyObject?
    private let hasFunctions: Bool

    init(_ describe: (inout SettingDescription) -> Void, hasFunctions: Bool) {
        self.hasFunctions = hasFunctions
        describe(&self)
    }

    /// Describes valid values that the type's own conformance converts and a validator accepts.
    mutating func values<Value: StoredValueConvertible>(
        of type: Value.Type,
        in valid: (any ValidValues<Value> & Sendable)?,
        where validate: (@Sendable (Value) throws -> Bool)?
    ) {
        fingerprint = validate == nil ? SettingFingerprint(Fingerprint(), valid) : nil
        if hasFunctions { functions = SettingFunctions(.convertible(), in: valid, where: validate) }
    }

    /// Describes valid values that a bridge converts and a validator accepts.
    mutating func values<Value: Sendable>(
        of type: Value.Type,
        by bridge: some StoredValueBridge<Value>,
        in valid: (any ValidValues<Value> & Sendable)?,
        where validate: (@Sendable (Value) throws -> Bool)?
    ) {
        fingerprint = validate == nil ? SettingFingerprint(Fingerprint(bridge), valid) : nil
        if hasFunctions { functions = SettingFunctions(.bridged(by: bridge), in: valid, where: validate) }
    }

    func functions<Value>(of type: Value.Type) -> SettingFunctions<Value> {
        guard let functions = functions as? SettingFunctions<Value> else {
            preconditionFailure("Every description in this library calls values(of:) with the type of its setting.")
        }
        return functions
    }
}

/// The conversion and the validator of a setting.
///
/// An object, so that a description of no type can hold it.
final class SettingFunctions<Value: Sendable>: Sendable {
    let conversion: SettingConversion<Value>
    let validator: Validator<Value>

    init(_ conversion: SettingConversion<Value>, _ validator: Validator<Value>) {
        (self.conversion, self.validator) = (conversion, validator)
    }

    convenience init(
        _ conversion: SettingConversion<Value>,
        in valid: (any ValidValues<Value> & Sendable)?,
        where validate: (@Sendable (Value) throws -> Bool)?
    ) {
        self.init(conversion, Validator(in: valid, conversion, validate))
    }

    /// The functions of an optional setting whose `nil` means that nothing is stored.
    var optional: SettingFunctions<Value?> { SettingFunctions<Value?>(conversion.optional, validator.optional) }
}

/// The conversions between a setting's type and its stored values.
struct SettingConversion<Value: Sendable>: Sendable {
    let decode: @Sendable (StoredValue) throws -> Value
    /// Returns `nil` for a value that means that nothing is stored.
    let encode: @Sendable (Value) throws -> StoredValue?
    /// The type that converts: the values' own type, or the bridge.
    let converter: Any.Type
    /// Whether the values have the stored form that their type defines.
    let isOwn: Bool

    /// Returns a stored value as a person would write it: `10ms` for a duration that is stored as `0.01s`.
    func written(_ stored: StoredValue) -> StoredValue {
        guard converter == Duration.self || converter == Duration?.self, case .string(let text) = stored else {
            return stored
        }
        do {
            return .string(DurationText.written(try DurationText.duration(from: text)))
        } catch {
            // A text that is no duration is shown as it is.
            return stored
        }
    }

    static func bridged<Bridge: StoredValueBridge<Value>>(by bridge: Bridge) -> Self {
        SettingConversion(
            decode: { try bridge.value(from: $0) },
            encode: { try bridge.storedValue(from: $0) },
            converter: Bridge.self,
            isOwn: false
        )
    }

    /// The conversion of an optional whose `nil` means that nothing is stored.
    fileprivate var optional: SettingConversion<Value?> {
        SettingConversion<Value?>(
            decode: { try decode($0) },
            encode: { try $0.flatMap(encode) },
            converter: converter,
            isOwn: isOwn
        )
    }
}

extension SettingConversion where Value: StoredValueConvertible {
    static func convertible() -> Self {
        SettingConversion(
            decode: { try Value(storedValue: $0) },
            encode: { try $0.storedValue() },
            converter: Value.self,
            isOwn: true
        )
    }
}

// MARK: - Structures

extension SettingConversion {
    /// The same conversion, which rejects structures with members that are not valid.
    func checking(_ members: [SettingTraits.Member]) -> SettingConversion {
        guard !members.isEmpty else { return self }
        return SettingConversion(
            decode: { stored in
                // First, so that the type has asked for its members.
                let value = try decode(stored)
                try members.check(stored)
                return value
            },
            encode: encode,
            converter: converter,
            isOwn: isOwn
        )
    }

    /// Decodes a stored value, with the members that it lacks from the value beneath it.
    ///
    /// A lower member never hides one of the stored value that the type would have read without it, such as one with an older name.
    /// The lower value is made only if a member is missing.
    ///
    /// - Throws: The error of the stored value.
    func decode(_ stored: StoredValue, over makeLower: () -> Value) throws -> Value {
        guard case .dictionary = stored else { return try decode(stored) }
        let (plain, isAnyMissing) = DecodingTrace.run(stored, decode)
        var isUnusable = false
        if case .failure = plain { isUnusable = true }
        guard isAnyMissing || isUnusable, let lower = encodedOrNil(makeLower()) else { return try plain.get() }
        let (completed, parts) = complete(stored, from: lower)
        let found = parts.found.filter { stored.part(at: $0) != nil }
        var structures = parts.structures
        while true {
            let merged = stored.merged(over: lower, structures)
            let (value, parts) = complete(merged, from: lower)
            // Members that were added can be structures, which lack members as well.
            structures.formUnion(parts.structures)
            guard stored.merged(over: lower, structures) == merged else { continue }
            guard case .success = value else {
                _ = try completed.get()
                // The members of both fit to each other as little as those that a validator rejects.
                return try value.get()
            }
            return try parts.found.isSuperset(of: found) ? value.get() : completed.get()
        }
    }

    /// Decodes a stored value with those members of a lower one without which the type cannot decode it.
    ///
    /// An error in a member that was added is replaced by the first error, which is about the stored value.
    private func complete(
        _ stored: StoredValue,
        from lower: StoredValue
    ) -> (result: Result<Value, any Error>, parts: DecodingTrace.Parts) {
        let first = DecodingTrace.parts(stored, decode)
        var (latest, completed, added) = (first, stored, [[SettingsError.PathComponent]]())
        while case .failure(let error) = latest.result {
            let error = SettingsError.wrapping(error, as: .invalidValue)
            if added.contains(where: error.path.starts) { return first }
            guard let path = error.missingMember, completed.add(memberAt: path[...], of: lower) else { break }
            added.append(path.map(SettingsError.PathComponent.key))
            latest = DecodingTrace.parts(completed, decode)
        }
        return latest
    }

    /// Returns a stored value without the member that an error is about; `nil` if the error is about no member.
    func removing(
        _ path: [SettingsError.PathComponent],
        from stored: StoredValue,
        over makeLower: () -> Value
    ) -> StoredValue? {
        guard !path.isEmpty, let lower = encodedOrNil(makeLower()) else { return nil }
        let structures = complete(stored, from: lower).parts.structures
        var names: [String] = []
        for component in path {
            guard case .key(let name) = component, structures.contains(names) else { break }
            names.append(name)
        }
        return names.isEmpty ? nil : stored.removing(names[...])
    }

    /// What the type of a stored value has asked it for.
    func parts(of stored: StoredValue) -> DecodingTrace.Parts { DecodingTrace.parts(stored, decode).parts }

    /// The structures in a stored value: the parts whose members their types know by name.
    func structures(of stored: StoredValue) -> Set<[String]> {
        guard case .dictionary = stored else { return [] }
        return parts(of: stored).structures
    }

    /// The stored form of a value; `nil` when there is none.
    ///
    /// A default need not be storable.
    func encodedOrNil(_ value: Value) -> StoredValue? {
        do {
            return try encode(value)
        } catch {
            return nil
        }
    }
}

extension StoredValue {
    /// Adds a member of another value to this one.
    ///
    /// - Returns: Whether the member was added: the other value has one, and this value had none.
    fileprivate mutating func add(memberAt path: ArraySlice<String>, of other: StoredValue) -> Bool {
        guard let name = path.first, let member = other[name], case .dictionary(var entries) = self else {
            return false
        }
        let rest = path.dropFirst()
        if rest.isEmpty {
            guard entries[name] == nil else { return false }
            entries[name] = member
        } else {
            guard entries[name]?.add(memberAt: rest, of: member) == true else { return false }
        }
        self = .dictionary(entries)
        return true
    }
}

// MARK: - Fingerprints

/// What makes two declarations of one key and type the same setting, as far as it can be compared.
///
/// Closures cannot be compared, so a setting with a validator or a computed default has no fingerprint. The type is not
/// generic, because every declaration creates one, and a lookup of generic metadata takes longer than the rest.
struct SettingFingerprint {
    private let conversion: Fingerprint
    private let valid: Fingerprint
    /// Whether `nil` means that nothing is stored.
    private var isOptional = false
    /// The bits of the default, which the owner of this fingerprint keeps alive; `nil` if there are too many.
    private var defaultBits: Fingerprint?

    /// Returns `nil` for a bridge or for valid values that cannot be compared.
    init?(_ conversion: Fingerprint?, _ valid: (any ValidValues)?) {
        let valid: Fingerprint? = if let valid { Fingerprint(valid) } else { Fingerprint() }
        guard let conversion, let valid else { return nil }
        (self.conversion, self.valid) = (conversion, valid)
    }

    func with<Value>(default value: Value) -> SettingFingerprint {
        var fingerprint = self
        fingerprint.defaultBits = Fingerprint(bitsOf: value)
        return fingerprint
    }

    /// The fingerprint of an optional setting without a default.
    ///
    /// The bits of `nil` are not all defined, so they are not part of it.
    var optional: SettingFingerprint {
        var fingerprint = with(default: ())
        fingerprint.isOptional = true
        return fingerprint
    }

    /// Whether both stand for one setting if their defaults are the same.
    func isSame(exceptDefault other: SettingFingerprint) -> Bool {
        conversion == other.conversion && valid == other.valid && isOptional == other.isOptional
    }

    /// Whether the defaults have the same bits.
    ///
    /// Then they refer to the same objects, too.
    func hasDefault(of other: SettingFingerprint) -> Bool {
        defaultBits != nil && defaultBits == other.defaultBits
    }
}

/// The type and the bits of a small value.
///
/// Padding may differ between equal values. Then the two count as different, which costs sharing but is never wrong.
struct Fingerprint: Equatable {
    private let type: ObjectIdentifier
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// Stands for the type's own conversion, and for all values.
    init() {
        type = ObjectIdentifier(Void.self)
    }

    /// Returns `nil` for a type that is larger than 16 bytes or is not copied bit by bit.
    init?<Value>(_ value: Value) {
        guard _isPOD(Value.self) else { return nil }
        self.init(bitsOf: value)
    }

    /// Accepts any type of at most 16 bytes.
    ///
    /// The caller keeps the objects alive that the bits refer to.
    init?<Value>(bitsOf value: Value) {
        guard MemoryLayout<Value>.size <= 2 * MemoryLayout<UInt64>.size else { return nil }
        type = ObjectIdentifier(Value.self)
        var words = (low, high)
        withUnsafeMutableBytes(of: &words) { words in
            withUnsafeBytes(of: value) { words.copyMemory(from: $0) }
        }
        (low, high) = words
    }
}
