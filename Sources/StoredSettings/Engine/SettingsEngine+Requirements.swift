// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Catalog.md, "A change from outside is used when its requirements are met".

import Synchronization

extension SettingsEngine {
    /// The number of times that a check begins again because a value has changed meanwhile.
    private static let mostCheckAttempts = 100
    /// The number of checks that one read waits for, and the number of times that each of them begins again.
    ///
    /// The values that are held until then are those that were used before, so a read may return them.
    private static let mostChecksInRead = 3

    /// Reads values, after the requirements on changes of other processes were checked.
    ///
    /// - Parameter read: Reads values. It may run more than once.
    /// - Returns: The result of the last run.
    func readingChecked<Result>(_ read: () -> Result) -> Result {
        for _ in 0..<Self.mostChecksInRead {
            let before = state.checkProgress
            let result = read()
            // Reading can record a change of another process, and end with the check of it.
            let after = state.checkProgress
            if after == before, !after.isCheckDue { return result }
            // A transaction sees the stored values, and its caller holds the lock.
            guard !CheckScope.isCurrent, TransactionScope.current == nil else { return result }
            if after.isCheckDue { checkRequirements(attempts: Self.mostChecksInRead) }
        }
        return read()
    }

    /// Whether the stored value of a setting is not used because it does not meet a requirement.
    func isHeld(_ keys: StoredKeys) -> Bool {
        let held = checkedContents().held
        return keys.all.contains { held[$0] != nil }
    }

    /// The values that are used instead of stored ones that were checked.
    var checkedHeldValues: [String: StoredValue?] {
        guard hasRequirements else { return [:] }
        return state.withLock { $0.held.checked }
    }

    /// Checks all requirements, if a value has changed since the last check, and reports those that are not met.
    ///
    /// It runs code of the user, so the caller holds no lock.
    ///
    /// - Parameter mostAttempts: How often it begins again because a value has changed meanwhile.
    func checkRequirements(attempts mostAttempts: Int = mostCheckAttempts) {
        // A reporter that reads a setting begins a check if one is due, so none is called before this one has ended.
        var dropped: [SettingsError] = []
        defer { for error in dropped { report(error) } }
        var attempts = 0
        while attempts < mostAttempts {
            let version = state.withLock { $0.held.version }
            // Reading can record changes of other processes.
            let values = CheckScope.run { readConsistently() }
            guard values.held.isCheckDue else { return }
            let requirements = requirementTable.withLock(\.all)
            if values.held.version == version {
                let check = CheckScope.run { RequirementCheck(requirements, values, of: self) }
                if let overtaken = check.overtaken {
                    // There are fewer of them now.
                    if let error = drop(overtaken, upTo: values.pendingWrites.version, isChecked: true) {
                        dropped.append(error)
                    }
                    continue
                }
                // Observers and reporters that it calls may change values, which are checked then.
                if end(check, since: version) { return }
            }
            attempts += 1
        }
    }

    /// Checks the requirements after a change that may concern them was recorded.
    func checkIfDue() {
        // A check that is running begins again.
        guard state.checkProgress.isCheckDue, !CheckScope.isCurrent else { return }
        afterTransaction { [self] in checkRequirements() }
    }

    /// Uses the result of a check, and notifies the subscribers of the values that change.
    ///
    /// - Returns: `false` if a value has changed since the check began.
    private func end(_ check: RequirementCheck, since version: UInt64) -> Bool {
        // The store may find a change here, whose delivery must not begin another check on top of this one.
        let outcome = CheckScope.run {
            store.withValue(forKey: "") { _ in
                state.withLock { state -> (StoreDelivery, new: [SettingsError], settled: [SettingsError])? in
                    guard state.held.version == version else { return nil }
                    let changes = check.replacedKeys.compactMap { key -> StoreChange? in
                        guard !state.pendingWrites.contains(key) else { return nil }
                        let old = state.held.value(forKey: key, over: check.stored[key])
                        return PendingWrites.change(ofKey: key, from: old, to: check.used[key] ?? check.stored[key])
                    }
                    let (new, settled) = state.held.endCheck(check.used, check.errors)
                    self.invalidate()
                    let commit = StoreCommit(changes: changes.sorted { $0.key < $1.key }, origin: .external)
                    return (state.subscribers.offer(commit), new, settled)
                }
            }
        }
        guard let (delivery, new, settled) = outcome else { return false }
        retainUsedValues(of: check)
        afterTransaction { delivery.perform() }
        for error in settled { reportRecovery(from: error) }
        for error in new { report(error) }
        // The copy may lack the values that are used.
        if !check.used.isEmpty { (store as? any RecoveringStore)?.noteReplacement() }
        return true
    }

