// SPDX-License-Identifier: Apache-2.0

/// A weak reference in an object of its own, so that a copy of what contains it does not register the reference anew.
///
/// Unchecked: the variable is set once, and is a variable only because it is weak. The object is used only by code that may
/// share it.
final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    private(set) weak var object: Object?

    init(_ object: Object) {
        self.object = object
    }
}

/// Objects by key, without owning them.
///
/// The end of an object may run user code, or code that takes locks. So every method that looks at objects returns those it
/// held a reference to, for the caller to release outside its lock.
package struct WeakTable<Key: Hashable, Object: AnyObject & Sendable> {
    private var references: [Key: WeakReference<Object>] = [:]

    package init() {}

    /// The object of a key, if it still exists.
    package subscript(key: Key) -> Object? { references[key]?.object }

    /// All objects that still exist.
    package var objects: [Object] { references.values.compactMap(\.object) }

    /// Adds an object, and removes the keys of objects that no longer exist.
    ///
    /// - Returns: The other objects, to be released outside the caller's lock.
    package mutating func insert(_ object: Object, forKey key: Key) -> [Object] {
        let others = references.compactMapValues(\.object)
        references = references.filter { others[$0.key] != nil }
        references[key] = WeakReference(object)
        return Array(others.values)
    }

    package mutating func remove(_ key: Key) {
        references[key] = nil
    }
}
