// SPDX-License-Identifier: Apache-2.0

extension Duration: StoredValueConvertible {
    /// Reads a number with a unit, such as `1.5s`, or a number of seconds.
    ///
    /// The units are `ns`, `us`, `ms`, `s`, `m`, `h` and `d`, for days of 24 hours. Nothing is rounded: a duration that is
    /// finer than an attosecond is refused.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .string(let text):
            self = try DurationText.duration(from: text)
        case .integer(let value):
            self = try DurationText.duration(secondsText: String(value))
        case .double(let value):
            self = try DurationText.duration(secondsText: value.description)
        default:
            throw SettingsError.typeMismatch(expected: "a duration like 1.5s", found: storedValue)
        }
    }

    /// The exact decimal seconds, such as `1.5s`.
    public func storedValue() -> StoredValue {
        .string(DurationText.text(for: self))
    }
}
