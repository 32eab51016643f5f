// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What of a setting has nothing to do with the type of its values, so that it can be looked for without knowing it.
///
/// Unchecked, as its subclass is: the compiler does not check a class that has a subclass. All that both store is constant
/// and `Sendable`.
class AnySettingBox: @unchecked Sendable {
    let suiteName: String
    let reporter: any SettingsReporter
    let overrides: OverrideList?
    let valueType: ObjectIdentifier
    let keyID: ObjectIdentifier
    let form: SettingFingerprint?
    /// What Observation knows the setting by; `nil` in a suite that is not observable.
    let part: ObservedSettings.Part?

    fileprivate init(_ suite: SettingsSuite, _ valueType: ObjectIdentifier, _ key: SettingKeys, _ form: SettingFingerprint?) {
        suiteName = suite.name
        reporter = suite.reporter
        overrides = suite.overrides
        self.valueType = valueType
        keyID = ObjectIdentifier(key)
        self.form = form
        part = suite.isObservable ? ObservedSettings.part(key.name) : nil
    }

    /// Whether a suite, which is kept in the same place, is alike in all else that the box takes from it.
    func isOf(_ suite: SettingsSuite) -> Bool {
        reporter === suite.reporter && suiteName == suite.name && (part != nil) == suite.isObservable
            && overrides.isLike(suite.overrides)
    }
}

/// What all that speaks of one setting shares: a key and a suite, and the value as it was last decoded.
///
/// The engine keeps it for the next who names the setting, so it cannot keep the engine. Whoever uses it, through a
/// ``Setting``, does.
///
/// Unchecked for the reason given at ``AnySettingBox``.
final class SettingBox<Value: Sendable>: AnySettingBox, @unchecked Sendable {
    let key: SettingKey<Value>
    unowned let engine: SettingsEngine

    /// The newest value that was decoded.
    let cell: ValueCache
    /// Held to write a word into the cell.
    private let writing = Locked<Void>(())
    /// The newest value over a store that has to be asked whether anything has changed.
    private let uncertain = Locked<Uncertain?>(nil)
    /// `nil` in a suite without overrides.
    let overrideCache: OverrideCache<Value>?

    private struct Uncertain {
        var stamp: SettingsEngine.Stamp
        var value: Value
    }

    init(_ key: SettingKey<Value>, suite: SettingsSuite) {
        self.key = key
        engine = suite.engine
        cell = ValueCache(localAddress: suite.engine.versionStamp?.localAddress)
        overrideCache = suite.overrides == nil ? nil : OverrideCache()
        super.init(suite, ObjectIdentifier(Value.self), key, key.form)
    }

    deinit {
        cell.deallocate(Value.self)
    }

    /// The cell that readers look into first: an empty one where each read has to be noted.
    var readerCache: ValueCache { part == nil ? cell : .empty }

    /// Notes that the setting is read, for whoever may track it.
    func access() {
        if let part { engine.access(part) }
    }

    /// The value, when it is not in the readers' cell.
    var value: Value {
        guard let part else { return slowValue }
        engine.access(part)
        return cell.currentValue(as: Value.self) ?? slowValue
    }

    /// The value, read and decoded, unless it was decoded before.
    ///
    /// This is the slow way: values that are in the cell, and the newest, are taken from there.
    private var slowValue: Value {
        guard let versionStamp = engine.versionStamp else { return uncertainValue }
        let (stored, version) = engine.valueAndVersion(forKey: key.name, versionStamp)
        guard ValueCache.fits(Value.self) else { return stripedValue(stored, version) }
        let value = reading(of: stored).value
        writing.withLock { _ in
            // What has become old in the meantime must not take the place of something newer.
            if versionStamp.isCurrent(version) { cell.store(value, version) }
        }
        return value
    }

    private func stripedValue(_ stored: StoredValue?, _ version: VersionStamp.Version) -> Value {
        // Something else may have changed.
        if let known = cell.renewedValue(from: stored, version, as: Value.self) { return known }
        let value = reading(of: stored).value
        cell.store(value, from: stored, version)
        return value
    }

