// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Values-and-JSON.md, "Dictionary keys become strings".

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Array: StoredValueConvertible where Element: StoredValueConvertible {
    /// Reads an array.
    ///
    /// If an element cannot be read, the error names its index.
    public init(storedValue: StoredValue) throws {
        self = try storedValue.elements { try Element(storedValue: $0) }
    }

    /// Returns ``StoredValue/array(_:)``.
    public func storedValue() throws -> StoredValue {
        .array(try storedElements { try $0.storedValue() })
    }
}

extension ContiguousArray: StoredCollection, StoredRepresentable, StoredValueConvertible
where Element: StoredValueConvertible {}

extension StoredValue {
    /// Returns the converted elements of an array; an error of the conversion names the element's index.
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
    /// Returns the stored values of the elements; an error of the conversion names the element's index.
    func storedElements(_ convert: (Element) throws -> StoredValue) throws -> [StoredValue] {
        try enumerated()
            .map { index, element in
                try SettingsError.at(.index(index)) { try convert(element) }
            }
    }
}

extension Set: StoredValueConvertible where Element: StoredValueConvertible {
    /// Reads a set from an array, which may contain duplicates.
    ///
    /// If an element cannot be read, the error names its index.
    public init(storedValue: StoredValue) throws {
        self = Set(try storedValue.elements { try Element(storedValue: $0) })
    }

    /// Returns ``StoredValue/array(_:)``, in an order that is the same for equal sets.
    public func storedValue() throws -> StoredValue {
        .array(try orderedElements { try $0.storedValue() })
    }
}

extension Set {
    /// Returns the stored values of the elements, in an order that is the same for equal sets.
    func orderedElements(_ convert: (Element) throws -> StoredValue) throws -> [StoredValue] {
        try storedElements(convert).sorted { $0.isOrdered(before: $1) }
    }
}

extension Dictionary: StoredValueConvertible where Key: StoredValueConvertible, Value: StoredValueConvertible {
    /// Reads a dictionary.
    ///
    /// If an entry cannot be read, the error names its key.
    public init(storedValue: StoredValue) throws {
        try self.init(storedValue) { try Value(storedValue: $0) }
    }

    /// Returns ``StoredValue/dictionary(_:)``, with the keys converted to strings.
    ///
    /// Keys that are stored as strings, integers, numbers, Booleans, dates or bytes can be converted.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/unstorable`` when a key cannot be converted to a unique
    ///   string.
    public func storedValue() throws -> StoredValue {
        try storedEntries { try $0.storedValue() }
    }
}

extension Dictionary where Key: StoredValueConvertible {
    /// Creates a dictionary with a conversion for the values; an error of the conversion names the key.
    init(_ storedValue: StoredValue, _ convert: (StoredValue) throws -> Value) throws {
        guard case .dictionary(let entries) = storedValue else {
            throw SettingsError.typeMismatch(expected: "a dictionary", found: storedValue)
        }
        self.init(minimumCapacity: entries.count)
        for (text, value) in entries {
            try SettingsError.at(.key(text)) {
                let key = try Key(keyText: text)
                let earlier = updateValue(try convert(value), forKey: key)
                guard earlier == nil else {
                    throw SettingsError.invalidValue("two names in the dictionary convert to the same key")
                }
            }
        }
    }

    /// Returns the stored values with the keys converted to strings; an error of the conversion names the key.
    func storedEntries(_ convert: (Value) throws -> StoredValue) throws -> StoredValue {
        var entries = [String: StoredValue](minimumCapacity: count)
        for (key, value) in self {
            let text = try key.keyText()
            try SettingsError.at(.key(text)) {
                guard entries.updateValue(try convert(value), forKey: text) == nil else {
                    throw SettingsError.unstorable("two keys of the dictionary convert to the same string")
                }
            }
        }
        return .dictionary(entries)
    }
}

extension StoredValueConvertible {
    /// Creates a key from a string if the type accepts one, and otherwise from the integer, Boolean or number in it.
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
        // An out-of-range error is more helpful than the error that a string is not an integer.
        throw failures.first { $0.code != .typeMismatch } ?? failures[0]
    }

    /// Returns the string for a key, from which the same key can be created.
    fileprivate func keyText() throws -> String {
        let storedValue = try storedValue()
        if case .string(let text) = storedValue { return text }
        guard ![.null, .array, .dictionary].contains(storedValue.kind) else {
            throw SettingsError.unstorable(
                "a dictionary key must convert to a string, and \(storedValue.kind.phrase) does not"
            )
        }
        let text = storedValue.text
        // A type that accepts strings as well as numbers would read its numbers as strings.
        guard try Self(keyText: text).storedValue() == storedValue else {
            throw SettingsError.unstorable("the string for a dictionary key does not convert back to the same key")
        }
        return text
    }
}
