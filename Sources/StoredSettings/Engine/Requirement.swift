// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A requirement is checked with the values that a program uses".

import Synchronization

/// A condition on the values of several settings of one engine.
final class Requirement: Sendable {
    /// What a requirement and its repeated declaration have in common.
    struct ID: Hashable {
        let text: String
        let keys: [String]
    }

    let text: String
    let keys: [StoredKeys]
    /// All keys under which values of the settings may be stored.
    let allKeys: [String]
    private let suite: String
    private let isMet: @Sendable ((StoredKeys) -> StoredValue?) throws -> Bool
    /// Finds the last good values that are used instead of unusable ones, and may read a file for that.
    ///
    /// A check under a lock uses those that were found. The caller holds no lock.
    private let findLastGoodValues: @Sendable ((StoredKeys) -> StoredValue?) -> Void
    /// Returns where those values come from that are not stored ones, for an error.
    private let origins: @Sendable ((StoredKeys) -> StoredValue?) -> [String]

    /// Creates a requirement.
    ///
    /// - Parameters:
    ///   - text: The requirement, in words.
    ///   - keys: The keys of the settings.
    ///   - suite: The suite of the settings.
    ///   - prepare: Finds the last good values of the settings, as ``prepare(_:)``.
    ///   - origins: Returns where those values come from that are not stored ones.
    ///   - isMet: Returns whether the values meet the requirement that the settings have for some stored values. It runs user
    ///     code, so it is called under no lock, except by a transaction that has changed one of the values.
    init(
        _ text: String,
        _ keys: [StoredKeys],
        _ suite: SettingsSuite,
        prepare: @escaping @Sendable ((StoredKeys) -> StoredValue?) -> Void,
        origins: @escaping @Sendable ((StoredKeys) -> StoredValue?) -> [String],
        isMet: @escaping @Sendable ((StoredKeys) -> StoredValue?) throws -> Bool
    ) {
        (self.text, self.keys, findLastGoodValues, self.isMet) = (text, keys, prepare, isMet)
        self.origins = origins
        allKeys = keys.flatMap(\.all)
        self.suite = suite.name
    }

    var id: ID { ID(text: text, keys: keys.map(\.current)) }

    /// Finds the last good values that are used instead of unusable ones, and may read a file for that.
    ///
    /// A check under a lock uses those that were found. The caller holds no lock.
    ///
    /// - Parameter stored: Returns the stored value of a key.
    func prepare(_ stored: (String) -> StoredValue?) { findLastGoodValues { $0.value(stored) } }

    /// The current key of the setting that has a key.
    func name(of key: String) -> String {
        keys.first { $0.all.contains(key) }?.current ?? key
    }

    /// Whether two functions return the same stored values of the settings.
    func isSame(_ old: (String) -> StoredValue?, _ new: (String) -> StoredValue?) -> Bool {
        keys.allSatisfy { $0.value(old) == $0.value(new) }
    }

    /// Checks some stored values.
    ///
    /// - Parameter stored: Returns the stored value of a key. A value that is unusable has been prepared.
    /// - Returns: The error; `nil` if they meet the requirement.
    func error(of stored: (String) -> StoredValue?) -> SettingsError? {
        do {
            return try isMet { $0.value(stored) } ? nil : error(of: stored, because: nil)
        } catch {
            return self.error(of: stored, because: error)
        }
    }

    private func error(of stored: (String) -> StoredValue?, because cause: (any Error)?) -> SettingsError {
        let names = keys.map { "'\($0.current)'" }
        let (verb, alternative) =
            names.count == 1 ? ("does", "") : ("do", ", or several of them in one transaction")
        let origins = origins { $0.value(stored) }
        let origin = origins.isEmpty ? "" : " (\(origins.joined(separator: ", and ")))"
        var error = SettingsError(
            .requirementNotMet,
            fact: "\(names.joined(separator: " and ")) \(verb) not meet the requirement: \(text)\(origin)",
            consequence: "nothing is changed",
            remedy: "change \(names.joined(separator: " or "))\(alternative)",
            underlying: cause
        )
        error.suite = suite
        return error
    }
}