    /// Retains the values that are used, for processes that begin while the others are stored, and no longer those that were.
    private func retainUsedValues(of check: RequirementCheck) {
        for key in check.replacedKeys {
            let replacement = check.used[key].map { ValueReplacement(key: key, stored: check.stored[key], used: $0) }
            valueHealth.withLock { table in
                table.note(replacement, forKey: key)
                if replacement != nil { table.noteReplacement(ofKey: key) }
            }
        }
    }
}

/// Which stored values are used, and which are replaced because they do not meet a requirement.
struct RequirementCheck {
    /// The stored values of the keys of requirements.
    let stored: [String: StoredValue]
    /// The values that are used instead of stored ones.
    private(set) var used: [String: StoredValue?] = [:]
    /// The requirements that the stored values do not meet.
    private(set) var errors: [Requirement.ID: SettingsError] = [:]
    /// The pending writes of an assignment to drop, because a requirement is met only without pending writes, or not at all.
    ///
    /// Without these writes, others may meet the requirement.
    private(set) var overtaken: UnmetWrites?

    private let held: HeldValues
    private let pending: PendingWrites

    init(_ requirements: [Requirement], _ values: SettingsEngine.ConsistentRead, of engine: SettingsEngine) {
        (held, pending) = (values.held, values.pendingWrites)
        stored = held.restricted.reduce(into: [:]) { $0[$1] = engine.value(ofKey: $1, in: values.stored) }
        overtaken = overtakenWrites(requirements, isReplaced: false)
        guard overtaken == nil else { return }
        var unmet: [Requirement] = []
        for requirement in requirements {
            requirement.prepare(value)
            if requirement.error(of: value) != nil { unmet.append(requirement) }
        }
        replaceValues(requirements, in: engine.store as? any RecoveringStore)
        // A value that is used beneath a pending write is used again if the write is dropped.
        if !areMet(requirements, { stored[$0] }) {
            for (key, value) in held.checked where pending.contains(key) && used[key] == nil && value != stored[key] {
                used.updateValue(value, forKey: key)
            }
        }
        for requirement in unmet {
            let isReplaced = requirement.error(of: value) == nil
            errors[requirement.id] = engine.error(of: requirement, with: pendingOrStored, isReplaced: isReplaced)
        }
        overtaken = overtakenWrites(requirements, isReplaced: true)
    }

    /// Finds the writes of one assignment to drop; after values were replaced, those of a requirement that is still not met.
    private func overtakenWrites(_ requirements: [Requirement], isReplaced: Bool) -> UnmetWrites? {
        let checked = held.checked
        let stored = { (key: String) in checked[key] ?? self.stored[key] }
        let visible = { (key: String) in pending.value(forKey: key, over: stored(key)) }
        for requirement in requirements {
            guard let key = requirement.allKeys.first(where: pending.contains) else { continue }
            let used = isReplaced ? value : visible
            requirement.prepare(used)
            guard let error = requirement.error(of: used) else { continue }
            // Values that do not meet another requirement are not used.
            let isUsable =
                isReplaced
                || requirements.connected(to: requirement)
                    .allSatisfy { other in
                        other.prepare(stored)
                        return other.error(of: stored) == nil
                    }
            guard isUsable else { continue }
            return UnmetWrites(
                key: requirement.name(of: key),
                keys: pending.keys(assignedWith: [key]),
                error: error
            )
        }
        return nil
    }

