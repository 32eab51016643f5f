// SPDX-License-Identifier: Apache-2.0

/// What makes two definitions of one key and type the same setting, as far as that can be told.
///
/// Closures cannot be compared. So there is none for a setting with a validator, or with a default that is computed. It is
/// not generic, since whoever makes a setting asks for it: to find out about a generic type takes longer than the rest.
struct SettingFingerprint: Equatable {
    let conversion: ConversionFingerprint
    let rule: ValidatorFingerprint
    /// Those of the default, which whoever has this form keeps; `nil` if there are too many.
    let defaultBits: Fingerprint?

    init?<Value>(_ defaultValue: Value, _ conversion: ConversionFingerprint?, _ rule: ValidatorFingerprint?) {
        guard let conversion, let rule else { return nil }
        self.conversion = conversion
        self.rule = rule
        defaultBits = Fingerprint(bitsOf: defaultValue)
    }

    /// The form of a setting without a default, whose bits when there is nothing are not all defined.
    init?(absent conversion: ConversionFingerprint?, _ rule: ValidatorFingerprint?) {
        self.init((), conversion?.absent, rule)
    }

    /// Whether both stand for one setting if their defaults are the same.
    func isLike(_ other: SettingFingerprint) -> Bool {
        conversion == other.conversion && rule == other.rule
    }

    /// Whether the defaults are the same bit by bit: then they lead to the same objects, too.
    func hasDefault(of other: SettingFingerprint) -> Bool {
        defaultBits != nil && defaultBits == other.defaultBits
    }
}

/// How values are converted, in a form that can be compared: for all settings of one type.
struct ConversionFingerprint: Equatable {
    private var bridge: Fingerprint?
    private var isAbsent = false

    /// The type's own conversion.
    static let convertible = ConversionFingerprint()

    /// `nil` for a bridge that cannot be compared.
    static func bridged(by bridge: some Sendable) -> ConversionFingerprint? {
        Fingerprint(bridge).map { ConversionFingerprint(bridge: $0) }
    }

    /// The same for an optional whose `nil` is kept by storing nothing.
    var absent: ConversionFingerprint { ConversionFingerprint(bridge: bridge, isAbsent: true) }
}

/// Which values a setting takes, in a form that can be compared: for all settings of one type.
struct ValidatorFingerprint: Equatable {
    private var range: Fingerprint?

    typealias Validator<Value> = @Sendable (Value) throws -> Bool

    /// All values are taken, or those that a validator takes, which cannot be compared: then it is `nil`.
    static func anything<Value>(_ validate: Validator<Value>?) -> ValidatorFingerprint? {
        validate == nil ? ValidatorFingerprint() : nil
    }

    /// Those in a range are taken; `nil` for one that cannot be compared.
    static func within<Value>(_ range: some Sendable, _ validate: Validator<Value>?) -> ValidatorFingerprint? {
        validate == nil ? Fingerprint(range).map { ValidatorFingerprint(range: $0) } : nil
    }
}

/// The bits of a small value, and its type, to be compared.
///
/// Bits between its parts may differ though the value does not: then two count as different which are not.
struct Fingerprint: Equatable {
    private let type: ObjectIdentifier
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// `nil` for a type that is larger, or not copied bit by bit.
    init?<Value>(_ value: Value) {
        guard _isPOD(Value.self) else { return nil }
        self.init(bitsOf: value)
    }

    /// The same for any type: what its bits lead to has to be kept for as long as this.
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