    /// The value over a store that has to be asked, decoded once for as long as nothing is changed.
    private var uncertainValue: Value {
        // The stamp is older than the value, if they differ in age: then the next read decodes once too often.
        let stamp = engine.stamp
        if let known = uncertain.withLock({ $0?.stamp == stamp ? $0 : nil }) { return known.value }
        let value = reading(of: engine.value(forKey: key.name)).value
        let old = uncertain.withLock { uncertain in
            defer { uncertain = Uncertain(stamp: stamp, value: value) }
            return uncertain
        }
        // After the lock: the end of a value of the user's may run code of theirs.
        _ = consume old
        return value
    }
}

// MARK: - Sharing

extension SettingBox {
    /// Whether another definition's default is equal, and would be stored alike; this runs code of the user's.
    ///
    /// Either alone may be blind to something: `-0.0 == 0.0`, and a conversion may leave something out.
    func hasDefault(equalTo other: SettingKey<Value>) -> Bool {
        let (value, other) = (key.defaultValue, other.defaultValue)
        guard let comparable = value as? any Equatable, comparable.isEqual(to: other) else { return false }
        guard let stored = identity(of: value) else { return false }
        return stored == identity(of: other)
    }
}

extension Equatable {
    fileprivate func isEqual(to other: Any) -> Bool {
        other as? Self == self
    }
}

// MARK: - Decoding

extension SettingBox {
    /// What a stored value means to this setting.
    struct Reading {
        var value: Value
        /// The form in which the value would be stored, which tells whether two readings are equal.
        var identity: StoredValue?
    }

    /// The value of what is stored, or what the store falls back to, or the default where there is neither, or nothing that
    /// can be used: that is reported.
    ///
    /// Where the setting is overridden, whatever is stored is read as the override.
    func reading(of stored: StoredValue?) -> Reading {
        reading(of: stored) { reporter.report(unusable($0)) }
    }

    /// The same for a value that was read before, when what is wrong with it was reported.
    func quietReading(of stored: StoredValue?) -> Reading {
        reading(of: stored) { _ in }
    }

    private func reading(of stored: StoredValue?, report: (any Error) -> Void) -> Reading {
        // First what takes no look at generic types: most settings have no overrides.
        if overrides != nil, let override = overrideReading { return override }
        if let stored = stored ?? engine.store.fallback(forKey: key.name) {
            do {
                let value = try decode(stored)
                // A bridge that only reads has no form for the value: then what is stored tells it from others.
                return Reading(value: value, identity: identity(of: value) ?? stored)
            } catch {
                report(error)
            }
        }
        let value = key.defaultValue
        return Reading(value: value, identity: identity(of: value))
    }

    /// - Throws: ``SettingsError`` that names the setting.
    func decode(_ stored: StoredValue) throws -> Value {
        do {
            let value = try key.conversion.decode(stored)
            try key.rule(value)
            return value
        } catch {
            throw naming(error, as: .invalidValue)
        }
    }

    /// The form in which a value would be stored, to tell whether two values are equal.
    func identity(of value: Value) -> StoredValue? {
        do {
            return try key.conversion.encode(value)
        } catch {
            // A default need not be storable. Two of them then count as equal, which they are: there is one default.
            return nil
        }
    }

    private func unusable(_ error: any Error) -> SettingsError {
        var error = naming(error, as: .invalidValue)
        error.consequence = "the default serves, and what is stored is kept until it is assigned over"
        let remedy = error.location.map { "correct it in \($0.file), or assign a new value" } ?? "assign a new value"
        error.remedy = [remedy, error.remedy].filter { !$0.isEmpty }.joined(separator: "; ")
        return error
    }
}

// MARK: - Encoding

extension SettingBox {
    /// What to store for a value.
    ///
    /// - Throws: ``SettingsError`` that names the setting.
    func encode(_ value: Value) throws -> StoredValue? {
        do {
            guard !key.name.isEmpty else { throw SettingsError.emptyKey }
            try key.rule(value)
            return try key.conversion.encode(value)
        } catch {
            var error = naming(error, as: .unstorable)
            error.consequence = "the setting keeps the value it had"
            if error.remedy.isEmpty { error.remedy = "give the setting a value that it can take" }
            throw error
        }
    }

    /// The error, with the names of this setting, its suite and its file.
    func naming(_ error: any Error, as code: SettingsError.Code) -> SettingsError {
        var error = SettingsError.wrapping(error, as: code)
        error.key = key.name
        return engine.naming(error, suite: suiteName)
    }
}
