// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The type-erased part of a setting, by which the registry finds it.
///
/// Unchecked, like its subclass: the compiler does not check a class that has a subclass. All stored properties are
/// constants of `Sendable` types.
class AnySettingBox: @unchecked Sendable {
    let suiteName: String
    let reporter: any SettingsReporter
    let layers: LayerList?
    let valueType: ObjectIdentifier
    /// `nil` for a setting that is not shared.
    let fingerprint: SettingFingerprint?
    let metadata: SettingMetadata
    /// The setting's identity for Observation, one part for each of its keys; empty in a suite that is not observable.
    let parts: [ObservedSettings.Part]

    fileprivate init(
        _ suite: SettingsSuite,
        _ valueType: ObjectIdentifier,
        _ key: AnySettingKey,
        _ fingerprint: SettingFingerprint?,
        _ metadata: SettingMetadata
    ) {
        suiteName = suite.name
        reporter = suite.reporter
        layers = suite.layers
        self.valueType = valueType
        self.fingerprint = fingerprint
        self.metadata = metadata
        parts = suite.isObservable ? key.storedKeys.all.map(ObservedSettings.part) : []
    }

    /// Finds the last good value if an unusable one is stored, so that the next checkpoint retains it.
    ///
    /// It runs conversions and validators, so the caller holds no lock.
    func examine() {}

    /// Whether no text may contain the values, because they are secret or contain a ``Secret``; may convert the default and
    /// the given value.
    func isSecret(_ stored: StoredValue?) -> Bool { metadata.traits.isSecret }

    /// Whether a suite with the same engine also has the same name, reporter, layers and observability.
    func belongs(to suite: SettingsSuite) -> Bool {
        reporter === suite.reporter && suiteName == suite.name && parts.isEmpty != suite.isObservable
            && layers.isLike(suite.layers)
    }
}

/// State shared by every ``Setting`` for one key and suite: the key and the value that was last decoded.
///
/// The engine owns the box, so the box does not own the engine. Every ``Setting`` does.
///
/// Unchecked for the reason given at ``AnySettingBox``.
final class SettingBox<Value: Sendable>: AnySettingBox, @unchecked Sendable {
    let key: SettingKey<Value>
    /// The conversion of the key, which finds out whether a value contains a secret.
    let conversion: SettingConversion<Value>
    unowned let engine: SettingsEngine

    /// The newest decoded value.
    let cache: ValueCache
    /// Held while a word is written into the cache.
    private let writing = Locked<Void>(())
    /// The last good value of the key, and the reports about an unusable one.
    let health: ValueHealth
    /// The same of the old keys of a renamed setting.
    let oldHealths: [ValueHealth]
    /// The readings of the layers above the store and beneath it; `nil` in a suite without layers.
    let layerCaches: (overrides: LayerCache<Value>, bases: LayerCache<Value>)?
    /// The value that was read first, of all settings with the key; `nil` for a setting whose changes need no restart.
    let startValue: StartValue?
    /// Whether the default was used, and so checked.
    private let isDefaultChecked = Atomic(false)
    /// The members of the default, once they were asked for: see ``shape``.
    private let knownShape = Locked<StructureShape??>(nil)
    /// Whether a value without an effect was reported.
    private let isIgnoredValueReported = Atomic(false)
    /// Whether there may be such a value, under an old key or in an object.
    private let mayHaveIgnoredValue: Bool

    init(_ key: SettingKey<Value>, suite: SettingsSuite) {
        self.key = key
        engine = suite.engine
        health = suite.engine.health(ofKey: key.name)
        oldHealths = key.storedKeys.old.map(suite.engine.health(ofKey:))
        cache = ValueCache(localAddress: suite.engine.storeVersion?.localAddress)
        layerCaches = suite.layers == nil ? nil : (LayerCache(), LayerCache())
        mayHaveIgnoredValue = key.storedKeys.all.count > 1 || !key.name.divisions.isEmpty
        startValue = key.metadata.traits.requiresRestart ? suite.engine.startValue(forKey: key.name) : nil
        let marks = ([health] + oldHealths).map(\.secrecy)
        conversion = key.conversion.checking(key.metadata.traits.members).noting(marks)
        if key.metadata.traits.isSecret || Value.self is any SecretType.Type { for mark in marks { mark.set() } }
        suite.layers?.addVariables(of: key.storedKeys, key.metadata.traits)
        engine.noteDeclaration(of: key.storedKeys.all)
        super.init(suite, ObjectIdentifier(Value.self), key, key.fingerprint, key.metadata)
        // The registry has the others by their current key.
        if key.fingerprint == nil { health.add(self) }
        for health in oldHealths { health.add(self) }
    }

    override func examine() {
        findLastGoodValue(insteadOf: storedValue) { noteUsable($0) }
    }

    deinit {
        cache.deallocate(Value.self)
    }

    /// The cache that readers try first: an empty one where Observation has to record every read.
    var readerCache: ValueCache { parts.isEmpty ? cache : .empty }

