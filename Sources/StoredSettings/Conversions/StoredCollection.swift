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
/// extension Pile: StoredCollection, StoredIndirectly, StoredValueConvertible where Element: StoredValueConvertible { … }
/// ```
///
/// The initialiser may throw, for a collection that does not take any elements. One element that cannot be read fails
/// the whole, and is named by its index.
public protocol StoredCollection: Collection, StoredIndirectly
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
