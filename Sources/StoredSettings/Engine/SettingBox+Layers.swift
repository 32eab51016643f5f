// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Layers.md, "The kind of a layer decides its place".

extension SettingBox {
    /// The value of the highest layer above the store; `nil` when there is none.
    var overrideReading: Reading? {
        overrideReadings.used()
            .map { reading, value in
                Reading(value: value, stored: reading.stored, isFromSecretFile: reading.layer == .secretFile)
            }
    }

    /// The value of the highest layer beneath the store; `nil` when there is none.
    var baseReading: Reading? {
        guard layers != nil else { return nil }
        return baseReadings.used().map { Reading(value: $1, stored: $0.stored) }
    }

    /// The value of now, with the layers of now.
    var currentReading: Reading { consistentReading(of: storedValue) }

    /// Returns the value of a stored value that was just read, or of a newer one.
    ///
    /// If the stored value changes while the layers are read, they may be newer than it, and both together a combination that
    /// never was. Then both are read again.
    ///
    /// - Parameters:
    ///   - stored: The stored value.
    ///   - isReported: Whether to report one that cannot be used.
    /// - Returns: The value.
    func consistentReading(of stored: StoredValue?, isReported: Bool = true) -> Reading {
        func read(_ stored: StoredValue?) -> Reading { isReported ? reading(of: stored) : quietReading(of: stored) }
        guard layers?.files != nil else { return read(stored) }
        var stored = stored
        for _ in 1..<LayerList.maximumOfReads {
            let reading = read(stored)
            let newest = storedValue
            guard newest != stored else { return reading }
            stored = newest
        }
        return read(stored)
    }

    /// The readings of all layers above the store, highest precedence first.
    ///
    /// An access after a change reports the errors of the layers that precede the one in use.
    var overrideReadings: [LayerReading<Value>] { overrideReadings(isReporting: true) }

    /// The same, for a caller that returns or shows the errors itself.
    var quietOverrideReadings: [LayerReading<Value>] { overrideReadings(isReporting: false) }

    private func overrideReadings(isReporting: Bool) -> [LayerReading<Value>] {
        guard let layers, let cache = layerCaches?.overrides else { return [] }
        if let known = cache.readings(in: layers.snapshot, isReporting: isReporting) { return known }
        let names = secretNames
        let snapshot = layers.snapshot(including: names, ofKey: key.name)
        var readings = snapshot.managed.compactMap { reading(of: $0, .managed) }
        readings += layers.overrides.compactMap(reading)
        readings += names.named.compactMap { reading(ofSecretIn: $0.path, snapshot, namedBy: $0) }
        readings += names.possible.compactMap { reading(ofSecretIn: $0, snapshot, namedBy: nil) }
        let warnings = nameWarnings(of: readings, names)
        store(readings, warnings, from: snapshot, in: cache, of: layers, isReporting: isReporting)
        return readings
    }

    /// The readings of all layers beneath the store, highest precedence first.
    ///
    /// An access after a change reports the errors of the layers that precede the one in use.
    var baseReadings: [LayerReading<Value>] { baseReadings(isReporting: true) }

    /// The same, for a caller that returns or shows the errors itself.
    var quietBaseReadings: [LayerReading<Value>] { baseReadings(isReporting: false) }

    private func baseReadings(isReporting: Bool) -> [LayerReading<Value>] {
        guard let layers, let cache = layerCaches?.bases else { return [] }
        let snapshot = layers.snapshot
        if let known = cache.readings(in: snapshot, isReporting: isReporting) { return known }
        let readings = snapshot.bases.compactMap { reading(of: $0, .base) }
        store(readings, [], from: snapshot, in: cache, of: layers, isReporting: isReporting)
        return readings
    }

    /// Stores readings, and reports the problems and warnings that are new.
    private func store(
        _ readings: [LayerReading<Value>],
        _ warnings: [SettingsError],
        from snapshot: LayerSnapshot,
        in cache: LayerCache<Value>,
        of layers: LayerList,
        isReporting: Bool
    ) {
        let problems = readings.problems() + warnings
        guard let old = cache.store(readings, from: snapshot, reporting: isReporting ? problems : nil) else { return }
        let messages = Set(problems.map(\.message))
        let settled = layers.forget(old.filter { !messages.contains($0.message) })
        let new = problems.filter(layers.isFirst)
        guard !settled.isEmpty || !new.isEmpty else { return }
        engine.afterTransaction { [reporter] in
            for problem in settled { reporter.reportRecovery(from: problem) }
            for problem in new { reporter.report(problem) }
        }
    }