    /// Whether the values are secret, or one that was converted has contained a ``Secret``.
    var hasSecret: Bool { health.secrecy.isSet }

    override func isSecret(_ stored: StoredValue?) -> Bool {
        guard !hasSecret, SettingConversion<Value>.mayMeetSecrets else { return hasSecret }
        _ = encoded(key.defaultValue)
        do {
            if let stored { _ = try convert(stored) { key.defaultValue } }
            return hasSecret
        } catch {
            // The decoding may have ended before it has met one.
            return true
        }
    }

    /// Records a read for Observation.
    func access() {
        for part in parts { engine.access(part) }
    }

    /// The stored value, without conversion; `nil` when nothing is stored.
    var storedValue: StoredValue? { engine.value(for: key.storedKeys) }

    /// The value, when it is not in the readers' cache.
    var value: Value {
        guard !parts.isEmpty else { return slowValue }
        access()
        return cache.currentValue(as: Value.self) ?? slowValue
    }

    /// The value, read from the store, and decoded unless the stored value is the one that was decoded last.
    private var slowValue: Value {
        if let value = validatedValue { return value }
        if isReadByValidator { return consistentReading(of: storedValue, isReported: false).value }
        guard let storeVersion = engine.storeVersion else { return notedReading(of: storedValue).value }
        let (stored, version) = engine.valueAndVersion(for: key.storedKeys, storeVersion)
        guard ValueCache.fits(Value.self) else { return slotValue(stored, version, storeVersion) }
        let value = notedReading(of: stored).value
        writing.withLock { _ in
            // A value that is outdated by now must not replace a newer one.
            if storeVersion.isCurrent(version) { cache.store(value, version) }
        }
        return value
    }

    /// The value with the layer that it comes from, which the cache does not contain.
    var uncachedReading: Reading {
        access()
        return notedReading(of: storedValue)
    }

    /// Returns the value of a stored value that was just read for the readers' cache.
    private func notedReading(of stored: StoredValue?) -> Reading {
        let reading = consistentReading(of: stored)
        startValue?.note { identity(of: reading) }
        if stored != nil, mayHaveIgnoredValue { reportIgnoredValue() }
        return reading
    }

    /// Reports once that values are stored under the new key and under an old one, or under the key and in an object.
    private func reportIgnoredValue() {
        guard !isIgnoredValueReported.load(ordering: .relaxed), let warning = engine.ignoredValue(of: key.storedKeys),
            !isIgnoredValueReported.exchange(true, ordering: .relaxed)
        else { return }
        report(naming(warning, as: .oldKeyIgnored))
    }

    private func slotValue(
        _ stored: StoredValue?,
        _ version: StoreVersion.Version,
        _ storeVersion: StoreVersion
    ) -> Value {
        let origin = origin(of: stored)
        // Another key may have changed.
        if let known = cache.renewedValue(from: origin, version, as: Value.self),
            layers?.files == nil || storeVersion.isCurrent(version)
        {
            return known
        }
        let reading = notedReading(of: stored)
        // With layers that change, the value may be that of a later stored value.
        if layers?.files == nil || storeVersion.isCurrent(version) {
            // The last good value can be another one when the same unusable value is stored again.
            cache.store(reading.value, from: origin, isRenewable: !reading.isOfUnusable, version)
        }
        return reading.value
    }
}

// MARK: - Decoding

extension SettingBox {
    /// A value that was read, and the stored value that it was decoded from.
    struct Reading: Sendable {
        var value: Value
        /// `nil` for a default and for a text.
        var stored: StoredValue?
        /// Whether it is used instead of an unusable stored value.
        var isOfUnusable = false
        /// Whether it comes from a secret file, so that no text contains it.
        var isFromSecretFile = false
    }

    /// Returns the value of a stored value.
    ///
    /// An override wins over it. If the stored value is unusable, the last good one is used. Without a stored value, and without
    /// a last good one, a base, the store's fallback or the default is used.
    func reading(of stored: StoredValue?, isReported: Bool = true) -> Reading {
        // The check that needs no generic metadata comes first: most settings have no overrides.
        if layers != nil, let override = overrideReading(over: stored, isReported: isReported) { return override }
        return readingBeneathOverrides(of: stored, isReported: isReported)
    }

    /// Returns the value of a stored value without overrides, and without secrets for a change.
    func readingBeneathOverrides(of stored: StoredValue?, isReported: Bool, isForChange: Bool = false) -> Reading {
        guard let stored else {
            return fallbackReading(isReported: isReported, hasStoredValue: false, isForChange: isForChange)
        }
        do {
            let reading = try storedReading(of: stored, isReported: isReported, isForChange: isForChange)
            if isReported { noteUsable(stored) }
            return reading
        } catch {
            let lastGood = lastGoodReading(insteadOf: stored, isNoted: isReported, isForChange: isForChange)
            if isReported { report(error, about: stored, hasLastGood: lastGood != nil) }
            var reading =
                lastGood ?? fallbackReading(isReported: isReported, hasStoredValue: true, isForChange: isForChange)
            reading.isOfUnusable = true
            return reading
        }
    }

