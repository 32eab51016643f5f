// SPDX-License-Identifier: Apache-2.0

/// The layers around the store of a suite.
final class LayerList: Sendable {
    /// How often a value that changes all the time is read, at most: a combination of values that was current at one time is
    /// not worth more.
    static let maximumOfReads = 16

    /// All sources, in order of precedence, with the store at one place.
    let sources: [LayerSource]
    /// The index of the store.
    private let position: Int
    /// The files and suites among the sources; `nil` for sources whose values do not change.
    let files: LayerFiles?
    /// The errors of the order.
    let problems: [SettingsError]
    private let reported = Locked<Set<String>>([])

    /// Creates a list; `nil` if the store would be the only source.
    init?(_ given: [SettingsSource], suiteName name: String, engine: SettingsEngine) {
        // A store is no source of itself a second time.
        let all = given.withStore.flatMap { $0.resolved(suiteName: name) }.filter { $0.suite?.engine !== engine }
        let isStoredTwice = all.count(where: { $0 == .stored }) > 1
        // Behind itself, a source never has a value that is used.
        let unique = all.reduce(into: [LayerSource]()) { if !$0.contains($1) { $0.append($1) } }
        guard unique.count > 1 || isStoredTwice else { return nil }
        let managed = unique.filter(\.isManaged)
        sources = managed + unique.filter { !$0.isManaged }
        position = sources.firstIndex(of: .stored) ?? sources.endIndex
        let changing = sources.filter(\.canChange)
        files = changing.isEmpty ? nil : engine.layerFiles(of: changing)
        var problems: [SettingsError] = []
        if !unique.starts(with: managed) { problems.append(.managedBehindOthers) }
        if isStoredTwice { problems.append(.storedTwice) }
        self.problems = problems
    }

    /// The sources above the store.
    var overrides: ArraySlice<LayerSource> { sources[..<position] }

    /// The sources beneath the store.
    var bases: ArraySlice<LayerSource> { sources[(position + 1)...] }

    /// The newest contents of the files that are known; reads them first if that was not done before.
    var snapshot: LayerSnapshot { files?.snapshot ?? .empty }

    /// Returns the newest contents of the files that are known, with the secret of a setting.
    func snapshot(including names: @autoclosure () -> SecretNames, ofKey key: String) -> LayerSnapshot {
        files?.snapshot(including: names(), ofKey: key) ?? .empty
    }

    /// Records the variables of a setting, which name no files for other settings.
    func addVariables(of keys: StoredKeys, _ traits: SettingTraits) {
        files?.addVariables(sources.flatMap { OverrideNames(of: keys, traits, in: $0).all }, ofKey: keys.current)
    }

    /// The prefixes of the variables of the suite.
    var prefixes: [String] {
        sources.compactMap { source in
            if case .environment(_, let prefix, _) = source { prefix } else { nil }
        }
    }

    /// Records an error as reported, so that several settings with one key report it once.
    ///
    /// - Returns: Whether the same error was not recorded before.
    func isFirst(_ error: SettingsError) -> Bool {
        reported.withLock { $0.insert(error.message).inserted }
    }

    /// Forgets errors that were corrected, so that the same ones are reported again.
    ///
    /// - Returns: Those that were reported, each to one caller.
    func forget(_ errors: [SettingsError]) -> [SettingsError] {
        guard !errors.isEmpty else { return [] }
        return reported.withLock { reported in errors.filter { reported.remove($0.message) != nil } }
    }
}

extension LayerList? {
    /// Whether both lists result in the same values.
    func isLike(_ other: LayerList?) -> Bool {
        self === other || self?.files === other?.files && self?.sources == other?.sources
    }
}

