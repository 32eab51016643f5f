// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "Settings with one definition are shared".

import Synchronization

/// The settings of an engine that are in use, so that all declarations of one setting share its decoded value.
///
/// A setting that is no longer used stays here for its next declaration, up to a limit.
struct SettingRegistry {
    private var boxes: [String: [AnySettingBox]] = [:]
    private(set) var count = 0
    /// The number of boxes at which the unused ones are removed.
    private var limit = leastLimit

    static let leastLimit = 1_024

    /// All boxes, to be released outside the lock.
    var all: [AnySettingBox] { boxes.values.flatMap(\.self) }

    /// The boxes of the settings with a key, to be released outside the lock.
    func boxes(ofKey key: String) -> [AnySettingBox] { boxes[key] ?? [] }

    /// Searches for the setting of a declaration; runs no user code.
    ///
    /// - Returns: The box if it is certain, and otherwise the boxes that are the same apart from their default.
    func boxes(
        named name: String,
        _ fingerprint: SettingFingerprint,
        _ metadata: SettingMetadata,
        valueType: ObjectIdentifier,
        in suite: SettingsSuite
    ) -> (found: AnySettingBox?, candidates: [AnySettingBox]) {
        var candidates: [AnySettingBox] = []
        for box in boxes[name] ?? [] where box.valueType == valueType && box.belongs(to: suite) {
            guard let known = box.fingerprint, fingerprint.isSame(exceptDefault: known), box.metadata == metadata
            else {
                continue
            }
            if fingerprint.hasDefault(of: known) { return (box, []) }
            candidates.append(box)
        }
        return (nil, candidates)
    }

    /// Adds a box.
    ///
    /// - Returns: Unused boxes, to be released outside the lock.
    mutating func insert(_ box: AnySettingBox, forKey name: String) -> [AnySettingBox] {
        var unused = boxes[name, default: []].removeUnused()
        count -= unused.count
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
        // In place: a copy would hold references to the boxes.
        for name in Array(boxes.keys) {
            unused += boxes[name, default: []].removeUnused()
        }
        boxes = boxes.filter { !$0.value.isEmpty }
        count -= unused.count
        return unused
    }
}

extension [AnySettingBox] {
    /// Removes the boxes that have no other reference.
    fileprivate mutating func removeUnused() -> [Element] {
        var unused: [Element] = []
        for index in indices.reversed() where isKnownUniquelyReferenced(&self[index]) {
            unused.append(remove(at: index))
        }
        return unused
    }
}

extension SettingsEngine: LastGoodObserver {
    func isExaminationDue(forCheckpoint isForCheckpoint: Bool) -> Bool {
        valueHealth.withLock(\.entries).values.contains { $0.isExaminationDue(forCheckpoint: isForCheckpoint) }
    }

    func examineValues(forCheckpoint isForCheckpoint: Bool) {
        for (key, health) in valueHealth.withLock(\.entries)
        where health.isExaminationDue(forCheckpoint: isForCheckpoint) {
            let changes = health.unshared.changes
            for box in boxes(ofKey: key, health) { box.examine() }
            health.endExamination(of: changes)
        }
    }

    /// Whether no text may contain some values of a key: see ``AnySettingBox/isSecret(_:)``.
    func isSecret(_ key: String, _ values: [StoredValue?]) -> Bool {
        guard let health = valueHealth.withLock({ $0.entries[key] }) else { return false }
        return health.secrecy.isSet || boxes(ofKey: key, health).contains { values.contains(where: $0.isSecret) }
    }

    private func boxes(ofKey key: String, _ health: ValueHealth) -> [AnySettingBox] {
        settings.withLock { $0.boxes(ofKey: key) } + health.unshared.boxes
    }

    var replacements: [ValueReplacement] {
        // In the copy, a value is nested one level deeper. A secret that was replaced must not survive on the disk.
        valueHealth.withLock { $0.replacements() }
            .filter { !isSecret($0.key) && $0.used?.isNested(within: StoredValue.maximumDepth - 1) ?? true }
    }

    func uses(_ value: StoredValue?, forKey key: String) -> Bool {
        isSecret(key) || valueHealth.withLock { $0.entries[key] }?.uses(value) ?? false
    }
}

extension SettingsSuite {
    /// The box of a key's setting.
    func box<Value>(for key: SettingKey<Value>) -> SettingBox<Value> {
        declaredBox(named: key.name, key.fingerprint, key.metadata) { _, _ in
            group.map { SettingKey(key, in: $0) } ?? key
        }
    }

    /// The box that all declarations of a setting share; it exists while the engine does.
    ///
    /// A key is made only for a setting that is new, or whose default has to be compared.
    func box<Value>(
        named name: String,
        _ fingerprint: SettingFingerprint?,
        _ metadata: SettingMetadata,
        makeKey: () -> SettingKey<Value>
    ) -> SettingBox<Value> {
        // Closures may hold this suite, so the registry must not hold them.
        guard let fingerprint else { return SettingBox(makeKey(), suite: self) }
        let valueType = ObjectIdentifier(Value.self)
        let (found, candidates) = engine.settings.withLock {
            $0.boxes(named: name, fingerprint, metadata, valueType: valueType, in: self)
        }
        // The type of its values has been compared.
        if let found { return unsafeDowncast(found, to: SettingBox<Value>.self) }
        let key = makeKey()
        for candidate in candidates {
            let box = unsafeDowncast(candidate, to: SettingBox<Value>.self)
            if box.hasDefault(equalTo: key) { return box }
        }
        let box = SettingBox(key, suite: self)
        let unused = engine.settings.withLock { $0.insert(box, forKey: name) }
        _ = consume unused
        return box
    }
}

// MARK: - Sharing

extension SettingBox {
    /// Whether another definition's default is equal and is stored alike; runs user code.
    ///
    /// One check alone may miss a difference: `-0.0 == 0.0`, and a conversion may leave something out.
    func hasDefault(equalTo other: SettingKey<Value>) -> Bool {
        guard key !== other else { return true }
        let (value, other) = (key.defaultValue, other.defaultValue)
        guard let comparable = value as? any Equatable, comparable.isEqual(to: other) else { return false }
        guard let stored = encoded(value) else { return false }
        return stored == encoded(other)
    }
}

extension Equatable {
    fileprivate func isEqual(to other: Any) -> Bool {
        other as? Self == self
    }
}
