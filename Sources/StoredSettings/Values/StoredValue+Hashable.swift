// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Values-and-JSON.md, "Equality compares the stored bits".

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StoredValue: Hashable {
    /// Returns whether two values are stored as the same bytes.
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
        case (.dictionary(let left), .dictionary(let right)):
            left.count == right.count
                && left.allSatisfy { name, value in
                    guard let index = right.index(forKey: name) else { return false }
                    return right[index].key.hasSameScalars(as: name) && right[index].value == value
                }
        default: false
        }
    }

    /// Hashes the kind and the contents.
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
    /// The bits that a store preserves.
    ///
    /// The payload of a NaN is not preserved, so all NaNs are equal.
    var storedBits: UInt64 {
        isNaN ? Double.nan.bitPattern : bitPattern
    }
}

extension Date {
    var storedBits: UInt64 { timeIntervalSinceReferenceDate.storedBits }
}

extension String {
    /// Whether the scalars are the same.
    ///
    /// `==` also holds for strings that are only canonically equivalent.
    func hasSameScalars(as other: String) -> Bool {
        self == other && utf8.elementsEqual(other.utf8)
    }
}