/// The value of a setting in one layer, or the reason why it cannot be used.
struct LayerReading<Value: Sendable>: Sendable {
    let layer: SettingsLayer
    /// The name of the flag or the variable, or the path of the file.
    let source: String
    var result: Result<Value, SettingsError>
    /// What the value is decoded from, without the members that are left out.
    var stored: StoredValue?
    /// The value before it is validated, which has the members that a structure of a higher layer lacks.
    var unvalidated: Value?
    /// What has the members that this structure lacks; `nil` if it lacks none.
    var lower: SettingBox<Value>.Reading?
    /// The errors of members that are left out.
    var memberProblems: [SettingsError] = []
    /// The file or the suite; `nil` for layers of text.
    var document: LayerDocument?
    /// The name to use instead, if the source is a name that follows from an old key.
    var newSource: String?

    /// Whether the value, or a member of it, comes from a secret file.
    var isFromSecretFile: Bool { layer == .secretFile || lower?.isFromSecretFile ?? false }
}

extension Sequence {
    /// Returns the errors of the layers above the one that is used, and of members that are left out.
    ///
    /// - Parameter includesHidden: Whether to return also those of layers that have no part in the value that is used.
    /// - Returns: The errors.
    func problems<Value>(
        includingHidden includesHidden: Bool = false
    ) -> [SettingsError] where Element == LayerReading<Value> {
        var errors: [SettingsError] = []
        var (isUsed, isHidden) = (false, false)
        for reading in self {
            errors += reading.memberProblems
            // Members of an invalid value can be part of a valid one.
            let isPart = isUsed && !isHidden && reading.unvalidated != nil
            if case .failure(let error) = reading.result, !isPart { errors.append(error) }
            if case .success = reading.result { isUsed = true }
            if isUsed, reading.unvalidated != nil, reading.lower == nil { isHidden = true }
            if isHidden, !includesHidden { break }
        }
        return errors
    }

    /// Returns the reading that is used, and its value.
    func firstUsable<Value>() -> (reading: LayerReading<Value>, value: Value)? where Element == LayerReading<Value> {
        for reading in self {
            if case .success(let value) = reading.result { return (reading, value) }
        }
        return nil
    }
}

/// The readings of a setting in the layers on one side of the store, until a file changes.
final class LayerCache<Value: Sendable>: Sendable {
    private struct Known {
        var snapshot: LayerSnapshot
        /// The value beneath, if it has members of these readings.
        var lower: StoredValue??
        var readings: [LayerReading<Value>]
        /// The problems of these readings, which were reported.
        var problems: [SettingsError]

        func isCurrent(in snapshot: LayerSnapshot, over stored: StoredValue?) -> Bool {
            // The value that is used instead of an unusable one can change.
            let isLasting = readings.allSatisfy { $0.lower?.isOfUnusable != true }
            return self.snapshot === snapshot && lower.map { $0 == stored && isLasting } ?? true
        }
    }

    private let known = Locked<Known?>(nil)

    /// Returns the readings of a snapshot over a stored value; `nil` when they are not known.
    func readings(in snapshot: LayerSnapshot, over stored: StoredValue?) -> [LayerReading<Value>]? {
        known.withLock { $0?.isCurrent(in: snapshot, over: stored) == true ? $0?.readings : nil }
    }

    /// Stores readings.
    ///
    /// - Parameters:
    ///   - readings: The readings, highest precedence first.
    ///   - snapshot: The snapshot that they are from.
    ///   - stored: The value beneath.
    ///   - problems: The problems of the readings, which the caller reports.
    /// - Returns: The problems that were reported before; `nil` if these readings, or newer ones, are known.
    func store(
        _ readings: [LayerReading<Value>],
        from snapshot: LayerSnapshot,
        over stored: StoredValue?,
        reporting problems: [SettingsError]
    ) -> [SettingsError]? {
        let isMerged = readings.contains { $0.lower != nil }
        let new = Known(
            snapshot: snapshot,
            lower: isMerged ? .some(stored) : nil,
            readings: readings,
            problems: problems
        )
        let old = known.withLock { known -> Known?? in
            if let known, known.snapshot.number > snapshot.number || known.isCurrent(in: snapshot, over: stored) {
                return nil
            }
            return exchange(&known, with: new)
        }
        // The old readings end outside the lock: the end of a value may run user code.
        return old.map { $0?.problems ?? [] }
    }
}
