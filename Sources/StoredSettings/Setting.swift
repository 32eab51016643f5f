// SPDX-License-Identifier: Apache-2.0

/// One typed key of one suite, with its default: what `$port` gives.
///
/// ```swift
/// settings.$port.isSet
/// try settings.$port.update { $0 += 1 }
/// for await port in settings.$port.values { … }
/// ```
///
/// A setting can also be made and used without a property wrapper:
///
/// ```swift
/// let port = Setting("port", default: 8080, suite: "com.acme.server")
/// port.value = 9090
/// ```
///
/// It holds no value itself: two settings of one key and suite are one. It may be used from any thread.
public struct Setting<Value: Sendable>: Sendable {
    /// The suite that the setting is kept in.
    public let suite: SettingsSuite
    let box: SettingBox<Value>
    /// The newest value that was decoded.
    ///
    /// It belongs to the box.
    @usableFromInline let cell: ValueCache

    /// Creates a setting.
    ///
    /// - Parameters:
    ///   - key: The definition: key, type and default.
    ///   - suite: The suite it is kept in.
    public init(_ key: SettingKey<Value>, suite: SettingsSuite = .standard) {
        self = .shared(key, in: suite)
    }

    private init(_ box: SettingBox<Value>, in suite: SettingsSuite) {
        self.suite = suite
        self.box = box
        cell = box.readerCache
    }

    private static func shared(_ key: SettingKey<Value>, in suite: SettingsSuite) -> Setting {
        let query = SettingQuery(
            valueType: ObjectIdentifier(Value.self),
            key: ObjectIdentifier(key),
            form: key.form
        )
        return Setting(suite.box(named: key.name, query) { key }, in: suite)
    }

    /// Gives a setting whose definition need not be made if it is known already.
    ///
    /// - Parameters:
    ///   - name: Its key.
    ///   - form: What makes it one with another; `nil` for one that is shared with nobody.
    ///   - suite: The suite it is kept in.
    ///   - makeKey: Makes the definition.
    /// - Returns: The setting.
    static func shared(
        _ name: String,
        _ form: SettingFingerprint?,
        in suite: SettingsSuite,
        makeKey: () -> SettingKey<Value>
    ) -> Setting {
        guard let form else { return Setting(SettingBox(makeKey(), suite: suite), in: suite) }
        let query = SettingQuery(valueType: ObjectIdentifier(Value.self), form: form)
        return Setting(suite.box(named: name, query, makeKey: makeKey), in: suite)
    }

    /// Creates a setting.
    ///
    /// - Parameters:
    ///   - key: Its key; any text that is not empty.
    ///   - value: The value that serves while nothing is stored.
    ///   - suite: The suite it is kept in.
    public init(_ key: String, default value: Value, suite: SettingsSuite = .standard)
    where Value: StoredValueConvertible {
        let form = SettingFingerprint(value, .convertible, ValidatorFingerprint())
        self = .shared(key, form, in: suite) { SettingKey(key, default: value) }
    }

    /// The key.
    public var key: String { box.key.name }

    var engine: SettingsEngine { suite.engine }

    /// The value that serves while nothing is stored.
    ///
    /// It is never stored itself.
    public var defaultValue: Value { box.key.defaultValue }
}

// MARK: - The value

extension Setting {
    /// The value: what is stored, or the default while nothing is, or nothing that can be used.
    ///
    /// Where an override of the suite gives a value, that is read in place of both: see ``SettingsOverride``.
    ///
    /// What cannot be decoded is reported to the suite's reporter, and stays stored until it is assigned over.
    ///
    /// Assigning stores the value before it returns. What fails there is reported: a value that the setting does not
    /// take changes nothing, and a value that cannot be saved now stays readable and is tried again
    /// (``SettingsSuite/synchronize()`` throws while it is not saved), unless a newer value is stored before. Where that is not enough, use ``set(_:)``.
    ///
    /// Reading a number, a Bool or another small value that is copied bit by bit takes a few nanoseconds, on any number of
    /// threads; other values take some tens, and are decoded only after a change. No read makes a system call.
    ///
    /// Assigning takes some microseconds and waits for no disk; it blocks the thread for up to five seconds while another
    /// process does not let go of the lock. For when the value survives a loss of power, see
    /// ``SettingsSuite/synchronize()``.
    public var value: Value {
        @inlinable get { cell.currentValue(as: Value.self) ?? slowValue }
        nonmutating set {
            do {
                let stored = try box.encode(newValue)
                engine.assign(stored, forKey: key) { report($0, as: .writeFailed) }
            } catch {
                report(error, as: .unstorable)
            }
        }
    }

    /// The value, when it is not in the cell.
    @usableFromInline var slowValue: Value { box.value }

    /// Whether anything is stored under the key, be it of use or not.
    public var isSet: Bool {
        box.access()
        return engine.value(forKey: key) != nil
    }

    /// The stored value, told apart from the default, from overrides and from what cannot be used.
    ///
    /// - Returns: The value that is stored; `nil` when nothing is.
    /// - Throws: ``SettingsError`` when something is stored that is not a value of this setting, or when what is stored
    ///   cannot be read now, so that the last good values serve.
    public func load() throws -> Value? {
        box.access()
        if let problem = engine.store.problem { throw box.naming(problem, as: .readFailed) }
        return try engine.value(forKey: key).map(box.decode)
    }

    /// Stores a value, at the cost of an assignment to ``value``.
    ///
    /// - Parameter value: The new value.
    /// - Throws: ``SettingsError`` when the setting does not take the value, or it cannot be saved. Then nothing has
    ///   changed.
    public func set(_ value: Value) throws {
        let stored = try box.encode(value)
        do {
            try engine.write(stored, forKey: key)
        } catch {
            var error = box.naming(error, as: .writeFailed)
            error.consequence = "the setting keeps the value it had"
            throw error
        }
    }

    /// Removes what is stored, so that the default serves.
    ///
    /// What fails is reported and tried again, as for an assignment.
    public func reset() {
        engine.assign(nil, forKey: key) { report($0, as: .writeFailed) }
    }

    private func report(_ error: any Error, as code: SettingsError.Code) {
        box.reporter.report(box.naming(error, as: code))
    }

    /// Changes the value with nobody else's change in between, be it another thread's or another process's.
    ///
    /// ```swift
    /// try settings.$launches.update { $0 += 1 }
    /// ```
    ///
    /// It works on what is stored, or the default, whatever overrides the setting. The closure runs alone among all writers
    /// of the suite, so it should be short. It must not change other settings, of whichever suite: for several at once
    /// there is ``SettingsSuite/transaction(_:)``. When it leaves the default as it is, nothing is stored.
    ///
    /// - Parameter body: Changes the value.
    /// - Returns: The new value.
    /// - Throws: What the closure throws; ``SettingsError`` when what is stored cannot be decoded, when the setting does
    ///   not take the new value, or when it cannot be saved. Then nothing has changed.
    @discardableResult
    public func update(_ body: (inout Value) throws -> Void) throws -> Value {
        var hasBegun = false
        do {
            return try suite.transaction {
                hasBegun = true
                return try $0.update(self, body)
            }
        } catch let error as SettingsError {
            // What the closure throws may be about another setting.
            throw hasBegun ? error : box.naming(error, as: .writeFailed)
        }
    }
}

// MARK: - In words

extension Setting: CustomStringConvertible {
    /// The setting's key and the name of its suite, without the value.
    public var description: String { "setting '\(key)' of suite '\(suite.name)'" }
}

extension Setting: CustomReflectable {
    /// A mirror without parts, so that `dump` prints the ``description`` alone.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
