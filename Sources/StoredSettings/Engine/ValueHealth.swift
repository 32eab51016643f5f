// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "An unusable value leaves the last good one in use".

import Synchronization

/// The values that a key had before the stored one.
struct ValueHistory {
    /// The values that were replaced, newest first.
    ///
    /// Some may be unusable. There are several because settings of different types share them: a value that one of them can use
    /// may be unusable for another one.
    private var values: [Past] = []
    /// The number of values at the front between which, and after which, the key had no other ones.
    private var certainCount = 0
    /// The value after the last recorded change; `nil` if that was a removal, or other values may have come since.
    private var newest: StoredValue?
    /// Whether the key had no value before the certain ones.
    private var isComplete = false
    /// What is used instead of the stored value, when it is certain that the key had no other value in between.
    private(set) var replacement: ValueReplacement?

    private static let maximumCount = 4

    /// A value that was replaced.
    private struct Past {
        var value: StoredValue
        /// Whether another value was used instead.
        var isUnused = false
    }

    /// Records the next change of the key.
    mutating func note(_ change: StoreChange) {
        let isUnused = replacement != nil && replacement?.stored == change.old
        let used = isUnused ? replacement?.used : change.old
        guard let used, change.new != nil else {
            self = ValueHistory()
            (newest, isComplete) = (change.new, true)
            return
        }
        // Sets of this process, which need not be recorded, may have come between.
        if change.old != newest { (certainCount, isComplete) = (0, false) }
        insert(used)
        // It is no last good value, and tells which ones are older.
        if isUnused, let old = change.old { insert(old, isUnused: true) }
        (newest, replacement) = (change.new, nil)
    }

    /// Records that the key may have had any values since the last change.
    mutating func noteGap() {
        let last = replacement == nil ? newest : replacement?.used
        if let last { insert(last) }
        (certainCount, newest, isComplete, replacement) = (0, nil, false, nil)
    }

    /// Records a usable value that was read or set, because a set of this process need not be recorded.
    ///
    /// A value that was read may be an earlier one, which is used until the newest one is checked.
    mutating func noteUsable(_ value: StoredValue, isSet: Bool) {
        guard isSet || !isOrdered, value != newest ?? values.first?.value else { return }
        noteGap()
        insert(value)
        certainCount = 0
    }

    /// Whether the stored value counts as the next one after the earlier values.
    var isOrdered: Bool { newest != nil || replacement != nil }

    /// Records what is used instead of the stored value; `nil` if that is used itself.
    mutating func note(_ replacement: ValueReplacement?) {
        self.replacement = replacement
    }

    private mutating func insert(_ value: StoredValue, isUnused: Bool = false) {
        if let known = values.firstIndex(where: { $0.value == value }) {
            values.remove(at: known)
            if known < certainCount { certainCount -= 1 }
        }
        values.insert(Past(value: value, isUnused: isUnused), at: 0)
        if values.count > Self.maximumCount { values.removeLast() }
        certainCount = min(certainCount + 1, Self.maximumCount)
    }

    /// A value that may be used instead of an unusable one.
    struct Candidate {
        var value: StoredValue
        /// Whether the key had no other value in between that may be used.
        var isCertain: Bool
    }

    /// The values that may be used instead of an unusable one, newest first: those before the last good copy, and those after it.
    ///
    /// Values that are newer than the unusable one follow those before it: a subscriber may read it late, while they are checked.
    ///
    /// - Parameter stored: The unusable value.
    /// - Returns: The values; `nil` after the copy if neither it nor older values count.
    func candidates(insteadOf stored: StoredValue) -> (first: [Candidate], last: [Candidate]?) {
        let isNewest = newest == stored
        var certain = values.prefix(certainCount)[...]
        if !isNewest {
            let newer = newest.map { [Past(value: $0)] + certain } ?? Array(certain)
            let age = newer.firstIndex { $0.value == stored } ?? 0
            certain = newer[age...].drop { $0.value == stored } + newer[..<age]
        }
        var first = certain.filter { !$0.isUnused }.map { Candidate(value: $0.value, isCertain: isNewest) }
        if let replacement, replacement.stored == stored, let used = replacement.used {
            first.append(Candidate(value: used, isCertain: true))
        }
        let last = values.dropFirst(certainCount).filter { !$0.isUnused }
            .map { Candidate(value: $0.value, isCertain: false) }
        return (first, isNewest && isComplete ? nil : last)
    }
}