extension [Requirement] {
    /// The requirements that have keys in common with one, directly or through others.
    func connected(to requirement: Requirement) -> [Requirement] {
        var keys = Set(requirement.allKeys)
        while true {
            let connected = filter { !keys.isDisjoint(with: $0.allKeys) }
            let count = keys.count
            keys.formUnion(connected.flatMap(\.allKeys))
            if keys.count == count { return connected }
        }
    }
}

// MARK: - The requirements of an engine

/// The requirements of an engine.
struct RequirementTable {
    private(set) var all: [Requirement] = []
    /// The keys whose values have to meet a requirement.
    private(set) var keys: Set<String> = []

    /// Adds a requirement, in place of one with the same text for the same settings.
    mutating func insert(_ requirement: Requirement) {
        all.removeAll { $0.id == requirement.id }
        all.append(requirement)
        keys.formUnion(requirement.allKeys)
    }

    /// The requirements that a change of some keys may violate.
    func requirements(for keys: some Sequence<String>) -> [Requirement] {
        let affected = self.keys.intersection(keys)
        return affected.isEmpty ? [] : all.filter { $0.allKeys.contains(where: affected.contains) }
    }
}

extension SettingsEngine {
    /// The requirements that the values of some keys have to meet.
    func requirements(for keys: some Sequence<String>) -> [Requirement] {
        guard hasRequirements else { return [] }
        return requirementTable.withLock { $0.requirements(for: keys) }
    }

    /// The keys whose values have to meet a requirement.
    var restrictedKeys: Set<String> { hasRequirements ? requirementTable.withLock(\.keys) : [] }

    /// Whether the values of a key have to meet a requirement.
    func isRestricted(_ key: String) -> Bool { hasRequirements && requirementTable.withLock { $0.keys.contains(key) } }

    /// The errors of the requirements on some settings that the stored values do not meet.
    func requirementErrors(for keys: [String]) -> [SettingsError] {
        let requirements = requirements(for: keys)
        guard !requirements.isEmpty else { return [] }
        let (stored, held) = checkedContents()
        return requirements.compactMap { requirement in
            let stored = { self.value(ofKey: $0, in: stored) }
            requirement.prepare(stored)
            let isReplaced = requirement.allKeys.contains { held[$0] != nil }
            return error(of: requirement, with: stored, isReplaced: isReplaced)
        }
    }

    /// The error of a requirement that stored values do not meet; `nil` if they do.
    ///
    /// - Parameters:
    ///   - requirement: The requirement.
    ///   - stored: Returns the stored value of a key.
    ///   - isReplaced: Whether other values are used, which meet the requirement.
    /// - Returns: The error.
    func error(
        of requirement: Requirement,
        with stored: (String) -> StoredValue?,
        isReplaced: Bool
    ) -> SettingsError? {
        guard var error = requirement.error(of: stored) else { return nil }
        error.consequence =
            isReplaced
            ? "the last values that meet it are used, or the defaults, and the next set of one of them stores those"
            : "the values are used as they are"
        // Each file is read once: `first` of a lazy collection reads it twice, and traps if it has changed in between.
        for key in requirement.allKeys where error.location == nil {
            error.location = store.location(ofValueForKey: key)
        }
        return naming(error, suite: error.suite ?? "")
    }

    /// Adds a requirement, which the stored values and later changes have to meet.
    func add(_ requirement: Requirement) {
        let old = requirementTable.withLock { table in
            defer { table.insert(requirement) }
            return table
        }
        hasRequirementsFlag.store(true, ordering: .releasing)
        // After the store has read its contents, which are no change then.
        withValue(forKey: "") { _, state in
            state.held.restrict(Set(requirement.allKeys))
            self.invalidate()
        }
        _ = consume old
        // Otherwise, the next read checks it.
        if state.withLock({ !$0.subscribers.isEmpty }) { checkIfDue() }
    }

