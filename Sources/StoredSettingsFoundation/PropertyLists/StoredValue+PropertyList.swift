// SPDX-License-Identifier: Apache-2.0

import Foundation
import StoredSettings

extension StoredValue {
    /// Reads an object of a property list.
    ///
    /// - Returns: `nil` for an object that is not part of a property list, or is nested deeper than a store allows.
    init?(propertyList object: Any) {
        self.init(propertyList: object, levels: Self.maximumDepth)
    }

    private init?(propertyList object: Any, levels: Int) {
        if let value = Self.leaf(object) {
            self = value
        } else if levels == 0 {
            return nil
        } else if let elements = object as? [Any?] {
            let values = elements.map { $0.flatMap { StoredValue(propertyList: $0, levels: levels - 1) } }
            guard !values.contains(nil) else { return nil }
            self = .array(values.compactMap { $0 })
        } else if let entries = object as? [AnyHashable: Any?] {
            var values: [String: StoredValue] = [:]
            for (key, entry) in entries {
                guard let name = key.base as? String, let entry,
                    let value = StoredValue(propertyList: entry, levels: levels - 1)
                else { return nil }
                values[name] = value
            }
            self = .dictionary(values)
        } else {
            return nil
        }
    }

    private static func leaf(_ object: Any) -> StoredValue? {
        if let value = number(object) { return value }
        switch object {
        case let value as String: return .string(value)
        case let value as Date: return .date(value)
        case let value as Data: return .data(value)
        default: return nil
        }
    }

    #if canImport(ObjectiveC)
    /// The number with its stored type.
    ///
    /// A cast would not do, because it converts `true` to 1.
    private static func number(_ object: Any) -> StoredValue? {
        guard let number = object as? NSNumber else { return nil }
        if CFGetTypeID(number) == CFBooleanGetTypeID() { return .bool(number.boolValue) }
        if CFNumberIsFloatType(number) { return .double(number.doubleValue) }
        let isUnsigned = number.objCType.pointee == 0x51  // Q
        return .integer(isUnsigned ? Int128(number.uint64Value) : Int128(number.int64Value))
    }
    #else
    /// The number with its stored type: on this platform, `UserDefaults` returns the Swift type that fits.
    private static func number(_ object: Any) -> StoredValue? {
        switch object {
        case let value as Bool: .bool(value)
        case let value as Double: .double(value)
        case let value as Float: .double(Double(value))
        case let value as Int: .integer(Int128(value))
        case let value as any BinaryInteger: Int128(exactly: value).map { .integer($0) }
        case let value as CGFloat: .double(Double(value))
        default: nil
        }
    }
    #endif

    /// The value as an object of a property list.
    ///
    /// - Returns: `nil` for a value that a property list cannot hold; ``native`` contains no such value.
    var propertyList: Any? {
        switch self {
        case .null: return nil
        case .bool(let value): return value
        case .integer(let value): return Int(exactly: value) ?? UInt64(exactly: value)
        case .double(let value): return value
        case .string(let value): return value
        case .date(let value): return value
        case .data(let value): return value
        case .array(let values):
            let objects = values.compactMap(\.propertyList)
            return objects.count == values.count ? objects : nil
        case .dictionary(let values):
            let objects = values.compactMapValues(\.propertyList)
            return objects.count == values.count ? objects : nil
        }
    }
}