/// What is known about the values of a key: the earlier ones, one of which is used instead of an unusable one, and the reports
/// about that one.
///
/// All settings of the key share it, so that a setting that is declared again knows the last good value, and one unusable value
/// is reported once, however many reads, streams and observations meet it.
final class ValueHealth: Sendable {
    /// A report about an unusable value.
    struct Report: Sendable {
        let fact: String
        let suite: String
        let reporter: any SettingsReporter
        /// `nil` until the report is made.
        var error: SettingsError?
    }

    /// Whether the settings of the key have to examine the value.
    private enum Examination {
        /// Before a checkpoint, which replaces the copy.
        case atCheckpoint
        /// The value has changed since they did.
        case due
        case done
    }

    private struct State {
        var history = ValueHistory()
        var examination = Examination.atCheckpoint
        /// The number of times that an examination has become due.
        var changes = 0
        /// A setting of each type among those that the registry does not have under this key.
        var unshared = WeakTable<ObjectIdentifier, AnySettingBox>()
        /// The value that a setting has converted last.
        var usable: StoredValue?
        /// The unusable value that the reports are about.
        var unusable: StoredValue?
        var reports: [Report] = []
        var isRecursionReported = false
    }

    private let state = Locked(State())
    /// Whether the values are secret.
    let secrecy = SecretMark()
    /// Whether a set of this process changes what is known about the order of the values.
    private let isOrdered = Atomic(false)

    /// The number of reports that are made about one value: settings of different types may reject it for different reasons.
    private static let maximumReports = 16

    /// The values, and the number of changes until then.
    var history: (values: ValueHistory, changes: Int) { state.withLock { ($0.history, $0.changes) } }

    /// Records the next change of the key.
    func note(_ change: StoreChange) {
        withHistory { $0.note(change) }
    }

    private func withHistory(isExamined: Bool = false, _ body: (inout ValueHistory) -> Void) {
        state.withLock { state in
            body(&state.history)
            if !isExamined { (state.examination, state.changes) = (.due, state.changes + 1) }
            isOrdered.store(state.history.isOrdered, ordering: .relaxed)
        }
    }

    /// Records a value that a setting of this process has stored.
    func noteSet(_ stored: StoredValue?) {
        guard isOrdered.load(ordering: .relaxed), let stored else { return }
        withHistory { $0.noteUsable(stored, isSet: true) }
    }

    /// Records that the key may have had any values since the last change.
    func noteGap() {
        withHistory { $0.noteGap() }
    }

    /// Records a usable value that was read.
    ///
    /// - Parameter stored: The stored value; `nil` when the key has none.
    /// - Returns: The reports that are settled. A value that another setting of the key has rejected settles none.
    func noteUsable(_ stored: StoredValue?) -> [(error: SettingsError, reporter: any SettingsReporter)] {
        state.withLock { state in
            if let stored {
                state.history.noteUsable(stored, isSet: false)
                state.usable = stored
                isOrdered.store(state.history.isOrdered, ordering: .relaxed)
            }
            guard let unusable = state.unusable, unusable != stored else { return [] }
            defer { (state.unusable, state.reports) = (nil, []) }
            return state.reports.compactMap { report in report.error.map { ($0, report.reporter) } }
        }
    }

    /// Whether the settings of the key use a stored value.
    func uses(_ value: StoredValue?) -> Bool {
        state.withLock { state in
            guard state.history.replacement == nil else { return false }
            return value == nil || (state.usable == value && state.unusable != value)
        }
    }

    /// The value that is used instead of a stored one, which may be none; `nil` if that is used itself.
    func used(insteadOf stored: StoredValue?) -> StoredValue?? {
        state.withLock { state in
            if let replacement = state.history.replacement, replacement.stored == stored {
                return .some(replacement.used)
            }
            return stored != nil && state.unusable == stored && state.usable != stored ? .some(nil) : nil
        }
    }

    /// Records what is used instead of the stored value, unless that has changed since.
    ///
    /// - Returns: Whether it was not used before.
    func note(_ replacement: ValueReplacement, since changes: Int) -> Bool {
        state.withLock { state in
            // What is used instead of a value that is still stored does not change.
            guard state.changes == changes, state.history.replacement?.stored != replacement.stored else {
                return false
            }
            state.history.note(replacement)
            isOrdered.store(true, ordering: .relaxed)
            return true
        }
    }

    /// Records what is used instead of the stored value; `nil` if that is used itself.
    func note(_ replacement: ValueReplacement?) {
        // A value that is used again has to be examined: it is the last good one then.
        withHistory(isExamined: replacement != nil) { $0.note(replacement) }
    }