    /// Returns the value of a stored value that is usable, with the members that it lacks from beneath it.
    ///
    /// - Throws: ``SettingsError`` that names the setting.
    func storedReading(
        of stored: StoredValue,
        isReported: Bool = false,
        isForChange: Bool = false,
        in snapshot: LayerSnapshot? = nil
    ) throws -> Reading {
        var lower: Reading?
        let value = try decode(stored) {
            let reading = fallbackReading(
                isReported: isReported,
                hasStoredValue: true,
                isForChange: isForChange,
                in: snapshot
            )
            lower = reading
            noteSecret(of: reading)
            return reading.value
        }
        return Reading(value: value, stored: stored, isFromSecretFile: lower?.isFromSecretFile ?? false)
    }

    /// Notes that a value with members from a secret file is used, which no text may contain.
    private func noteSecret(of lower: Reading) {
        if lower.isFromSecretFile { health.secrecy.set() }
    }

    /// Returns the value beneath the stored one.
    func fallbackReading(
        isReported: Bool,
        hasStoredValue: Bool,
        isForChange: Bool = false,
        in snapshot: LayerSnapshot? = nil
    ) -> Reading {
        if layers != nil,
            let base = isForChange ? baseReadingForChange(in: snapshot) : baseReading(isReported: isReported)
        {
            if isReported, !hasStoredValue { noteUsable(nil) }
            return base
        }
        let fallback = engine.store.fallback(forKey: key.name)
        do {
            let value = try fallback.map { try decode($0) { key.defaultValue } }
            if isReported, !hasStoredValue { noteUsable(nil) }
            if let value { return Reading(value: value, stored: fallback) }
        } catch {
            // An unusable stored value was reported before.
            if isReported, !hasStoredValue, let fallback { report(error, about: fallback, hasLastGood: false) }
        }
        let value = key.defaultValue
        if isReported { checkDefault(value) }
        return Reading(value: value, stored: nil)
    }

    /// Reports once, when the default is used first, that it is not a valid value.
    private func checkDefault(_ value: Value) {
        guard !isReadByValidator, !isDefaultChecked.exchange(true, ordering: .relaxed),
            let problem = problem(ofDefault: value)
        else { return }
        report(problem)
    }

    /// The error of a declaration whose default is not a valid value; `nil` if it is.
    func problem(ofDefault value: Value) -> SettingsError? {
        do {
            try validate(value)
            let members = key.metadata.traits.members
            if !members.isEmpty, let stored = encoded(value) { try members.check(stored) }
            return nil
        } catch {
            var problem = naming(shown(error, as: .validationFailed), as: .validationFailed)
            problem.code = .conflictingDeclarations
            problem.fact = "the default is not a valid value of the setting: \(problem.fact)"
            problem.consequence = "it is used all the same while no other value is"
            problem.remedy = "declare a default that the range and the validator accept"
            return problem
        }
    }

    private func noteUsable(_ stored: StoredValue?) {
        reportRecovery(from: health.noteUsable(stored))
    }

    private func reportRecovery(from settled: [(error: SettingsError, reporter: any SettingsReporter)]) {
        guard !settled.isEmpty else { return }
        engine.afterTransaction {
            for (error, reporter) in settled { reporter.reportRecovery(from: error) }
        }
    }

    /// Reports an error, after the transaction whose body is the caller: its locks must not wait for the reporter.
    func report(_ error: SettingsError) {
        engine.afterTransaction { [reporter] in reporter.report(error) }
    }

    private func report(_ error: any Error, about stored: StoredValue, hasLastGood: Bool) {
        let fact = SettingsError.wrapping(error, as: .invalidValue).fact
        let (isNew, settled) = health.noteUnusable(stored, fact, suite: suiteName, reporter)
        reportRecovery(from: settled)
        guard isNew else { return }
        let error = unusable(error, hasLastGood: hasLastGood)
        health.note(error, to: reporter)
        report(error)
    }

    /// What is known about the values under one of the keys.
    func health(ofStoredKey name: String) -> ValueHealth {
        key.storedKeys.old.firstIndex(of: name).map { oldHealths[$0] } ?? health
    }

    /// The key under which a value is stored; that of a renamed setting may be under an old one.
    var storedKey: String? { key.storedKeys.all.first { engine.value(forKey: $0) != nil } }

    /// Decodes a stored value over the value beneath it, and validates the result.
    ///
    /// - Throws: ``SettingsError`` that names the setting.
    func decode(_ stored: StoredValue) throws -> Value { try storedReading(of: stored).value }

