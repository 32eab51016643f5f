// SPDX-License-Identifier: Apache-2.0

/// A set type of your own, which is stored as the set of its elements.
///
/// A type that is a `Sequence` has nothing more to write. Any other has one property, since a `SetAlgebra` need not know
/// its elements:
///
/// ```swift
/// struct Flags: SetAlgebra, StoredSetAlgebra {
///     private var names: Set<String>
///
///     var stored: Set<String> { names }
///     …
/// }
/// ```
///
/// A generic type that is one only for some elements names ``StoredIndirectly`` and ``StoredValueConvertible``, too, as with
/// ``StoredCollection``.
///
/// It is stored as a list in an order that is the same for equal sets. One element that cannot be read fails the whole,
/// and is named by its index.
///
/// This is not for an `OptionSet`, which is its own element: let that declare ``StoredValueConvertible``, and its raw
/// value is stored.
public protocol StoredSetAlgebra: SetAlgebra, StoredIndirectly
where Element: StoredValueConvertible & Hashable, Stored == Set<Element> {}

extension StoredSetAlgebra {
    /// Takes the elements.
    public init(stored elements: Set<Element>) {
        self.init(elements)
    }
}

extension StoredSetAlgebra where Self: Sequence {
    /// The elements.
    public var stored: Set<Element> { Set(self) }
}
