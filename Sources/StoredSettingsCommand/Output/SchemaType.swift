// SPDX-License-Identifier: Apache-2.0

import StoredSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A type whose stored form in JSON a schema can describe.
protocol SchemaType {
    /// The schema of the stored form in JSON, as draft-07 of JSON Schema defines it.
    static var schema: [String: StoredValue] { get }
}

enum Schemas {
    /// Returns the schema of a type.
    ///
    /// - Parameters:
    ///   - type: The type; `nil` if it is unknown.
    ///   - example: The stored form of one of its values, from which the kind of an unknown type follows; `nil` for none.
    /// - Returns: The schema; empty where nothing is known.
    static func schema(of type: Any.Type?, example: StoredValue?) -> [String: StoredValue] {
        guard let type else { return schema(of: example) }
        if let secret = type as? any SecretType.Type { return schema(of: secret.revealedType, example: example) }
        if let values = Choices.storedValues(of: type) { return ["enum": .array(values)] }
        if let known = (type as? any SchemaType.Type)?.schema { return known }
        if let rawType = (type as? any RawRepresentable.Type)?.rawType { return schema(of: rawType, example: example) }
        return schema(of: example)
    }

    /// Whether each value of a type has only one stored form in JSON, so that a list of forms is a list of values.
    ///
    /// A date, for example, can be written in several time zones.
    static func hasOneForm(_ type: Any.Type?) -> Bool {
        guard let type else { return false }
        if let optional = type as? any OptionalType.Type { return hasOneForm(optional.wrappedType) }
        if type is String.Type || type is Bool.Type || type is any FixedWidthInteger.Type { return true }
        if Choices.storedValues(of: type) != nil { return true }
        return hasOneForm((type as? any RawRepresentable.Type)?.rawType)
    }

    /// The schema of all values of the same kind as an example.
    private static func schema(of example: StoredValue?) -> [String: StoredValue] {
        switch example?.storedAsJSON {
        case .bool: ["type": "boolean"]
        case .integer, .double: ["type": "number"]
        case .string: ["type": "string"]
        case .array: ["type": "array"]
        case .dictionary: ["type": "object"]
        case .date, .data, .null, nil: [:]
        }
    }

    fileprivate static func array(of type: Any.Type) -> [String: StoredValue] {
        ["type": "array", "items": .dictionary(schema(of: type, example: nil))]
    }

    fileprivate static func range(of type: Any.Type) -> [String: StoredValue] {
        array(of: type).merging(["minItems": 2, "maxItems": 2]) { $1 }
    }
}

extension RawRepresentable {
    fileprivate static var rawType: Any.Type { RawValue.self }
}

extension FixedWidthInteger {
    fileprivate static var integerSchema: [String: StoredValue] {
        // Wider limits have no exact form in most readers of JSON, so they are omitted.
        guard bitWidth <= 32 else { return isSigned ? ["type": "integer"] : ["type": "integer", "minimum": 0] }
        return [
            "type": "integer", "minimum": .integer(Int128(truncatingIfNeeded: min)),
            "maximum": .integer(Int128(truncatingIfNeeded: max)),
        ]
    }

    /// An integer, or a string of digits.
    fileprivate static var wideSchema: [String: StoredValue] {
        ["anyOf": [.dictionary(integerSchema), ["type": "string", "pattern": "^[+-]?[0-9]+$"]]]
    }
}

extension Int: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension Int8: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension Int16: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension Int32: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension Int64: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension Int128: SchemaType { static var schema: [String: StoredValue] { wideSchema } }
extension UInt: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension UInt8: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension UInt16: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension UInt32: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension UInt64: SchemaType { static var schema: [String: StoredValue] { integerSchema } }
extension UInt128: SchemaType { static var schema: [String: StoredValue] { wideSchema } }

extension BinaryFloatingPoint {
    /// A number, or the string of a value that JSON has no number for.
    fileprivate static var numberSchema: [String: StoredValue] {
        ["anyOf": [["type": "number"], ["type": "string", "pattern": "^[+-]?([Ii]nf(inity)?|[Nn]a[Nn])"]]]
    }
}

extension Double: SchemaType { static var schema: [String: StoredValue] { numberSchema } }
extension Float: SchemaType { static var schema: [String: StoredValue] { numberSchema } }

extension Bool: SchemaType { static var schema: [String: StoredValue] { ["type": "boolean"] } }
extension String: SchemaType { static var schema: [String: StoredValue] { ["type": "string"] } }

extension Date: SchemaType {
    static var schema: [String: StoredValue] { ["type": "string", "pattern": "^[+-]?[0-9]+-[0-9]{2}-[0-9]{2}"] }
}

extension Data: SchemaType {
    static var schema: [String: StoredValue] {
        ["type": "string", "pattern": "^[A-Za-z0-9+/]*={0,2}$", "contentEncoding": "base64"]
    }
}

extension URL: SchemaType {
    static var schema: [String: StoredValue] {
        ["anyOf": [["type": "string", "minLength": 1], ["type": "object", "required": ["base", "relative"]]]]
    }
}

extension UUID: SchemaType {
    static var schema: [String: StoredValue] {
        let digits = "[0-9A-Fa-f]"
        return [
            "type": "string",
            "pattern": .string("^\(digits){8}-(\(digits){4}-){3}\(digits){12}$"),
        ]
    }
}

extension Decimal: SchemaType {
    static var schema: [String: StoredValue] {
        ["anyOf": [["type": "number"], ["type": "string", "pattern": "^([+-]?[0-9.]+([eE][+-]?[0-9]+)?|NaN|nan)$"]]]
    }
}

extension Duration: SchemaType {
    static var schema: [String: StoredValue] {
        ["anyOf": [["type": "number"], ["type": "string", "pattern": "^[+-]?[0-9.]"]]]
    }
}

extension StoredValue: SchemaType { static var schema: [String: StoredValue] { [:] } }

extension Optional: SchemaType {
    static var schema: [String: StoredValue] {
        ["anyOf": [.dictionary(Schemas.schema(of: Wrapped.self, example: nil)), ["type": "null"]]]
    }
}

extension Array: SchemaType { static var schema: [String: StoredValue] { Schemas.array(of: Element.self) } }
extension ContiguousArray: SchemaType { static var schema: [String: StoredValue] { Schemas.array(of: Element.self) } }
extension Set: SchemaType { static var schema: [String: StoredValue] { Schemas.array(of: Element.self) } }
extension Range: SchemaType { static var schema: [String: StoredValue] { Schemas.range(of: Bound.self) } }
extension ClosedRange: SchemaType { static var schema: [String: StoredValue] { Schemas.range(of: Bound.self) } }

extension Dictionary: SchemaType {
    static var schema: [String: StoredValue] {
        ["type": "object", "additionalProperties": .dictionary(Schemas.schema(of: Value.self, example: nil))]
    }
}
