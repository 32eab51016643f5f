// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings

extension CGFloat: StoredValueConvertible {
    /// Reads a number as `Double` does.
    public init(storedValue: StoredValue) throws {
        self.init(try Double(storedValue: storedValue))
    }

    /// Returns the number as `StoredValue.double(_:)`.
    public func storedValue() -> StoredValue {
        .double(Double(self))
    }
}
