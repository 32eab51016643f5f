// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "An unusable value leaves the last good one in use".

import Synchronization

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

    /// What is known about the values before the stored one.
    struct History {
        /// The values that others have replaced, and those that were in use, newest first.
        ///
        /// Some may be unusable. There are several because settings of different types share them: a value that one of them can
        /// use may be unusable for another one.
        fileprivate(set) var earlier: [StoredValue] = []
        /// The value after the last change by others; `nil` if that was a removal, or others may have come before it.
        fileprivate(set) var newest: StoredValue?
        /// Whether the key had no value before these, so that none from before counts.
        fileprivate(set) var isComplete = false
    }

    private struct State {
        var history = History()
        var replacement: ValueReplacement?
        /// Whether a setting of the key has examined the value since others have changed it.
        var isExamined = false
        /// The unusable value that the reports are about.
        var unusable: StoredValue?
        var reports: [Report] = []
        var isRecursionReported = false
    }

    private let state = Locked(State())

    /// The number of reports that are made about one value: settings of different types may reject it for different reasons.
    private static let maximumReports = 16

    var history: History { state.withLock { $0.history } }

    /// The value that is used instead of the stored one.
    var replacement: ValueReplacement? { state.withLock { $0.replacement } }

    /// Notes a change by others, or a removal.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - isNext: Whether the key had no other value in between.
    func note(_ change: StoreChange, isNext: Bool) {
        state.withLock { state in
            (state.isExamined, state.replacement) = (false, nil)
            guard isNext else {
                (state.history.newest, state.history.isComplete) = (nil, false)
                return
            }
            if let old = change.old, change.new != nil {
                // A set of this process, which is not noted, may have come between.
                if old != state.history.newest { state.history.isComplete = false }
                state.history.earlier.moveToFront(old)
            } else {
                (state.history.earlier, state.history.isComplete) = ([], true)
            }
            state.history.newest = change.new
        }
    }

    /// Notes a value that is in use.
    ///
    /// - Parameter stored: The stored value; `nil` when the key has none.
    /// - Returns: The reports that are settled. A value that another setting of the key has rejected settles none.
    func noteUsable(_ stored: StoredValue?) -> [(error: SettingsError, reporter: any SettingsReporter)] {
        state.withLock { state in
            if let stored {
                state.history.earlier.moveToFront(stored)
            } else {
                state.history = History(isComplete: true)
            }
            guard let unusable = state.unusable, unusable != stored else { return [] }
            defer { (state.unusable, state.reports) = (nil, []) }
            return state.reports.compactMap { report in report.error.map { ($0, report.reporter) } }
        }
    }

    /// Notes an earlier value that is used instead of an unusable one.
    func noteInUse(_ value: StoredValue) {
        state.withLock { $0.history.earlier.moveToFront(value) }
    }

    /// Notes what is used instead of the stored value; `nil` if that is used itself.
    func note(_ replacement: ValueReplacement?) {
        state.withLock { $0.replacement = replacement }
    }

    /// Whether a setting has to examine the value; `false` until others change it again.
    func beginExamination() -> Bool {
        state.withLock { !exchange(&$0.isExamined, with: true) }
    }

    /// Notes an unusable value.
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

    /// Notes the error that was reported about the unusable value.
    func note(_ error: SettingsError, to reporter: any SettingsReporter) {
        state.withLock { state in
            let index = state.reports.firstIndex {
                $0.reporter === reporter && $0.fact == error.fact && $0.suite == error.suite
            }
            if let index { state.reports[index].error = error }
        }
    }
}

extension [StoredValue] {
    /// The number of values that are remembered.
    private static let maximumCount = 4

    /// Makes a value the first one, and forgets the last one of too many.
    mutating func moveToFront(_ value: StoredValue) {
        if first == value { return }
        removeAll { $0 == value }
        insert(value, at: 0)
        if count > Self.maximumCount { removeLast() }
    }
}

/// What is known about the values of each key that a setting has declared.
struct ValueHealthTable {
    private(set) var entries: [String: ValueHealth] = [:]
    /// The current keys of settings, by their old ones.
    private var currentKeys: [String: String] = [:]
    /// The number of entries at which those that no setting uses are removed.
    private var limit = leastLimit

    private static let leastLimit = 1_024

    /// Returns the entry of a setting, and creates it if necessary.
    mutating func health(of keys: StoredKeys) -> ValueHealth {
        for old in keys.old { currentKeys[old] = keys.current }
        if let known = entries[keys.current] { return known }
        if entries.count >= limit {
            for key in Array(entries.keys) where isKnownUniquelyReferenced(&entries[key]) { entries[key] = nil }
            currentKeys = currentKeys.filter { entries[$0.value] != nil }
            limit = max(Self.leastLimit, 2 * entries.count)
        }
        let new = ValueHealth()
        entries[keys.current] = new
        return new
    }

    /// Notes changes by others, and removals.
    func note(_ commit: StoreCommit) {
        guard !entries.isEmpty else { return }
        for change in commit.changes where commit.origin == .external || change.new == nil {
            health(ofStoredKey: change.key)?.note(change, isNext: commit.isNext)
        }
    }

    /// The entry of the setting whose value is stored under a key.
    func health(ofStoredKey key: String) -> ValueHealth? {
        entries[key] ?? currentKeys[key].flatMap { entries[$0] }
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
    /// - Returns: The last good value; `nil` when none is known that this setting can use.
    func lastGoodReading(insteadOf stored: StoredValue, isNoted: Bool = true) -> Reading? {
        let name = storedKey ?? key.name
        guard let (reading, isCertain) = find(insteadOf: stored, name) else { return nil }
        if isNoted, let value = reading.stored {
            health.noteInUse(value)
            if isCertain { health.note(ValueReplacement(key: name, stored: stored, used: value)) }
        }
        return reading
    }

    /// Searches for the last good value.
    ///
    /// - Returns: The value, and whether no other one can have been stored since; `nil` if there is none.
    private func find(insteadOf unusable: StoredValue, _ name: String) -> (reading: Reading, isCertain: Bool)? {
        let history = health.history
        let isNewest = history.newest == unusable
        if let reading = firstUsable(of: history.earlier, except: unusable) { return (reading, isNewest) }
        guard !isNewest || !history.isComplete else { return nil }
        // A value that was set or removed since the last checkpoint is newer than the copy.
        guard let copy = (engine.store as? any RecoveringStore)?.copiedValues(), !copy.newer.contains(name) else {
            return nil
        }
        // The retained value is older than the copied one, which may have become usable since.
        let copied = [copy.contents[name], copy.lastGood[name]].compactMap(\.self)
        return firstUsable(of: copied, except: unusable).map { ($0, true) }
    }

    private func firstUsable(of values: [StoredValue], except unusable: StoredValue) -> Reading? {
        for value in values where value != unusable {
            do {
                return Reading(value: try decode(value), stored: value)
            } catch {
                // It is unusable as well, and is not the stored value, so there is nothing to report.
                continue
            }
        }
        return nil
    }
}
