// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A requirement is checked with the values that a program uses".

import Synchronization

/// A condition on the values of several settings of one engine.
final class Requirement: Sendable {
    /// The stored values of the settings, in their order.
    typealias Combination = [StoredValue?]

    let text: String
    let keys: [StoredKeys]
    private let reporter: any SettingsReporter
    private let suite: String
    private let isMet: @Sendable ((StoredKeys) -> StoredValue?) throws -> Bool
    private let state = Locked(State())

    private struct State {
        /// The combination that was checked last, and the one that is used instead.
        var known: (checked: Combination, replaced: Combination?, used: Combination)?
        /// The newest combination that met the requirement.
        var lastMet: Combination?
        /// The error that was reported, until the requirement is met again.
        var reported: SettingsError?
    }

    /// Creates a requirement.
    ///
    /// - Parameters:
    ///   - text: The requirement, in words.
    ///   - keys: The keys of the settings.
    ///   - suite: The suite of the settings.
    ///   - isMet: Returns whether the values meet the requirement that the settings have for some stored values. It runs user
    ///     code, so it is called under no lock, except by a transaction that has changed one of the values.
    init(
        _ text: String,
        _ keys: [StoredKeys],
        _ suite: SettingsSuite,
        isMet: @escaping @Sendable ((StoredKeys) -> StoredValue?) throws -> Bool
    ) {
        (self.text, self.keys, self.isMet) = (text, keys, isMet)
        (reporter, self.suite) = (suite.reporter, suite.name)
    }

    /// Returns the stored values of the settings.
    func combination(_ stored: (String) -> StoredValue?) -> Combination {
        keys.map { $0.value(stored) }
    }

    /// Throws ``SettingsError`` if some stored values do not meet the requirement.
    func check(_ combination: Combination) throws {
        let isMet: Bool
        do {
            isMet = try self.isMet { keys in
                self.keys.firstIndex { $0.current == keys.current }.flatMap { combination[$0] }
            }
        } catch {
            throw self.error(because: error)
        }
        guard isMet else { throw error() }
    }

    /// Whether some stored values meet the requirement.
    private func accepts(_ combination: Combination) -> Bool {
        do {
            try check(combination)
            return true
        } catch {
            // Another combination is tried, and the error of the stored values is reported.
            return false
        }
    }

    private func error(because cause: (any Error)? = nil) -> SettingsError {
        let names = keys.map { "'\($0.current)'" }
        var error = SettingsError(
            .requirementNotMet,
            fact: "\(names.joined(separator: " and ")) do not meet the requirement: \(text)",
            consequence: "nothing is changed",
            remedy: "change \(names.joined(separator: " or ")), or several of them in one transaction",
            underlying: cause
        )
        error.suite = suite
        return error
    }
}

// MARK: - Reading

extension Requirement {
    /// Returns the stored values to use.
    ///
    /// - Parameters:
    ///   - current: The values that are stored now.
    ///   - engine: The engine of the settings.
    /// - Returns: The same values if they meet the requirement; otherwise the last good combination, or none, for which the
    ///   defaults are used. If these do not meet it either, the stored values are used.
    func valuesToUse(_ current: Combination, in engine: SettingsEngine) -> Combination {
        let store = engine.store as? any RecoveringStore
        let replaced = store.map { store in
            zip(keys, current)
                .map { keys, value in
                    value.flatMap { store.value(forKey: keys.current, replacedByEdit: $0) } ?? value
                }
        }
        if let known = state.withLock({ $0.known }), known.checked == current, known.replaced == replaced {
            return known.used
        }
        do {
            try check(current)
            return note(current, current, replaced, nil, engine)
        } catch {
            let used = lastGood(insteadOf: current, replaced, store)
            return note(
                current,
                used ?? current,
                replaced,
                SettingsError.wrapping(error, as: .requirementNotMet),
                engine
            )
        }
    }

    /// The error if some stored values do not meet the requirement, as it is reported; `nil` if they do.
    func problem(_ current: Combination, in engine: SettingsEngine) -> SettingsError? {
        _ = valuesToUse(current, in: engine)
        return state.withLock { $0.known?.checked == current ? $0.reported : nil }
    }

    private func lastGood(
        insteadOf current: Combination,
        _ replaced: Combination?,
        _ store: (any RecoveringStore)?
    ) -> Combination? {
        if let replaced, replaced != current, accepts(replaced) { return replaced }
        if let lastMet = state.withLock({ $0.lastMet }), lastMet != current, accepts(lastMet) { return lastMet }
        if let store {
            let copied = keys.map { store.copiedLastGoodValue(forKey: $0.current) }
            if copied != current, accepts(copied) { return copied }
        }
        let defaults = Combination(repeating: nil, count: keys.count)
        return accepts(defaults) ? defaults : nil
    }

