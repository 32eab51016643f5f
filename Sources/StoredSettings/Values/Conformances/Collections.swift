// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Array: StoredValueConvertible where Element: StoredValueConvertible {
    /// Reads a list.
    ///
    /// One element that cannot be read fails the whole, and is named by its index.
    public init(storedValue: StoredValue) throws {
        self = try storedValue.elements { try Element(storedValue: $0) }
    }

    /// ``StoredValue/array(_:)``.
    public func storedValue() throws -> StoredValue {
        .array(try storedElements { try $0.storedValue() })
    }
}

extension ContiguousArray: StoredValueConvertible where Element: StoredValueConvertible {
    /// Reads a list.
    ///
    /// One element that cannot be read fails the whole, and is named by its index.
    public init(storedValue: StoredValue) throws {
        self = ContiguousArray(try storedValue.elements { try Element(storedValue: $0) })
    }

    /// ``StoredValue/array(_:)``.
    public func storedValue() throws -> StoredValue {
        .array(try storedElements { try $0.storedValue() })
    }
}

extension StoredValue {
    /// The elements of a list, each of them or an error that names the one that cannot be read.
    func elements<Element>(_ convert: (StoredValue) throws -> Element) throws -> [Element] {
        guard case .array(let values) = self else {
            throw SettingsError.typeMismatch(expected: "an array", found: self)
        }
        return try values.enumerated()
            .map { index, value in
                try SettingsError.at(.index(index)) { try convert(value) }
            }
    }
}

extension Sequence {
    /// The stored values of the elements, or an error that names the one that has none.
    func storedElements(_ convert: (Element) throws -> StoredValue) throws -> [StoredValue] {
        try enumerated()
            .map { index, element in
                try SettingsError.at(.index(index)) { try convert(element) }
            }
    }
}

extension Set: StoredValueConvertible where Element: StoredValueConvertible {
    /// Reads a list.
    ///
    /// One element that cannot be read fails the whole, and is named by its index.
    ///
    /// An element that is listed twice is in the set once.
    public init(storedValue: StoredValue) throws {
        self = Set(try storedValue.elements { try Element(storedValue: $0) })
    }

    /// ``StoredValue/array(_:)``, in an order that is the same for equal sets.
    public func storedValue() throws -> StoredValue {
        .array(try orderedElements { try $0.storedValue() })
    }
}

extension Set {
    /// The stored values of the elements, in an order that is the same for equal sets.
    func orderedElements(_ convert: (Element) throws -> StoredValue) throws -> [StoredValue] {
        try storedElements(convert).sorted { $0.isOrdered(before: $1) }
    }
}

extension Dictionary: StoredValueConvertible where Key: StoredValueConvertible, Value: StoredValueConvertible {
    /// Reads named values.
    ///
    /// One that cannot be read fails the whole, and is named by its key.
    public init(storedValue: StoredValue) throws {
        try self.init(storedValue) { try Value(storedValue: $0) }
    }

    /// ``StoredValue/dictionary(_:)`` under the texts of the keys.
    ///
    /// Strings are their own text; integers, numbers, Booleans, dates and bytes have one.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` for a key that has no text, or not one of its own.
    public func storedValue() throws -> StoredValue {
        try storedEntries { try $0.storedValue() }
    }
}

extension Dictionary where Key: StoredValueConvertible {
    /// Reads named values, each of them or an error that names the one that cannot be read.
    init(_ storedValue: StoredValue, _ convert: (StoredValue) throws -> Value) throws {
        guard case .dictionary(let entries) = storedValue else {
            throw SettingsError.typeMismatch(expected: "a dictionary", found: storedValue)
        }
        self.init(minimumCapacity: entries.count)
        let readInteger = IntegerKeys<Key>.read
        for (text, value) in entries {
            try SettingsError.at(.key(text)) {
                let key = try readInteger?(text) ?? Key(keyText: text)
                let earlier = updateValue(try convert(value), forKey: key)
                guard earlier == nil else {
                    throw SettingsError.invalidValue("two keys of the dictionary mean the same")
                }
            }
        }
    }

