// SPDX-License-Identifier: Apache-2.0

/// A value of any size, as one reference.
@usableFromInline
final class DecodedValue<Value: Sendable>: Sendable {
    @usableFromInline let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
