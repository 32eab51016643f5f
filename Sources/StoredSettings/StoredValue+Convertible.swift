// SPDX-License-Identifier: Apache-2.0

extension StoredValue: StoredValueConvertible {
    /// The stored value itself, whatever it is.
    public init(storedValue: StoredValue) {
        self = storedValue
    }

    /// The value itself.
    public func storedValue() -> StoredValue {
        self
    }
}