    /// The stored values under the texts of the keys, or an error that names the one that has none.
    func storedEntries(_ convert: (Value) throws -> StoredValue) throws -> StoredValue {
        var entries = [String: StoredValue](minimumCapacity: count)
        let integerText = IntegerKeys<Key>.text
        for (key, value) in self {
            let text = try integerText?(key) ?? key.keyText()
            try SettingsError.at(.key(text)) {
                guard entries.updateValue(try convert(value), forKey: text) == nil else {
                    throw SettingsError.unstorable("two keys of the dictionary have the same text")
                }
            }
        }
        return .dictionary(entries)
    }
}

extension StoredValueConvertible {
    /// Reads a key from its text: as a string if the type takes one, and else as the number or Boolean that it spells.
    fileprivate init(keyText text: String) throws {
        var candidates: [StoredValue] = [.string(text)]
        if let integer = Int128(text) { candidates.append(.integer(integer)) }
        if let bool = Bool(text) { candidates.append(.bool(bool)) }
        if let double = Double(storedText: text) { candidates.append(.double(double)) }

        var failures: [SettingsError] = []
        for candidate in candidates {
            do {
                self = try Self(storedValue: candidate)
                return
            } catch {
                failures.append(.wrapping(error, as: .invalidValue))
            }
        }
        // That 300 is outside the range says more than that a string is no integer.
        throw failures.first { $0.code != .typeMismatch } ?? failures[0]
    }

    /// The text of a key, which is read as the same key again.
    fileprivate func keyText() throws -> String {
        let storedValue = try storedValue()
        let text: String
        switch storedValue {
        case .string(let value): return value
        case .integer(let value): text = String(value)
        case .bool(let value): text = String(value)
        case .double(let value): text = value.storedText
        case .date(let value): text = DateText.text(for: value)
        case .data(let value): text = value.base64EncodedString()
        case .null, .array, .dictionary:
            throw SettingsError.unstorable(
                "a key of a dictionary needs a text, and \(storedValue.kind.phrase) has none"
            )
        }
        // A type that takes strings as well as numbers would read the text of its numbers as a string.
        guard try Self(keyText: text).storedValue() == storedValue else {
            throw SettingsError.unstorable("the text of a key does not read as the same key again")
        }
        return text
    }
}

// MARK: - Integers

/// The ways between the keys of a dictionary and their texts, if the keys are integers.
///
/// They give what the general way gives, which tries each text as a string first, and takes four times as long.
private enum IntegerKeys<Key> {
    /// Reads a key; `nil` for other keys.
    ///
    /// It returns `nil` for a text that is no integer of the type, about which the general way decides.
    static var read: ((String) -> Key?)? {
        (Key.self as? any IntegerKey.Type).flatMap { $0.read as? (String) -> Key? }
    }

    /// The text of a key; `nil` for other keys.
    static var text: ((Key) -> String)? {
        (Key.self as? any IntegerKey.Type).flatMap { $0.text as? (Key) -> String }
    }
}

/// An integer type that reads no strings, so that the text of an integer can only mean that integer.
private protocol IntegerKey: FixedWidthInteger {}

extension IntegerKey {
    fileprivate static var read: Any { { Self($0) } as (String) -> Self? }
    fileprivate static var text: Any { { String($0) } as (Self) -> String }
}

extension Int: IntegerKey {}
extension Int8: IntegerKey {}
extension Int16: IntegerKey {}
extension Int32: IntegerKey {}
extension Int64: IntegerKey {}
extension UInt: IntegerKey {}
extension UInt8: IntegerKey {}
extension UInt16: IntegerKey {}
extension UInt32: IntegerKey {}
extension UInt64: IntegerKey {}
