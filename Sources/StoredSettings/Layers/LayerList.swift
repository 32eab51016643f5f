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
    let result: Result<Value, SettingsError>
    /// The stored form of the value; `nil` for layers of text.
    var stored: StoredValue?
    /// The file or the suite; `nil` for layers of text.
    var document: LayerDocument?
    /// The name to use instead, if the source is a name that follows from an old key.
    var newSource: String?
}

extension Sequence {
    /// Returns the errors of the layers above the one that is used.
    func problems<Value>() -> [SettingsError] where Element == LayerReading<Value> {
        var errors: [SettingsError] = []
        for reading in self {
            guard case .failure(let error) = reading.result else { break }
            errors.append(error)
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
        var readings: [LayerReading<Value>]
        /// The problems of these readings, which were reported.
        var problems: [SettingsError]
    }

    private let known = Locked<Known?>(nil)

    /// Returns the readings of a snapshot; `nil` when they are not known.
    func readings(in snapshot: LayerSnapshot) -> [LayerReading<Value>]? {
        known.withLock { $0?.snapshot === snapshot ? $0?.readings : nil }
    }

    /// Stores readings.
    ///
    /// - Parameters:
    ///   - readings: The readings, highest precedence first.
    ///   - snapshot: The snapshot that they are from.
    ///   - problems: The problems of the readings, which the caller reports.
    /// - Returns: The problems that were reported before; `nil` if these readings, or newer ones, are known.
    func store(
        _ readings: [LayerReading<Value>],
        from snapshot: LayerSnapshot,
        reporting problems: [SettingsError]
    ) -> [SettingsError]? {
        let old = known.withLock { known -> Known?? in
            if let known, known.snapshot.number >= snapshot.number { return nil }
            return exchange(&known, with: Known(snapshot: snapshot, readings: readings, problems: problems))
        }
        // The old readings end outside the lock: the end of a value may run user code.
        return old.map { $0?.problems ?? [] }
    }
}