    /// Notes a value that was read, for Observation.
    func noteObserved(_ reading: Reading) {
        observedValue?.note(identity(of: reading))
        engine.observed.note(self, forKeys: key.storedKeys.all)
    }

    /// What a value is decoded from: the stored value, and the layers if they can change.
    func origin(of stored: StoredValue?) -> StoredValue? {
        guard let files = layers?.files else { return stored }
        return .array([.integer(Int128(files.snapshot.number))] + [stored].compactMap { $0 })
    }

    /// The files in which the secret of this setting may be.
    var secretNames: SecretNames {
        SecretNames(
            of: key.storedKeys,
            variable: key.metadata.traits.environmentVariable,
            in: layers?.files,
            prefixes: layers?.prefixes ?? []
        )
    }

    /// The name of a layer for people: the flag, the variable, or the file with line and column.
    func place(of reading: LayerReading<Value>) -> String {
        guard reading.stored != nil else { return reading.source }
        let document = layers?.snapshot.documents.first { $0.source == reading.source }
        guard let document, let name = document.value(for: key.storedKeys)?.key else { return reading.source }
        return document.location(ofValueForKey: name).description
    }

    /// The layer that is used instead of an unusable stored value.
    var phraseOfNextLayer: String {
        guard layers != nil, let base = baseReadings.used()?.reading else { return "the default" }
        return "the value of \(base.source)"
    }
}

// MARK: - Reading

extension SettingBox {
    private func reading(of document: LayerDocument, _ layer: SettingsLayer) -> LayerReading<Value>? {
        guard let (name, stored) = document.value(for: key.storedKeys) else { return nil }
        let source = document.source
        do {
            let value = try convert(stored)
            try key.validate(value)
            return LayerReading(layer: layer, source: source, result: .success(value), stored: stored)
        } catch {
            var problem = shown(error, as: .invalidValue)
            if isUnexpectedNull(stored) { problem.remedy = SettingsError.removeMember }
            problem.location = document.location(ofValueForKey: name)
            (problem.key, problem.suite) = (key.name, suiteName)
            problem.consequence = "it is ignored, and the next layer is used"
            let correction = problem.remedy.replacing("assign", with: "use", maxReplacements: 1)
            problem.remedy = "correct it there: " + (correction.isEmpty ? "use \(validForm(inJSON: true))" : correction)
            return LayerReading(layer: layer, source: source, result: .failure(problem))
        }
    }

    /// Reads a secret; `nil` if there is none.
    ///
    /// Its errors contain no text of a conversion or a validator, even if the setting is not declared as secret.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - snapshot: The contents of the files.
    ///   - file: The file with the variable that names it, so that it has to exist; `nil` for a file of a directory.
    /// - Returns: The reading.
    private func reading(
        ofSecretIn path: FilePath,
        _ snapshot: LayerSnapshot,
        namedBy file: SecretNames.Named?
    ) -> LayerReading<Value>? {
        let source = path.description
        guard let secret = snapshot.secrets[path] else {
            return file.map { failure(.missingSecret($0), from: source) }
        }
        guard let text = secret.text else {
            return secret.problem.map { problem in
                failure(file.map(problem.naming) ?? problem, from: source)
            }
        }
        do {
            let value = try value(ofText: text)
            return LayerReading(layer: .secretFile, source: source, result: .success(value))
        } catch {
            let cause = SettingsError.wrapping(error, as: .invalidValue).withoutUserText
            var problem =
                file.map { unusable(cause, from: $0.phrase, .secretFile, omission: "unset \($0.variable)") }
                ?? unusable(cause, from: source, .secretFile)
            problem.location = SettingsError.Location(file: source)
            return failure(problem, from: source)
        }
    }

    private func failure(_ problem: SettingsError, from source: String) -> LayerReading<Value> {
        var problem = problem
        (problem.key, problem.suite) = (key.name, suiteName)
        return LayerReading(layer: .secretFile, source: source, result: .failure(problem))
    }
}

/// The stored forms of the values of a setting that readers have seen since Observation was notified last.
final class ObservedValue: Sendable {
    private struct Seen {
        var identity: StoredValue?
        /// Whether readers have seen different values.
        var isMixed = false
    }

    private let seen = Locked<Seen?>(nil)

    func note(_ new: StoredValue?) {
        seen.withLock { $0 = Seen(identity: new, isMixed: $0.map { $0.isMixed || $0.identity != new } ?? false) }
    }

    /// Whether a reader may have seen another value than the current one.
    ///
    /// Then Observation is notified, and readers see the current value from then on.
    func takeDifference(from current: StoredValue?) -> Bool {
        seen.withLock { seen in
            guard let known = seen else { return false }
            seen = Seen(identity: current)
            return known.isMixed || known.identity != current
        }
    }
}