    /// The keys of which another value than the stored one is used, or was used before.
    var replacedKeys: Set<String> { Set(used.keys).union(held.entries.keys) }

    /// The value that is used.
    private func value(forKey key: String) -> StoredValue? {
        pending.value(forKey: key, over: used[key] ?? stored[key])
    }

    private func areMet(_ requirements: [Requirement], _ value: (String) -> StoredValue?) -> Bool {
        requirements.allSatisfy { $0.error(of: value) == nil }
    }

    private func pendingOrStored(forKey key: String) -> StoredValue? {
        pending.value(forKey: key, over: stored[key])
    }

    /// Replaces values until all requirements are met that can be.
    ///
    /// Values that were replaced for one requirement may not meet another one that has been met.
    private mutating func replaceValues(_ requirements: [Requirement], in store: (any RecoveringStore)?) {
        guard !areMet(requirements, value) else { return }
        let candidates = candidates(in: store)
        for _ in requirements {
            var isReplaced = false
            for requirement in requirements where requirement.error(of: value) != nil {
                isReplaced = replaceValues(ofAll: [requirement], from: candidates) || isReplaced
            }
            guard isReplaced else { break }
        }
        // Replacing the values of one requirement may have violated another one, in turns.
        if !areMet(requirements, value) { _ = replaceValues(ofAll: requirements, from: candidates) }
    }

    /// The values that may be used, in their order: the last ones, those of the last good copy, and none, so that the defaults
    /// are used.
    private func candidates(in store: (any RecoveringStore)?) -> [(String) -> StoredValue?] {
        // New values beside those that were replaced before. A process that uses the same values may have stored them.
        let new = { [checked = held.checked, stored] (key: String) in checked[key] ?? stored[key] }
        let last = { [held, stored] (key: String) in held.usedValue(forKey: key, over: stored[key]) }
        guard let copy = store?.copiedValues() else { return [new, last, { _ in nil }] }
        // A key that the copy does not have was not set then. A copied value may itself be unusable.
        let copied = [{ copy.lastGood[$0] ?? copy.contents[$0] }, { (key: String) in copy.contents[key] }]
        // What processes have set is in the journal or, after a checkpoint, in the copy. It must not be hidden by older values.
        let besideSets = ((held.hasGap ? [] : [last]) + copied)
            .map { values in { [stored] (key: String) in copy.newer.contains(key) ? stored[key] : values(key) } }
        return [new] + besideSets + [last] + copied + [{ _ in nil }]
    }

    /// Replaces the values of some requirements by the first candidates that meet all of them.
    ///
    /// - Returns: Whether there are such candidates.
    private mutating func replaceValues(
        ofAll requirements: [Requirement],
        from candidates: [(String) -> StoredValue?]
    ) -> Bool {
        for candidate in candidates {
            let new = { [pending] in pending.value(forKey: $0, over: candidate($0)) }
            for requirement in requirements { requirement.prepare(new) }
            guard areMet(requirements, new) else { continue }
            for key in Set(requirements.flatMap(\.allKeys)) {
                let value = candidate(key)
                if value == stored[key] { used[key] = nil } else { used.updateValue(value, forKey: key) }
            }
            return true
        }
        return false
    }
}

/// A check of the requirements of some engine, which reads the values as they are.
///
/// Tasks that begin in it go on later, and check the values that they read.
final class CheckScope: Sendable {
    @TaskLocal private static var inherited: CheckScope?

    private let extent = ThreadExtent()

    /// Whether the caller is part of a check.
    static var isCurrent: Bool { inherited?.extent.isCurrent ?? false }

    static func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        let scope = CheckScope()
        return try scope.extent.run {
            // A check that begins in a validator looks at other values than the one that is being validated.
            try Validation.runWithout { try $inherited.withValue(scope, operation: body) }
        }
    }
}