    private func decode(_ stored: StoredValue, over makeLower: () -> Value) throws -> Value {
        do {
            if let value = validatedValue { return value }
            let value = try convert(stored, over: makeLower)
            try validate(value)
            return value
        } catch {
            var error = naming(shown(error, as: .invalidValue), as: .invalidValue)
            if isUnexpectedNull(stored) { error.remedy = SettingsError.removeMember }
            throw error
        }
    }

    /// Validates a value, which the validator receives if it reads the setting.
    func validate(_ value: Value) throws {
        guard key.validator.hasClosure else { return try key.validate(value) }
        try Validation.run(value, key.name, engine) { try key.validate(value) }
    }

    /// Whether the reader is a validator, on whose value the result may depend.
    ///
    /// So the result is not cached, reported or remembered: the value may be rejected.
    private var isReadByValidator: Bool { key.validator.hasClosure && Validation.isCurrent }

    /// The value that the setting's validator checks, if it is what reads the setting.
    private var validatedValue: Value? {
        guard key.validator.hasClosure, let value = Validation.value(forKey: key.name, in: engine, as: Value.self)
        else {
            return nil
        }
        if health.noteRecursion() { report(naming(SettingsError.recursiveValidator, as: .validationFailed)) }
        return value
    }

    /// Whether a value that cannot be decoded is a null, which is not the `nil` of the setting.
    func isUnexpectedNull(_ stored: StoredValue) -> Bool {
        stored == .null && Value.self is any OptionalType.Type
    }

    /// Decodes a stored value over a lower one, without validating it.
    func convert(_ stored: StoredValue, over makeLower: () -> Value) throws -> Value {
        let stored = presentForm(of: stored)
        if key.metadata.traits.isWhole { return try conversion.decode(stored) }
        return try conversion.decode(stored, over: makeLower)
    }

    /// A stored value with the present names of members that were renamed.
    func presentForm(of stored: StoredValue) -> StoredValue { key.metadata.traits.members.renamed(in: stored) }

    /// The structures in a stored value; `nil` if it is one value.
    func structures(of stored: StoredValue) -> Set<[String]>? {
        guard !key.metadata.traits.isWhole, case .dictionary = stored else { return nil }
        let structures = conversion.structures(of: stored)
        return structures.contains([]) ? structures : nil
    }

    /// Whether a part of a structure lacks a member.
    func lacksMember(_ part: StoredValue, of whole: StoredValue) -> Bool {
        structures(of: whole).map { part.lacksMember(of: whole, $0) } ?? false
    }

    private func unusable(_ error: any Error, hasLastGood: Bool) -> SettingsError {
        var error = unreadable(error)
        let used = hasLastGood ? "the last good value" : phraseOfNextLayer
        error.consequence = "\(used) is used, and the stored value is left as it is"
        return error
    }

    /// The error of a stored value that cannot be used, with the names of this setting and a fix.
    func unreadable(_ error: any Error) -> SettingsError {
        var error = SettingsError.wrapping(error, as: .invalidValue)
        if error.location?.line == nil {
            error.location = engine.store.location(ofValueForKey: storedKey ?? key.name) ?? error.location
        }
        error = naming(error, as: .invalidValue)
        let remedy = error.remedy.isEmpty ? "assign a new value" : error.remedy
        let isAlone = error.location == nil || remedy == SettingsError.removeMember
        error.remedy = isAlone ? remedy : "correct it in the file, or \(remedy)"
        return error
    }
}

// MARK: - Encoding

extension SettingBox {
    /// Validates and encodes a value.
    ///
    /// - Throws: ``SettingsError`` that names the setting.
    func encode(_ value: Value) throws -> StoredValue? {
        try storing {
            let stored = try validForm(of: value)
            guard let stored, case .dictionary = stored, let shape else { return stored }
            // A type that takes its value as a whole may not know null.
            if key.metadata.traits.isWhole { return stored.withoutNulls(shape.structures) }
            // Most types store all members.
            if stored.hasNull || stored.lacksMember(of: shape.form, shape.structures) { try checkWhole(stored) }
            try checkOverrides(over: stored)
            return stored
        }
    }

    private func validForm(of value: Value) throws -> StoredValue? {
        guard !key.name.isEmpty else { throw SettingsError.emptyKey }
        try key.validate(value)
        let stored = try conversion.encode(value)
        if let stored { try key.metadata.traits.members.check(stored) }
        return stored
    }

