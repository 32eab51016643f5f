// SPDX-License-Identifier: Apache-2.0

extension Range: StoredValueConvertible where Bound: StoredValueConvertible {
    /// Reads a list of the lower and the upper bound.
    public init(storedValue: StoredValue) throws {
        let bounds = try storedValue.bounds(as: Bound.self)
        self = bounds.lower..<bounds.upper
    }

    /// ``StoredValue/array(_:)`` of the lower and the upper bound.
    public func storedValue() throws -> StoredValue {
        .array(try [lowerBound, upperBound].storedElements { try $0.storedValue() })
    }
}

extension ClosedRange: StoredValueConvertible where Bound: StoredValueConvertible {
    /// Reads a list of the lower and the upper bound.
    public init(storedValue: StoredValue) throws {
        let bounds = try storedValue.bounds(as: Bound.self)
        self = bounds.lower...bounds.upper
    }

    /// ``StoredValue/array(_:)`` of the lower and the upper bound.
    public func storedValue() throws -> StoredValue {
        .array(try [lowerBound, upperBound].storedElements { try $0.storedValue() })
    }
}

extension StoredValue {
    /// Two bounds that a range can be made of.
    fileprivate func bounds<Bound>(as type: Bound.Type) throws -> (lower: Bound, upper: Bound)
    where Bound: StoredValueConvertible & Comparable {
        guard case .array(let values) = self else {
            throw SettingsError.typeMismatch(expected: "an array of two bounds", found: self)
        }
        guard values.count == 2 else {
            throw SettingsError.invalidValue("expected an array of two bounds, found \(values.count) elements")
        }
        let bounds = try elements { try Bound(storedValue: $0) }
        guard bounds[0] <= bounds[1] else {
            throw SettingsError.invalidValue("the lower bound is above the upper bound")
        }
        return (bounds[0], bounds[1])
    }
}
