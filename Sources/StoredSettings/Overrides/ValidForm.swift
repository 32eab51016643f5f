// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A command's errors have fixes for a person at a shell".

/// The form of the values that a setting without listed values accepts, for the fix of an error.
struct ValidForm {
    /// The type of the values, without an optional around it; `nil` if its values have another stored form than its own.
    private let type: Any.Type?
    /// The stored form of the default; `nil` when there is none.
    private let example: StoredValue?

    init(of type: Any.Type?, example: StoredValue?) {
        let type = (type as? any SecretType.Type)?.revealedType ?? type
        self.type = (type as? any OptionalType.Type)?.wrappedType ?? type
        self.example = example
    }

    /// Returns the form as a phrase.
    ///
    /// - Parameters:
    ///   - range: The valid values, such as `in 1...5`; `nil` if there is no range.
    ///   - isDictionary: Whether an object has any names.
    ///   - inJSON: Whether the value is in a file of JSON, which has no pairs and no lists with commas alone.
    /// - Returns: The phrase, such as `an integer in 1...5`.
    func text(in range: String?, isDictionary: Bool, inJSON: Bool) -> String {
        let accepted = range ?? "that the setting accepts"
        return switch Self.kind(of: type) ?? example?.kind {
        case .bool: "true or false"
        case .integer: "an integer \(accepted)"
        case .double: "a number \(accepted)"
        case .array: arrayText(inJSON: inJSON)
        case .dictionary where isDictionary: "a JSON object"
        case .dictionary where inJSON: "a JSON object that the setting accepts"
        case .dictionary: "a JSON object that the setting accepts, or pairs such as name=value"
        default: "a value \(accepted)"
        }
    }

    private static func kind(of type: Any.Type?) -> StoredValue.Kind? {
        switch type {
        case is Bool.Type: .bool
        case is any FixedWidthInteger.Type: .integer
        case is any BinaryFloatingPoint.Type: .double
        case is String.Type: .string
        case is any ListType.Type: .array
        default: nil
        }
    }

    private func arrayText(inJSON: Bool) -> String {
        let elementType = (type as? any ListType.Type)?.elementType
        let elements: String
        // A list with commas; `nil` if the elements have no such form.
        let list: String?
        if let choices = elementType.flatMap(Choices.texts) {
            elements = " of values out of \(choices.joined(separator: ", "))"
            list = "a list\(elements), with commas between them"
        } else {
            (elements, list) =
                switch Self.kind(of: elementType) {
                case .bool: (" of Booleans", "a list of Booleans, such as true,false")
                case .integer: (" of integers", "a list of integers, such as 1,2")
                case .double: (" of numbers", "a list of numbers, such as 0.5,2")
                case .string: (" of strings", "a list such as a,b")
                case .array: (" that the setting accepts", nil)
                default: (" that the setting accepts", "a list such as a,b")
                }
        }
        guard !inJSON, let list else { return "a JSON array\(elements)" }
        return "\(list), or a JSON array"
    }
}

/// A type whose values are stored as arrays of values of one type.
private protocol ListType {
    static var elementType: Any.Type { get }
}

extension Array: ListType { fileprivate static var elementType: Any.Type { Element.self } }
extension ContiguousArray: ListType { fileprivate static var elementType: Any.Type { Element.self } }
extension Set: ListType { fileprivate static var elementType: Any.Type { Element.self } }
extension Range: ListType { fileprivate static var elementType: Any.Type { Bound.self } }
extension ClosedRange: ListType { fileprivate static var elementType: Any.Type { Bound.self } }

/// The values of a type that has a list of them.
package enum Choices {
    /// The texts of all values of a type, or of the type inside an optional; `nil` for a type without a list of its values.
    static func texts(of type: Any.Type) -> [String]? {
        if let optional = type as? any OptionalType.Type { return texts(of: optional.wrappedType) }
        return storedValues(of: type)?.map(\.text)
    }

    /// The stored forms of all values of a type; `nil` for a type without a list of its values.
    package static func storedValues(of type: Any.Type) -> [StoredValue]? {
        (type as? any (CaseIterable & StoredValueConvertible).Type)?.storedValues
    }
}

package protocol OptionalType {
    static var wrappedType: Any.Type { get }
}

extension Optional: OptionalType {
    package static var wrappedType: Any.Type { Wrapped.self }
}

extension CaseIterable where Self: StoredValueConvertible {
    /// The stored forms of all cases; `nil` when a case cannot be stored.
    fileprivate static var storedValues: [StoredValue]? {
        do {
            return try allCases.map { try $0.storedValue() }
        } catch {
            return nil
        }
    }
}

extension StoredValue {
    /// The value as it is written for a flag: a string is itself, other values are JSON.
    package var text: String {
        if case .string(let text) = storedAsJSON { text } else { jsonText }
    }

    /// The value as JSON on one line; its description if it is nested too deeply.
    package var jsonText: String {
        do {
            return String(decoding: try JSONWriter.compactText(of: self), as: UTF8.self)
        } catch {
            return description
        }
    }
}