    /// Returns what is to be stored; an error says that nothing has changed.
    private func storing<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            var error = naming(shown(error, as: .unstorable), as: .unstorable)
            error.consequence = "the setting keeps the value it had"
            if error.remedy.isEmpty { error.remedy = "assign a value that the conversion of \(Value.self) accepts" }
            throw error
        }
    }

    /// Throws if a value would be read back as another one: its type omits a member that a lower value has, or does not know null.
    private func checkWhole(_ stored: StoredValue) throws {
        let value: Value
        do {
            value = try convert(stored) { fallbackReading(isReported: false, hasStoredValue: true).value }
        } catch {
            throw SettingsError.notReadBack
        }
        guard encoded(value) == stored else { throw SettingsError.notReadBack }
    }

    /// Throws the error of a structure above the store that is in use, and would be invalid with the members of a new stored value.
    private func checkOverrides(over stored: StoredValue) throws {
        guard layers != nil, let new = overrideReadings(over: stored).first, new.lower != nil,
            case .failure(let error) = new.result,
            case .success? = overrideReadings(over: storedValue).first?.result
        else { return }
        throw error
    }

    /// Encodes the members in which a value differs from an earlier one, beside those that are stored.
    ///
    /// Other members are not stored: they may come from secret files and from overrides.
    ///
    /// - Parameters:
    ///   - value: The value, which is validated with all members that it has when it is read.
    ///   - old: The form of the earlier value; `nil` if it has none, so that the value is stored as a whole.
    ///   - stored: The stored value. Of an unusable one, the unusable members are left out.
    ///   - text: A value with the members that are to be stored, also if they are equal; `nil` for those that differ.
    ///   - mayBeWhole: Whether the whole value may be stored if the members would be read as other ones beside the stored ones.
    /// - Returns: The stored form.
    /// - Throws: ``SettingsError`` that names the setting.
    func encode(
        _ value: Value,
        insteadOf old: StoredValue?,
        besides stored: StoredValue?,
        naming text: StoredValue? = nil,
        mayBeWhole: Bool
    ) throws -> StoredValue? {
        let new = try storing { try conversion.encode(value) }
        guard let old, let whole = new, let structures = structuresToStore(of: whole) else { return try encode(value) }
        let part = text.map { whole.restricted(to: $0, structures) } ?? whole.changes(from: old, structures) ?? [:]
        let removed = old.paths(missingIn: whole, structures) + (text?.paths(missingIn: whole, structures) ?? [])
        let stored = stored.map(presentForm)
        var bases = [stored ?? [:]]
        if let stored, !isUsable(stored) { bases += usableParts(of: stored) }
        // A member that the type omits is removed, or is null if a lower source has it.
        let fillers: [StoredValue?] = removed.isEmpty ? [.none] : [.none, .some(.null)]
        var failure: (any Error)?
        for base in bases {
            for filler in fillers {
                let rest = removed.reduce(base) { $0.removing($1[...]) ?? $0 }
                let filled = removed.reduce(rest) { filler?.nested(at: $1).merged(over: $0, structures) ?? $0 }
                let merged = part.merged(over: filled, structures)
                do {
                    try storing { try checkReadBack(part, without: removed, of: merged, structures) }
                    return merged
                } catch {
                    failure = failure ?? error
                }
            }
        }
        if mayBeWhole {
            do {
                return try encode(value)
            } catch {
                // The first error is about the members that change.
            }
        }
        throw failure ?? SettingsError.notReadBack
    }

    /// An unusable stored value without its unusable members, and the last good value.
    private func usableParts(of stored: StoredValue) -> [StoredValue] {
        var parts: [StoredValue] = []
        var rest = stored
        for _ in 0..<Self.mostRemovedMembers {
            do {
                _ = try decode(rest)
                parts.append(rest)
                break
            } catch {
                let path = SettingsError.wrapping(error, as: .invalidValue).path
                let lower = { self.fallbackReading(isReported: false, hasStoredValue: true, isForChange: true).value }
                guard let next = conversion.removing(path, from: rest, over: lower) else { break }
                rest = next
            }
        }
        let lastGood = lastGoodReading(insteadOf: stored, isNoted: false, isForChange: true)?.stored
        return parts + [lastGood ?? [:]]
    }

    /// The value of a stored one without members of secret files, which need not be valid; `nil` if it needs them.
    func unvalidatedValue(ofStored stored: StoredValue, in snapshot: LayerSnapshot?) -> Value? {
        do {
            return try convert(stored) {
                fallbackReading(isReported: false, hasStoredValue: true, isForChange: true, in: snapshot).value
            }
        } catch {
            return nil
        }
    }

    /// Whether a stored value can be used, with the members that it lacks from beneath it.
    func isUsable(_ stored: StoredValue) -> Bool {
        do {
            _ = try decode(stored)
            return true
        } catch {
            return false
        }
    }

    /// Throws if a stored value would be unusable, or some of its members would be read as other ones.
    private func checkReadBack(
        _ part: StoredValue,
        without removed: [[String]],
        of stored: StoredValue,
        _ structures: Set<[String]>
    ) throws {
        guard let value = encoded(try decode(stored)) else { throw SettingsError.notReadBack }
        let isRemoved = removed.allSatisfy { value.part(at: $0) == nil || value.part(at: $0) == .null }
        guard isRemoved, value.restricted(to: part, structures) == part else { throw SettingsError.notReadBack }
        try checkOverrides(over: stored)
    }

    /// The structures whose members are stored one by one; `nil` if the value is stored as a whole.
    ///
    /// A structure that the default does not have is stored as a whole, because a lower source may lose the other members, unless they
    /// may come from a secret file.
    private func structuresToStore(of whole: StoredValue) -> Set<[String]>? {
        guard !key.metadata.traits.isWhole else { return nil }
        return mayHaveSecretFile ? structures(of: whole) : shape?.structures
    }

    private var mayHaveSecretFile: Bool { layers?.sources.contains(where: \.hasSecretFiles) ?? false }

    /// The form of a value before it is changed in place, by which its changes are found.
    ///
    /// - Returns: The form; `nil` for a value that is stored as a whole, whatever has changed.
    func formBeforeChange(of value: Value, isStored: Bool) -> StoredValue? {
        let isWhole = isStored && shape == nil && !mayHaveSecretFile
        return isWhole ? nil : encoded(value)
    }

    /// Reads the secret files by whose members a change is validated, before other writers wait for it.
    func prepareChange() {
        if mayHaveSecretFile { _ = (overrideReadings(over: storedValue), baseReadings()) }
    }

    /// The members of the default; `nil` if it is no structure.
    var shape: StructureShape? {
        if let known = knownShape.withLock(\.self) { return known }
        let new = encoded(key.defaultValue).flatMap { StructureShape(of: $0, conversion.parts) }
        knownShape.withLock { $0 = .some(new) }
        return new
    }

    /// The stored form of a value that was read, which tells whether two readings are equal; encodes the value.
    func identity(of reading: Reading) -> StoredValue? {
        // A bridge that only reads cannot encode the value. Then the stored value stands for it.
        encoded(reading.value) ?? reading.stored
    }

    /// The stored form of a value; `nil` when there is none.
    ///
    /// A default need not be storable. Two of those count as equal, which is right: there is one default.
    func encoded(_ value: Value) -> StoredValue? {
        conversion.encodedOrNil(value)
    }

    /// An error of a conversion or a validator, without their texts if the setting is secret.
    func shown(_ error: any Error, as code: SettingsError.Code) -> SettingsError {
        var error = SettingsError.wrapping(error, as: code)
        // The type may have more values than the setting accepts.
        if error.path.isEmpty, [.typeMismatch, .invalidValue].contains(error.code),
            let choices = key.validator.valid?.choiceTexts
        {
            error.remedy = "use one of \(choices.joined(separator: ", "))"
        }
        return hasSecret ? error.withoutUserText : error
    }

    /// The error, with the names of this setting, its suite and its file.
    func naming(_ error: any Error, as code: SettingsError.Code) -> SettingsError {
        var error = SettingsError.wrapping(error, as: code)
        error.key = key.name
        return engine.naming(error, suite: suiteName)
    }
}