    /// Lets a setting that is declared later examine the value, too.
    func noteDeclaration() {
        state.withLock { state in
            if state.examination == .done { (state.examination, state.changes) = (.due, state.changes + 1) }
        }
    }

    /// Adds a setting that the registry does not have under this key, unless one with values of the same type is known.
    func add(_ box: AnySettingBox) {
        // The result is released outside the lock, because that may run user code.
        _ = state.withLock { state -> [AnySettingBox] in
            if let known = state.unshared[box.valueType] { return [known] }
            return state.unshared.insert(box, forKey: box.valueType)
        }
    }

    /// Whether the settings have to examine the value.
    func isExaminationDue(forCheckpoint isForCheckpoint: Bool) -> Bool {
        state.withLock { $0.examination == .due || (isForCheckpoint && $0.examination == .atCheckpoint) }
    }

    /// The settings that the registry does not have, and the number of changes that they examine.
    var unshared: (boxes: [AnySettingBox], changes: Int) {
        state.withLock { ($0.unshared.objects, $0.changes) }
    }

    /// Records that the settings have examined the value, unless it has changed since.
    func endExamination(of changes: Int) {
        state.withLock { if $0.changes == changes { $0.examination = .done } }
    }

    /// Records an unusable value.
    ///
    /// - Parameters:
    ///   - stored: The value.
    ///   - fact: Why it is unusable.
    ///   - suite: The name of the setting's suite.
    ///   - reporter: The reporter of the setting.
    /// - Returns: Whether to report it: the reporter has not received this before. The caller calls ``note(_:to:)`` then. Also
    ///   the reports about another unusable value, which are settled.
    func noteUnusable(
        _ stored: StoredValue,
        _ fact: String,
        suite: String,
        _ reporter: any SettingsReporter
    ) -> (isNew: Bool, settled: [(error: SettingsError, reporter: any SettingsReporter)]) {
        state.withLock { state in
            var settled: [(error: SettingsError, reporter: any SettingsReporter)] = []
            if state.unusable != stored {
                settled = state.reports.compactMap { report in report.error.map { ($0, report.reporter) } }
                (state.unusable, state.reports) = (stored, [])
            }
            let isKnown = state.reports.contains {
                $0.reporter === reporter && $0.fact == fact && $0.suite == suite
            }
            guard !isKnown, state.reports.count < Self.maximumReports else { return (false, settled) }
            state.reports.append(Report(fact: fact, suite: suite, reporter: reporter))
            return (true, settled)
        }
    }

    /// Records that a validator reads its own setting.
    ///
    /// - Returns: Whether to report it.
    func noteRecursion() -> Bool {
        state.withLock { !exchange(&$0.isRecursionReported, with: true) }
    }

    /// Records the error that was reported about the unusable value.
    func note(_ error: SettingsError, to reporter: any SettingsReporter) {
        state.withLock { state in
            let index = state.reports.firstIndex {
                $0.reporter === reporter && $0.fact == error.fact && $0.suite == error.suite
            }
            if let index { state.reports[index].error = error }
        }
    }
}

/// What is known about the values of each key that a setting has declared, under any of its names.
struct ValueHealthTable {
    private(set) var entries: [String: ValueHealth] = [:]
    /// The keys whose entries may have a replacement.
    private var replacedKeys: Set<String> = []
    /// The number of entries at which those that no setting uses are removed.
    private var limit = leastLimit

    private static let leastLimit = 1_024

    /// Returns the entry of a key, and creates it if necessary.
    mutating func health(ofKey key: String) -> ValueHealth {
        if let known = entries[key] {
            known.noteDeclaration()
            return known
        }
        if entries.count >= limit {
            for key in Array(entries.keys) where isKnownUniquelyReferenced(&entries[key]) { entries[key] = nil }
            limit = max(Self.leastLimit, 2 * entries.count)
        }
        let new = ValueHealth()
        entries[key] = new
        return new
    }

    /// Records what is used instead of the stored value of a key; `nil` if that is used itself.
    func note(_ replacement: ValueReplacement?, forKey key: String) {
        entries[key]?.note(replacement)
    }

    /// Records that a key has a replacement.
    mutating func noteReplacement(ofKey key: String) {
        replacedKeys.insert(key)
    }

    /// What is used instead of stored values.
    mutating func replacements() -> [ValueReplacement] {
        let all = replacedKeys.compactMap { entries[$0]?.history.values.replacement }
        replacedKeys = Set(all.map(\.key))
        return all
    }

