// SPDX-License-Identifier: Apache-2.0

/// A collection type of your own, which is stored as an array of its elements.
///
/// A type that is a `RangeReplaceableCollection` has nothing more to write. Any other has one initialiser:
///
/// ```swift
/// struct Deck: Collection, StoredCollection {
///     private var cards: [String]
///
///     init(stored cards: [String]) { self.cards = cards }
///     …
/// }
/// ```
///
/// A generic type that is one only for some elements names what it inherits, too, since the compiler does not infer that:
///
/// ```swift
/// extension Pile: StoredCollection, StoredRepresentable, StoredValueConvertible where Element: StoredValueConvertible { … }
/// ```
///
/// The initialiser may throw, for a collection that does not take any elements. One element that cannot be read fails
/// the whole, and is named by its index.
public protocol StoredCollection: Collection, StoredRepresentable
where Element: StoredValueConvertible, Stored == [Element] {}

extension StoredCollection {
    /// The elements in their order.
    public var stored: [Element] { Array(self) }
}

extension StoredCollection where Self: RangeReplaceableCollection {
    /// Takes the elements in their order.
    public init(stored elements: [Element]) {
        self.init(elements)
    }
}

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
/// A generic type that is one only for some elements names ``StoredRepresentable`` and ``StoredValueConvertible``, too, as with
/// ``StoredCollection``.
///
/// It is stored as a list in an order that is the same for equal sets. One element that cannot be read fails the whole,
/// and is named by its index.
///
/// This is not for an `OptionSet`, which is its own element: let that declare ``StoredValueConvertible``, and its raw
/// value is stored.
public protocol StoredSetAlgebra: SetAlgebra, StoredRepresentable
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