// MARK: - Layers
// See Documentation/Decisions/Layers.md, "The list of sources is the order".

extension SettingBox {
    /// Returns the value of the highest source above the store; `nil` when there is none.
    ///
    /// An access after a change reports the errors of the sources that precede the one in use.
    func overrideReading(over stored: StoredValue?, isReported: Bool) -> Reading? {
        usedReading(in: overrideReadings(over: stored, isReported: isReported))
    }

    /// Returns the value of the highest source beneath the store, as ``overrideReading(over:isReported:)``.
    func baseReading(isReported: Bool) -> Reading? {
        usedReading(in: baseReadings(isReported: isReported))
    }

    /// The same without secrets, for a change: no secret is copied into the store.
    ///
    /// Reads no secret file, because a change has the locks that other writers wait for.
    private func baseReadingForChange(in snapshot: LayerSnapshot?) -> Reading? {
        guard let layers else { return nil }
        let snapshot = snapshot ?? layers.snapshot
        let fallback = engine.store.fallback(forKey: key.name)
        let known = layerCaches?.bases.readings(in: snapshot, over: fallback)
        if let known, !known.contains(where: { $0.layer == .secretFile }) { return usedReading(in: known) }
        return usedReading(in: readings(of: layers.bases, snapshot, nil) { lowestReading(fallback) })
    }

    private func usedReading(in readings: [LayerReading<Value>]) -> Reading? {
        readings.firstUsable()
            .map { reading, value in
                Reading(
                    value: value,
                    stored: reading.stored,
                    isOfUnusable: reading.lower?.isOfUnusable ?? false,
                    isFromSecretFile: reading.isFromSecretFile
                )
            }
    }

    /// Returns the value of a stored value that was just read, or of a newer one.
    func consistentReading(of stored: StoredValue?, isReported: Bool = true) -> Reading {
        consistently(stored) { reading(of: $0, isReported: isReported) }
    }

