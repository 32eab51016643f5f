// SPDX-License-Identifier: Apache-2.0

extension StoredValueConvertible where Self: Codable {
    /// Reads the structure that a ``StoredValueEncoder`` gives.
    public init(storedValue: StoredValue) throws {
        self = try StoredValueDecoder().decode(Self.self, from: storedValue)
    }

    /// What a ``StoredValueEncoder`` gives: the structure itself, not a text of it.
    public func storedValue() throws -> StoredValue {
        try StoredValueEncoder().encode(self)
    }
}