    /// Finds the last good values for all requirements, before a check under a lock.
    func prepareRequirements() {
        // A conversion or a validator that changes values runs in a check as well.
        guard hasRequirements, !CheckScope.isCurrent else { return }
        // Changes from outside are checked first.
        _ = value(forKey: "")
        CheckScope.run {
            for requirement in requirementTable.withLock(\.all) { requirement.prepare { value(forKey: $0) } }
        }
    }

    /// The errors of the requirements that changed contents do not meet.
    ///
    /// A requirement whose values are the same as before is not checked: an edit may have violated it, which is no reason to
    /// refuse a change of other values.
    ///
    /// - Parameters:
    ///   - keys: The keys that are changed.
    ///   - old: Returns the value of a key before the change.
    ///   - new: Returns the new value of a key.
    /// - Returns: The errors, with ``SettingsError/Code/requirementNotMet``.
    func requirementErrors(
        for keys: some Sequence<String>,
        from old: (String) -> StoredValue?,
        to new: (String) -> StoredValue?
    ) -> [SettingsError] {
        requirements(for: keys).compactMap { $0.isSame(old, new) ? nil : $0.error(of: new) }
    }

    /// Checks the requirements that some assignments may violate, which are checked again when they are saved.
    ///
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/requirementNotMet``.
    func check(_ edits: some Collection<(key: String, value: StoredValue?)>) throws {
        if let error = requirementErrors(after: edits).first { throw error }
    }

    /// The errors of the requirements that some changes violate.
    func requirementErrors(after edits: some Collection<(key: String, value: StoredValue?)>) -> [SettingsError] {
        let keys = withMembers(edits.map(\.key))
        let requirements = requirements(for: keys)
        guard !requirements.isEmpty, !CheckScope.isCurrent else { return [] }
        let contents = contents()
        let old = { self.value(ofKey: $0, in: contents) }
        let edited = Dictionary(edits.map { ($0.key, $0.value) }) { $1 }
        return CheckScope.run {
            // Finding the last good values may read a file, which other writers would wait for.
            if TransactionScope.current == nil {
                for requirement in requirements { requirement.prepare(old) }
            }
            return requirementErrors(for: keys, from: old) { key in
                edited[key] ?? value(ofKey: key) { edited[$0] ?? contents[$0] }
            }
        }
    }
}

extension SettingBox {
    /// Where the value comes from that the setting has for a stored one; `nil` if it is the stored one.
    func origin(over stored: StoredValue?) -> String? {
        // Without the line in a file, which would have to be read: other writers may wait.
        if let override = overrideReadings(over: stored).firstUsable()?.reading { return "given by \(override.source)" }
        guard stored == nil else { return nil }
        return baseReadings().firstUsable().map { "given by \($0.reading.source)" } ?? "the default"
    }

    /// Finds the last good value if the stored one is unusable, and reports nothing.
    func findLastGoodValue(insteadOf stored: StoredValue?, ifUsable: (StoredValue) -> Void = { _ in }) {
        // A check under a lock must not be the first to read the files of layers.
        if layers != nil { _ = (overrideReadings(over: stored), baseReadings()) }
        guard let stored else { return }
        do {
            _ = try decode(stored)
            ifUsable(stored)
        } catch {
            _ = lastGoodReading(insteadOf: stored)
        }
    }

    /// Returns the value that the setting would have for a stored value, for a check.
    ///
    /// It notes and reports nothing, and reads no file.
    func checkedValue(of stored: StoredValue?) -> Value {
        let beneath = { self.checkedValueBeneathOverrides(of: stored) }
        guard layers != nil else { return beneath() }
        return overrideReadings(over: stored) { Reading(value: beneath()) }.firstUsable()?.value ?? beneath()
    }

    private func checkedValueBeneathOverrides(of stored: StoredValue?) -> Value {
        if let stored {
            let others = ([health] + oldHealths).map { $0.history.values.candidates(insteadOf: stored) }
                .flatMap { $0.first + ($0.last ?? []) }
            for value in [stored] + others.map(\.value) {
                do {
                    return try decode(value)
                } catch {
                    // Another value is used instead.
                    continue
                }
            }
        }
        return fallbackReading(isReported: false, hasStoredValue: stored != nil).value
    }
}