    /// Reads the layers around a stored value that was just read, or around a newer one.
    ///
    /// If the stored value or a layer changes meanwhile, what was read may be a combination that never was. Then all are read
    /// again.
    func consistently<Result>(_ stored: StoredValue?, _ read: (StoredValue?) -> Result) -> Result {
        guard let layers, layers.files != nil else { return read(stored) }
        var (stored, snapshot) = (stored, layers.snapshot)
        for _ in 1..<LayerList.maximumOfReads {
            let result = read(stored)
            let newest = (storedValue, layers.snapshot)
            guard newest.0 != stored || newest.1 !== snapshot else { return result }
            (stored, snapshot) = newest
        }
        return read(stored)
    }

    /// The readings of all sources above the store, highest precedence first.
    ///
    /// - Parameters:
    ///   - stored: The stored value.
    ///   - isReported: `false` for a caller that returns or shows the errors itself.
    ///   - beneath: Returns the reading with the members that a structure lacks; that of the stored value if there is no function.
    /// - Returns: The readings.
    func overrideReadings(
        over stored: StoredValue?,
        isReported: Bool = false,
        _ beneath: (() -> Reading)? = nil
    ) -> [LayerReading<Value>] {
        readings(of: layers?.overrides, layerCaches?.overrides, over: stored, isReporting: isReported) {
            beneath?() ?? readingBeneathOverrides(of: stored, isReported: isReported)
        }
    }

    /// The readings of all sources beneath the store, as ``overrideReadings(over:isReported:)``.
    func baseReadings(isReported: Bool = false) -> [LayerReading<Value>] {
        guard let layers, !layers.bases.isEmpty else { return [] }
        let fallback = engine.store.fallback(forKey: key.name)
        return readings(of: layers.bases, layerCaches?.bases, over: fallback, isReporting: isReported) {
            lowestReading(fallback)
        }
    }

    /// The value beneath all sources.
    private func lowestReading(_ fallback: StoredValue?) -> Reading {
        do {
            if let value = try fallback.map({ try convert($0) { key.defaultValue } }) { return Reading(value: value) }
        } catch {
            // It is reported when it is used.
        }
        return Reading(value: key.defaultValue)
    }

    private func readings(
        of sources: ArraySlice<LayerSource>?,
        _ cache: LayerCache<Value>?,
        over stored: StoredValue?,
        isReporting: Bool,
        _ lowest: () -> Reading
    ) -> [LayerReading<Value>] {
        guard let layers, let sources, let cache, !sources.isEmpty || !layers.problems.isEmpty else { return [] }
        if let known = cache.readings(in: layers.snapshot, over: stored) { return known }
        let names = secretNames
        let snapshot = layers.snapshot(including: names, ofKey: key.name)
        let readings = readings(of: sources, snapshot, names, lowest)
        guard isReporting, !isReadByValidator else { return readings }
        let problems = readings.problems() + sourceWarnings(of: readings, names)
        if let old = cache.store(readings, from: snapshot, over: stored, reporting: problems) {
            report(problems, insteadOf: old, in: layers)
        }
        return readings
    }

    /// The readings of some sources, highest precedence first; without names of files, no secret is read.
    ///
    /// The lowest one is read first, because a structure takes the members that it lacks from those beneath it. They need not be valid
    /// without it.
    private func readings(
        of sources: ArraySlice<LayerSource>,
        _ snapshot: LayerSnapshot,
        _ names: SecretNames?,
        _ lowest: () -> Reading
    ) -> [LayerReading<Value>] {
        var readings: [LayerReading<Value>] = []
        // The value of the reading before, and the last valid one.
        var (latest, valid): (Reading?, Reading?) = (nil, nil)
        for read in sources.flatMap({ readers(of: $0, snapshot, names) }).reversed() {
            func reading(over start: Reading?) -> (LayerReading<Value>, Reading?)? {
                var lower: Reading?
                guard
                    var new = read({
                        let reading = start ?? lowest()
                        lower = reading
                        noteSecret(of: reading)
                        return reading.value
                    })
                else { return nil }
                new.lower = lower
                // A change in place would validate a value with members of it.
                if new.isFromSecretFile, let value = new.unvalidated, encoded(value)?.hasParts == true {
                    health.secrecy.set()
                }
                let value = new.unvalidated.map {
                    Reading(
                        value: $0,
                        isOfUnusable: lower?.isOfUnusable ?? false,
                        isFromSecretFile: new.isFromSecretFile
                    )
                }
                return (new, value)
            }
            guard var (new, value) = reading(over: latest) else { continue }
            if case .failure = new.result, new.lower != nil, case .failure? = readings.last?.result,
                let (other, otherValue) = reading(over: valid), case .success = other.result
            {
                // Without the values beneath, which are not valid, this one is.
                (new, value) = (other, otherValue)
                for index in readings.indices.reversed() {
                    guard case .failure = readings[index].result else { break }
                    readings[index].unvalidated = nil
                }
            }
            latest = value ?? latest
            if case .success = new.result { valid = value }
            readings.append(new)
        }
        return readings.reversed()
    }

