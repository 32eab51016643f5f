// SPDX-License-Identifier: Apache-2.0

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
