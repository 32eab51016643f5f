// SPDX-License-Identifier: Apache-2.0

/// What makes two declarations of one key and type the same setting, as far as it can be compared.
///
/// Closures cannot be compared, so a setting with a validator or a computed default has no fingerprint. The type is not
/// generic, because every declaration creates one, and a lookup of generic metadata takes longer than the rest.
struct SettingFingerprint: Equatable {
    let conversion: ConversionFingerprint
    let validator: ValidatorFingerprint
    /// The bits of the default, which the owner of this fingerprint keeps alive; `nil` if there are too many.
    let defaultBits: Fingerprint?

    init?<Value>(default value: Value, _ conversion: ConversionFingerprint?, _ validator: ValidatorFingerprint?) {
        guard let conversion, let validator else { return nil }
        self.conversion = conversion
        self.validator = validator
        defaultBits = Fingerprint(bitsOf: value)
    }

    /// Creates the fingerprint of an optional setting without a default.
    ///
    /// The bits of `nil` are not all defined, so they are not part of it.
    init?(optional wrapped: ConversionFingerprint?, _ validator: ValidatorFingerprint?) {
        self.init(default: (), wrapped?.optional, validator)
    }

    /// Whether both stand for one setting if their defaults are the same.
    func isSame(exceptDefault other: SettingFingerprint) -> Bool {
        conversion == other.conversion && validator == other.validator
    }

    /// Whether the defaults have the same bits.
    ///
    /// Then they refer to the same objects, too.
    func hasDefault(of other: SettingFingerprint) -> Bool {
        defaultBits != nil && defaultBits == other.defaultBits
    }
}

/// A comparable description of how the values of a type are converted.
struct ConversionFingerprint: Equatable {
    private var bridge: Fingerprint?
    private var isOptional = false

    /// The type's own conversion.
    static let convertible = ConversionFingerprint()

    /// The conversion by a bridge; `nil` for a bridge that cannot be compared.
    static func bridged(by bridge: some Sendable) -> ConversionFingerprint? {
        Fingerprint(bridge).map { ConversionFingerprint(bridge: $0) }
    }

    /// Whether the type's own conversion is used, not a bridge.
    var isOwn: Bool { bridge == nil }

    /// The same conversion for an optional whose `nil` means that nothing is stored.
    var optional: ConversionFingerprint { ConversionFingerprint(bridge: bridge, isOptional: true) }
}

/// A comparable description of the values that a setting accepts.
struct ValidatorFingerprint: Equatable {
    /// `nil` for every value.
    private let values: Fingerprint?

    /// The valid values, or every value; `nil` for those that cannot be compared.
    static func values(_ values: (any ValidValues)?) -> ValidatorFingerprint? {
        guard let values else { return ValidatorFingerprint(values: nil) }
        return Fingerprint(values).map { ValidatorFingerprint(values: $0) }
    }
}

/// The type and the bits of a small value.
///
/// Padding may differ between equal values. Then the two count as different, which costs sharing but is never wrong.
struct Fingerprint: Equatable {
    private let type: ObjectIdentifier
    private var low: UInt64 = 0
    private var high: UInt64 = 0

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
