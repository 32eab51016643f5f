// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StoredValue: Hashable {
    /// Whether two values would be stored as the same bytes.
    public static func == (left: StoredValue, right: StoredValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left.storedBits == right.storedBits
        case (.string(let left), .string(let right)): left.hasSameScalars(as: right)
        case (.date(let left), .date(let right)): left.storedBits == right.storedBits
        case (.data(let left), .data(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.dictionary(let left), .dictionary(let right)): left.hasSameEntries(as: right)
        default: false
        }
    }

    /// Feeds the kind and the contents to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        switch self {
        case .null: break
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.storedBits)
        case .string(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value.storedBits)
        case .data(let value): hasher.combine(value)
        case .array(let values): hasher.combine(values)
        case .dictionary(let values): hasher.combine(values)
        }
    }
}

extension Double {
    /// The bits that a store keeps.
    ///
    /// A NaN's payload is not among them, so all NaNs are one.
    var storedBits: UInt64 {
        isNaN ? Double.nan.bitPattern : bitPattern
    }
}

extension Date {
    var storedBits: UInt64 { timeIntervalSinceReferenceDate.storedBits }
}

extension String {
    /// Whether the scalars are the same, where `==` already holds for strings that merely look the same.
    fileprivate func hasSameScalars(as other: String) -> Bool {
        self == other && utf8.elementsEqual(other.utf8)
    }
}

extension [String: StoredValue] {
    fileprivate func hasSameEntries(as other: [String: StoredValue]) -> Bool {
        guard count == other.count else { return false }
        return allSatisfy { name, value in
            guard let index = other.index(forKey: name) else { return false }
            return other[index].key.hasSameScalars(as: name) && other[index].value == value
        }
    }
}
