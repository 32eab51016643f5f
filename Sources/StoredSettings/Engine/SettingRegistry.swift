// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The settings of an engine that are in use, so that all who name the same one share what was decoded for it.
///
/// One that nobody uses any more is kept for the next who names it, as long as there are not too many.
struct SettingRegistry {
    private var boxes: [String: [AnySettingBox]] = [:]
    private(set) var count = 0
    /// The number of boxes at which those that are not in use are let go of.
    private var limit = leastLimit

    static let leastLimit = 1_024
    /// More definitions of one name than this are not worth looking through.
    private static let mostOfOneName = 16

    /// Looks for a setting; this runs no code of the user's.
    ///
    /// - Parameters:
    ///   - name: The setting's key.
    ///   - suite: The suite it is kept in.
    ///   - query: What else is known of it.
    /// - Returns: The box, if it is certain; else those that it may be.
    func boxes(
        named name: String,
        in suite: SettingsSuite,
        _ query: SettingQuery
    ) -> (found: AnySettingBox?, others: [AnySettingBox]) {
        var others: [AnySettingBox] = []
        for box in boxes[name] ?? []
        where box.valueType == query.valueType && box.isOf(suite) {
            if box.keyID == query.key { return (box, []) }
            guard let wanted = query.form, let known = box.form, wanted.isLike(known) else { continue }
            if wanted.hasDefault(of: known) { return (box, []) }
            others.append(box)
        }
        return (nil, others)
    }

    /// Adds a box.
    ///
    /// - Parameters:
    ///   - box: The box.
    ///   - name: The setting's key.
    /// - Returns: What is not in use, to be let go of under no lock.
    mutating func insert(_ box: AnySettingBox, forKey name: String) -> [AnySettingBox] {
        var unused = boxes[name, default: []].removeUnused()
        count -= unused.count
        guard boxes[name, default: []].count < Self.mostOfOneName else { return unused }
        boxes[name, default: []].append(box)
        count += 1
        if count > limit {
            unused += removeUnused()
            limit = max(Self.leastLimit, 2 * count)
        }
        return unused
    }

    private mutating func removeUnused() -> [AnySettingBox] {
        var unused: [AnySettingBox] = []
        // In place: a copy would refer to the boxes, too.
        for name in Array(boxes.keys) {
            unused += boxes[name, default: []].removeUnused()
        }
        boxes = boxes.filter { !$0.value.isEmpty }
        count -= unused.count
        return unused
    }
}

extension [AnySettingBox] {
    /// Removes those that are referred to from nowhere else.
    fileprivate mutating func removeUnused() -> [Element] {
        var unused: [Element] = []
        for index in indices.reversed() where isKnownUniquelyReferenced(&self[index]) {
            unused.append(remove(at: index))
        }
        return unused
    }
}

/// What is looked for, besides the key's text and the suite.
struct SettingQuery {
    let valueType: ObjectIdentifier
    /// The definition, where there is one already.
    var key: ObjectIdentifier?
    let form: SettingFingerprint?
}

extension SettingsSuite {
    /// The box of a setting, which all who name it share; it is there for as long as the engine.
    ///
    /// - Parameters:
    ///   - name: The setting's key.
    ///   - query: What else is known of it.
    ///   - makeKey: Gives the definition, which is made only where there is none yet.
    /// - Returns: The box.
    func box<Value>(
        named name: String,
        _ query: SettingQuery,
        makeKey: () -> SettingKey<Value>
    ) -> SettingBox<Value> {
        let (found, others) = engine.settings.withLock { $0.boxes(named: name, in: self, query) }
        // The type of its values has been compared.
        if let found { return unsafeDowncast(found, to: SettingBox<Value>.self) }
        let key = makeKey()
        for other in others {
            let box = unsafeDowncast(other, to: SettingBox<Value>.self)
            if box.hasDefault(equalTo: key) { return box }
        }
        let box = SettingBox(key, suite: self)
        // Closures may hold this suite, so the table must not hold them.
        guard box.form != nil else { return box }
        let unused = engine.settings.withLock { $0.insert(box, forKey: name) }
        _ = consume unused
        return box
    }
}
