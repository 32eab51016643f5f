// SPDX-License-Identifier: Apache-2.0

extension Double: StoredValueConvertible {
    /// Reads a number, or one of the texts `nan`, `inf` and `-inf` that a file holds for what JSON has no numbers for.
    ///
    /// An integer becomes the nearest number.
    public init(storedValue: StoredValue) throws {
        switch storedValue {
        case .double(let value):
            self = value
        case .integer(let value):
            self = Double(value)
        case .string(let text):
            guard let value = Double(nonFiniteText: text) else { fallthrough }
            self = value
        default:
            throw SettingsError.typeMismatch(expected: "a number", found: storedValue)
        }
    }

    /// ``StoredValue/double(_:)``.
    public func storedValue() -> StoredValue {
        .double(self)
    }
}

extension Float: StoredValueConvertible {
    /// Reads a number as a `Double` does, and rounds it to the nearest `Float`.
    public init(storedValue: StoredValue) throws {
        let wide = try Double(storedValue: storedValue)
        let value = Float(wide)
        guard value.isFinite || !wide.isFinite else {
            throw SettingsError.invalidValue("the number is outside ±\(Float.greatestFiniteMagnitude)")
        }
        self = value
    }

    /// ``StoredValue/double(_:)``, so chosen that a file reads 0.1 for 0.1.
    public func storedValue() -> StoredValue {
        // The plain conversion of 0.1 would be written as 0.10000000149011612.
        if let shortest = Double(description), Float(shortest).bitPattern == bitPattern { return .double(shortest) }
        return .double(Double(self))
    }
}
