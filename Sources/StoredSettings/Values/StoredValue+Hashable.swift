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
        if let isEqual = leavesAreEqual(left, right) { return isEqual }
        // An explicit stack instead of recursion, so that values of any depth can be compared on any thread.
        var work = [(left, right)]
        while let pair = work.popLast() {
            switch pair {
            case (.array(let left), .array(let right)):
                guard left.count == right.count else { return false }
                if left.hasStorage(of: right) { continue }
                for (left, right) in zip(left, right) {
                    guard let isEqual = leavesAreEqual(left, right) else {
                        work.append((left, right))
                        continue
                    }
                    guard isEqual else { return false }
                }
            case (.dictionary(let left), .dictionary(let right)):
                guard left.count == right.count else { return false }
                for (name, value) in left {
                    guard let index = right.index(forKey: name), right[index].key.hasSameScalars(as: name) else {
                        return false
                    }
                    guard let isEqual = leavesAreEqual(value, right[index].value) else {
                        work.append((value, right[index].value))
                        continue
                    }
                    guard isEqual else { return false }
                }
            default: return false
            }
        }
        return true
    }

    /// Returns whether two values are equal; `nil` for two arrays or two dictionaries, whose contents must be compared.
    private static func leavesAreEqual(_ left: StoredValue, _ right: StoredValue) -> Bool? {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left.storedBits == right.storedBits
        case (.string(let left), .string(let right)): left.hasSameScalars(as: right)
        case (.date(let left), .date(let right)): left.storedBits == right.storedBits
        case (.data(let left), .data(let right)): left == right
        case (.array, .array), (.dictionary, .dictionary): nil
        default: false
        }
    }

    /// Hashes the kind and the contents, down to the depth that a store accepts.
    public func hash(into hasher: inout Hasher) {
        hash(into: &hasher, levels: Self.maximumDepth)
    }

    private func hash(into hasher: inout Hasher, levels: Int) {
        hasher.combine(kind)
        switch self {
        case .null: break
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.storedBits)
        case .string(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value.storedBits)
        case .data(let value): hasher.combine(value)
        case .array(let values):
            hasher.combine(values.count)
            guard levels > 0 else { return }
            for value in values { value.hash(into: &hasher, levels: levels - 1) }
        case .dictionary(let values):
            hasher.combine(values.count)
            guard levels > 0 else { return }
            // Equal dictionaries may enumerate their entries in different orders.
            var combined = 0
            for (name, value) in values {
                var entry = hasher
                entry.combine(name)
                value.hash(into: &entry, levels: levels - 1)
                combined ^= entry.finalize()
            }
            hasher.combine(combined)
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

extension [StoredValue] {
    /// Whether both arrays share their storage, so that their elements need not be compared.
    fileprivate func hasStorage(of other: [StoredValue]) -> Bool {
        // The addresses are compared, never dereferenced.
        withUnsafeBufferPointer { left in
            other.withUnsafeBufferPointer { right in
                left.baseAddress == right.baseAddress && left.count == right.count
            }
        }
    }
}
