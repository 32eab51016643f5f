// SPDX-License-Identifier: Apache-2.0

/// A custom collection type that is stored as an array of its elements.
///
/// A `RangeReplaceableCollection` needs only the conformance. Any other collection adds one initializer:
///
/// ```swift
/// struct Deck: Collection, StoredCollection {
///     private var cards: [String]
///
///     init(stored cards: [String]) { self.cards = cards }
///
///     var startIndex: Int { cards.startIndex }
///     var endIndex: Int { cards.endIndex }
///     func index(after index: Int) -> Int { cards.index(after: index) }
///     subscript(index: Int) -> String { cards[index] }
/// }
/// ```
///
/// A generic type that conforms conditionally also lists the inherited protocols, which the compiler does not infer:
///
/// ```swift
/// extension Pile: StoredCollection, StoredRepresentable, StoredValueConvertible
/// where Element: StoredValueConvertible {}
/// ```
///
/// The initializer may throw, for a collection that does not accept all elements. If an element cannot be read, reading
/// the collection throws an error that names the element's index.
public protocol StoredCollection: Collection, StoredRepresentable
where Element: StoredValueConvertible, Stored == [Element] {}

extension StoredCollection {
    /// The elements, in order.
    public var stored: [Element] { Array(self) }
}

extension StoredCollection where Self: RangeReplaceableCollection {
    /// Creates a collection of the elements, in order.
    public init(stored elements: [Element]) {
        self.init(elements)
    }
}

/// A custom set type that is stored as the set of its elements.
///
/// A `Sequence` needs only the conformance. Any other type adds one property, because a `SetAlgebra` need not be able
/// to list its elements:
///
/// ```swift
/// extension Flags: StoredSetAlgebra {        // a set of strings, which are in its property `names`
///     public var stored: Set<String> { names }
/// }
/// ```
///
/// A generic type that conforms conditionally also lists ``StoredRepresentable`` and ``StoredValueConvertible``, as
/// with ``StoredCollection``.
///
/// The set is stored as an array, in an order that is the same for equal sets. If an element cannot be read, reading
/// the set throws an error that names the element's index.
///
/// Do not use this protocol for an `OptionSet`, which is its own element. Declare ``StoredValueConvertible`` instead;
/// its raw value is then stored.
public protocol StoredSetAlgebra: SetAlgebra, StoredRepresentable
where Element: StoredValueConvertible & Hashable, Stored == Set<Element> {}

extension StoredSetAlgebra {
    /// Creates a set of the elements.
    public init(stored elements: Set<Element>) {
        self.init(elements)
    }
}

extension StoredSetAlgebra where Self: Sequence {
    /// The elements.
    public var stored: Set<Element> { Set(self) }
}
