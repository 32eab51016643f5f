// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Reading.md, "An unusable value leaves the last good one in use".

import Synchronization

/// The last good value of a key, and the reports about an unusable one.
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

    private struct State {
        /// The stored values that were usable last, newest first; empty when the key has no value.
        var lastGood: [StoredValue] = []
        /// The unusable value that the reports are about.
        var unusable: StoredValue?
        var reports: [Report] = []
        var isRecursionReported = false
    }

    private let state = Locked(State())

    /// The number of reports that are made about one value: settings of different types may reject it for different reasons.
    private static let maximumReports = 16

    /// The stored values that were usable last, newest first; empty when the key has no value.
    ///
    /// There are several because settings of different types share them: a value that one of them can use may be unusable for
    /// another one.
    var lastGood: [StoredValue] { state.withLock { $0.lastGood } }

    /// Notes a value that is in use.
    ///
    /// - Parameter stored: The stored value; `nil` when the key has none.
    /// - Returns: The reports that are settled. A value that another setting of the key has rejected settles none.
    func noteUsable(_ stored: StoredValue?) -> [(error: SettingsError, reporter: any SettingsReporter)] {
        state.withLock { state in
            if let stored { state.lastGood.moveToFront(stored) } else { state.lastGood = [] }
            guard let unusable = state.unusable, unusable != stored else { return [] }
            defer { (state.unusable, state.reports) = (nil, []) }
            return state.reports.compactMap { report in report.error.map { ($0, report.reporter) } }
        }
    }

    /// Forgets the values that were usable, because the key had no value since.
    func forgetLastGood() {
        state.withLock { $0.lastGood = [] }
    }

    /// Notes an earlier value that is used instead of an unusable one.
    func noteInUse(_ lastGood: StoredValue) {
        state.withLock { $0.lastGood.moveToFront(lastGood) }
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

/// What is known about the values of each key of an engine.
struct ValueHealthTable {
    private var entries: [String: ValueHealth] = [:]
    /// The number of entries at which those that no setting uses are removed.
    private var limit = leastLimit

    private static let leastLimit = 1_024

    /// Returns the entry of a key, and creates it if necessary.
    mutating func health(forKey key: String) -> ValueHealth {
        if let known = entries[key] { return known }
        if entries.count >= limit {
            for key in Array(entries.keys) where isKnownUniquelyReferenced(&entries[key]) { entries[key] = nil }
            limit = max(Self.leastLimit, 2 * entries.count)
        }
        let new = ValueHealth()
        entries[key] = new
        return new
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
        let store = engine.store as? any RecoveringStore
        let name = storedKey ?? key.name
        let history = store?.history(ofKey: name, before: stored)
        guard let (reading, isCertain) = find(insteadOf: stored, history, in: store, name) else {
            // What was in use before was removed since.
            if isNoted, history?.isComplete == true { health.forgetLastGood() }
            return nil
        }
        if isNoted, let value = reading.stored {
            health.noteInUse(value)
            // A secret that was replaced must not survive on the disk.
            if isCertain, !engine.isSecret(name) { store?.retain(value, insteadOf: stored, forKey: name) }
        }
        return reading
    }

    /// Searches for the last good value.
    ///
    /// - Returns: The value, and whether no other one can have been stored since; `nil` if there is none.
    private func find(
        insteadOf unusable: StoredValue,
        _ history: LastGoodValues.History?,
        in store: (any RecoveringStore)?,
        _ name: String
    ) -> (reading: Reading, isCertain: Bool)? {
        if let history {
            if let reading = firstUsable(of: history.values, except: unusable) { return (reading, true) }
            guard !history.isComplete else { return nil }
        }
        if let reading = firstUsable(of: health.lastGood, except: unusable) { return (reading, history != nil) }
        // A value that was set or removed since the last checkpoint is newer than the copy.
        guard let copy = store?.copiedValues(), !copy.newer.contains(name) else { return nil }
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