    /// The values that were used instead of those that changes replace.
    func usedValues(insteadOf changes: [StoreChange]) -> [String: StoredValue?] {
        changes.reduce(into: [:]) { used, change in
            if let value = entries[change.key]?.used(insteadOf: change.old) {
                used.updateValue(value, forKey: change.key)
            }
        }
    }

    /// Records changes.
    func note(_ commit: StoreCommit) {
        guard !entries.isEmpty else { return }
        for change in commit.changes { entries[change.key]?.note(change) }
        switch commit.gap {
        case .allKeys: for health in entries.values { health.noteGap() }
        case .key(let key): entries[key]?.noteGap()
        case nil: break
        }
    }
}

/// The value of a setting when it was read first, by which a change that needs a restart is noticed.
final class StartValue: Sendable {
    private let identity = Locked<StoredValue??>(nil)

    /// Notes the identity of a value, unless another was noted before.
    ///
    /// - Parameter makeIdentity: Runs user code, so it is called under no lock.
    func note(_ makeIdentity: () -> StoredValue?) {
        guard identity.withLock({ $0 == nil }) else { return }
        let new = makeIdentity()
        identity.withLock { identity in
            if identity == nil { identity = .some(new) }
        }
    }

    /// Whether a value differs from the first one.
    func differs(from other: StoredValue?) -> Bool {
        identity.withLock { $0.map { $0 != other } ?? false }
    }
}

// MARK: - The search

extension SettingBox {
    /// Returns the last good value, for an unusable stored value.
    ///
    /// It may read the last good copy of the settings file.
    ///
    /// - Parameters:
    ///   - stored: The unusable value.
    ///   - isNoted: Whether the value that is found is in use from now on.
    ///   - isForChange: Whether a structure takes no members from secret files.
    /// - Returns: The last good value; `nil` when none is known that this setting can use.
    func lastGoodReading(
        insteadOf stored: StoredValue,
        isNoted: Bool = true,
        isForChange: Bool = false
    ) -> Reading? {
        let name = storedKey ?? key.name
        let health = health(ofStoredKey: name)
        let (history, changes) = health.history
        guard let (reading, isCertain) = find(insteadOf: stored, name, history, isForChange) else {
            // A value under an old key was used before there was one under the new key.
            let old = key.storedKeys.all.drop { $0 != name }.dropFirst().compactMap(engine.value(forKey:))
            return firstUsable(of: old.map { .init(value: $0, isCertain: false) }, isForChange)?.reading
        }
        if isNoted, isCertain, let value = reading.stored {
            let replacement = ValueReplacement(key: name, stored: stored, used: value)
            guard health.note(replacement, since: changes) else { return reading }
            engine.valueHealth.withLock { $0.noteReplacement(ofKey: name) }
            // The copy may lack it already.
            (engine.store as? any RecoveringStore)?.noteReplacement()
            // Another process may have written it into the copy, after the default was used.
            if !CheckScope.isCurrent { engine.layersChanged(ofKeys: [name]) }
            engine.afterTransaction { [engine] in engine.deliverLayerChanges(ofKeys: [name]) }
        }
        return reading
    }

    /// Searches for the last good value.
    ///
    /// - Returns: The value, and whether no other one can have been stored since; `nil` if there is none.
    private func find(
        insteadOf unusable: StoredValue,
        _ name: String,
        _ history: ValueHistory,
        _ isForChange: Bool
    ) -> (reading: Reading, isCertain: Bool)? {
        let (first, last) = history.candidates(insteadOf: unusable)
        if let found = firstUsable(of: first, isForChange) { return found }
        guard let last else { return nil }
        var copied: [StoredValue?] = []
        // A value that was set or removed since the last checkpoint is newer than the copy.
        if let copy = (engine.store as? any RecoveringStore)?.copiedValues(), !copy.newer.contains(name) {
            // The retained value is older than the copied one, which may have become usable since.
            copied = [copy.contents[name], copy.lastGood[name] ?? nil].filter { $0 != unusable }
        }
        return firstUsable(of: copied.compactMap { $0.map { .init(value: $0, isCertain: true) } } + last, isForChange)
    }

    private func firstUsable(
        of candidates: [ValueHistory.Candidate],
        _ isForChange: Bool
    ) -> (reading: Reading, isCertain: Bool)? {
        for candidate in candidates {
            do {
                return (try storedReading(of: candidate.value, isForChange: isForChange), candidate.isCertain)
            } catch {
                // It is unusable as well, and is not the stored value, so there is nothing to report.
                continue
            }
        }
        return nil
    }
}