    /// Remembers the result of a check, and reports a requirement that is not met, or is met again.
    private func note(
        _ checked: Combination,
        _ used: Combination,
        _ replaced: Combination?,
        _ error: SettingsError?,
        _ engine: SettingsEngine
    ) -> Combination {
        var error = error
        if let found = error {
            let isLastGood = used.contains { $0 != nil }
            let values = used == checked ? "the stored values" : isLastGood ? "the last good values" : "the defaults"
            error?.consequence = "\(values) are used, and the stored values are left as they are"
            if let store = engine.store as? any LocatingStore {
                error?.location =
                    keys.lazy.compactMap { store.location(ofValueForKey: $0.current) }.first ?? found.location
            }
            error = error.map { engine.naming($0, suite: suite) }
        }
        let settled = state.withLock { state -> SettingsError? in
            state.known = (checked, replaced, used)
            state.lastMet = used == checked && error != nil ? state.lastMet : used
            defer { state.reported = error }
            return state.reported
        }
        if let error {
            retain(used, insteadOf: checked, engine)
            if settled?.message != error.message { reporter.report(error) }
        } else if let settled {
            reporter.reportRecovery(from: settled)
        }
        return used
    }

    /// Retains the last good values for new processes.
    private func retain(_ used: Combination, insteadOf checked: Combination, _ engine: SettingsEngine) {
        guard let store = engine.store as? any RecoveringStore else { return }
        for (keys, (good, stored)) in zip(keys, zip(used, checked)) {
            guard let good, let stored, good != stored, !engine.isSecret(keys.current) else { continue }
            store.retain(good, insteadOf: stored, forKey: keys.current)
        }
    }
}

// MARK: - The requirements of an engine

/// The requirements of an engine, by the keys of their settings.
struct RequirementTable {
    private(set) var all: [Requirement] = []
    private var byKey: [String: [Requirement]] = [:]

    /// Adds a requirement, in place of one with the same text for the same settings.
    mutating func insert(_ requirement: Requirement) {
        let names = requirement.keys.map(\.current)
        all.removeAll { $0.text == requirement.text && $0.keys.map(\.current) == names }
        all.append(requirement)
        byKey = [:]
        for requirement in all {
            for key in Set(requirement.keys.flatMap(\.all)) { byKey[key, default: []].append(requirement) }
        }
    }

    /// The requirements that a change of some keys may violate.
    func requirements(for keys: some Sequence<String>) -> [Requirement] {
        let affected = keys.flatMap { byKey[$0] ?? [] }
        return all.filter { requirement in affected.contains { $0 === requirement } }
    }
}

extension SettingsEngine {
    /// The requirements that the values of some keys have to meet.
    func requirements(for keys: some Sequence<String>) -> [Requirement] {
        guard hasRequirements.load(ordering: .acquiring) else { return [] }
        return requirementTable.withLock { $0.requirements(for: keys) }
    }

    /// Whether the values of a key have to meet a requirement.
    func isRestricted(_ key: String) -> Bool {
        hasRequirements.load(ordering: .acquiring) && !requirements(for: CollectionOfOne(key)).isEmpty
    }

    /// The error of a requirement that the stored values of a key do not meet; `nil` if they meet all.
    func requirementError(forKey key: String) -> SettingsError? {
        requirementErrors(for: [key]).first
    }

    /// The errors of all requirements on some settings that are not met.
    func requirementErrors(for keys: [String]) -> [SettingsError] {
        let contents = contents()
        return requirements(for: keys)
            .compactMap { requirement in
                requirement.problem(requirement.combination { contents[$0] }, in: self)
            }
    }

    fileprivate func isSecret(_ key: String) -> Bool { secretKeys.withLock { $0.contains(key) } }

    /// Adds a requirement, which later reads and changes have to meet.
    func add(_ requirement: Requirement) {
        let old = requirementTable.withLock { table in
            defer { table.insert(requirement) }
            return table
        }
        hasRequirements.store(true, ordering: .releasing)
        // Values that were read before need not meet it.
        versionStamp?.invalidate()
        _ = consume old
    }

    /// Throws ``SettingsError`` if changed contents do not meet a requirement.
    ///
    /// - Parameters:
    ///   - keys: The keys that are changed.
    ///   - stored: Returns the new value of a key.
    /// - Throws: ``SettingsError`` with ``SettingsError/Code/requirementNotMet``.
    func checkRequirements(for keys: some Sequence<String>, _ stored: (String) -> StoredValue?) throws {
        for requirement in requirements(for: keys) { try requirement.check(requirement.combination(stored)) }
    }
}