    /// What reads one source over a lower value, highest precedence first.
    private func readers(
        of source: LayerSource,
        _ snapshot: LayerSnapshot,
        _ names: SecretNames?
    ) -> [(() -> Value) -> LayerReading<Value>?] {
        let files = (names?.files ?? []).filter { $0.source == source }
        let members = source.hasFlags || source.hasVariables ? memberPaths : []
        return snapshot.documents(of: source).map { document in { self.reading(of: document, over: $0) } }
            + members.map { path in { self.reading(ofMember: path, in: source, over: $0) } }
            + [{ self.reading(ofTextsIn: source, over: $0) }]
            + files.map { file in
                { self.reading(ofSecretIn: file.path, snapshot, namedBy: file.variable, over: $0) }
            }
    }

    /// Reports the problems and warnings that are new, and the end of others.
    private func report(_ problems: [SettingsError], insteadOf old: [SettingsError], in layers: LayerList) {
        let messages = Set(problems.map(\.message))
        let settled = layers.forget(old.filter { !messages.contains($0.message) })
        let new = problems.filter(layers.isFirst)
        guard !settled.isEmpty || !new.isEmpty else { return }
        engine.afterTransaction { [reporter] in
            for problem in settled { reporter.reportRecovery(from: problem) }
            for problem in new { reporter.report(problem) }
        }
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
        guard let document = reading.document, let name = document.value(for: key.storedKeys)?.key else {
            return reading.source
        }
        return document.location(ofValueForKey: name).description
    }

    /// The layer that is used instead of an unusable stored value.
    var phraseOfNextLayer: String {
        guard layers != nil, let base = baseReadings().firstUsable()?.reading else { return "the default" }
        return "the value of \(base.source)"
    }
}

// MARK: - Reading

extension SettingBox {
    /// The number of members of one value that are left out, at most: each has the value decoded again.
    private static var mostRemovedMembers: Int { 16 }

    private func reading(of document: LayerDocument, over makeLower: () -> Value) -> LayerReading<Value>? {
        guard let (name, stored) = document.value(for: key.storedKeys) else { return nil }
        func problem(_ error: any Error) -> SettingsError {
            var problem = shown(error, as: .invalidValue)
            if isUnexpectedNull(stored) { problem.remedy = SettingsError.removeMember }
            problem.location = document.location(ofValueForKey: name)
            (problem.key, problem.suite) = (key.name, suiteName)
            problem.consequence = "it is ignored, and the next layer is used"
            let correction = problem.remedy.replacing("assign", with: "use", maxReplacements: 1)
            problem.remedy =
                "correct it there: " + (correction.isEmpty ? "use \(validForm(inJSON: true))" : correction)
            return problem
        }
        var part = presentForm(of: stored)
        var problems: [SettingsError] = []
        while true {
            let isFull = problems.count >= Self.mostRemovedMembers
            let value: Value
            do {
                value = try convert(part, over: makeLower)
            } catch {
                var problem = problem(error)
                let path = SettingsError.wrapping(error, as: .invalidValue).path
                guard !isFull, !key.metadata.traits.isWhole,
                    let rest = conversion.removing(path, from: part, over: makeLower)
                else { return LayerReading(layer: document.layer, source: document.source, result: .failure(problem)) }
                problem.consequence = "the member is ignored, and that of the next layer is used"
                part = rest
                problems.append(problem)
                continue
            }
            var reading = reading(from: document.source, document.layer, { (value, part) }, problem)
            (reading.memberProblems, reading.document) = (problems, document)
            return reading
        }
    }

    /// Reads a secret; `nil` if there is none.
    ///
    /// Its errors contain no text of a conversion or a validator, even if the setting is not declared as secret. A file that a
    /// variable names has to exist, and a file of a directory need not.
    private func reading(
        ofSecretIn path: FilePath,
        _ snapshot: LayerSnapshot,
        namedBy variable: String?,
        over makeLower: () -> Value
    ) -> LayerReading<Value>? {
        let source = path.description
        guard let secret = snapshot.secrets[path] else {
            return variable.map { failure(.missingSecret(path, namedBy: $0), from: source) }
        }
        guard let text = secret.contents else {
            return secret.problem.map { problem in
                failure(variable.map(problem.naming) ?? problem, from: source)
            }
        }
        func problem(_ error: any Error) -> SettingsError {
            let cause = SettingsError.wrapping(error, as: .invalidValue).withoutUserText
            var problem =
                variable.map {
                    unusable(cause, from: "the file that \($0) names", .secretFile, omission: "unset \($0)")
                } ?? unusable(cause, from: source, .secretFile)
            problem.location = SettingsError.Location(file: source)
            (problem.key, problem.suite) = (key.name, suiteName)
            return problem
        }
        return reading(from: source, .secretFile, { try decoded([text], over: makeLower) }, problem)
    }

    private func failure(_ problem: SettingsError, from source: String) -> LayerReading<Value> {
        var problem = problem
        (problem.key, problem.suite) = (key.name, suiteName)
        return LayerReading(layer: .secretFile, source: source, result: .failure(problem))
    }
}
