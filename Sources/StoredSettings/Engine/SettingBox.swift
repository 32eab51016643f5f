// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What all that speaks of one setting forwards to: a key and a suite, and the value as it was last decoded.
final class SettingBox<Value: Sendable>: Sendable {
    let key: SettingKey<Value>
    let suite: SettingsSuite

    /// The value in a word, for types that fit.
    let cell: HotCell
    private let cache: ValueCache<Value>
    /// Where the word is that outruns what is cached; `nil` for stores that have none.
    private let localAddress: UInt64?
    /// Held to write into the cell.
    private let writing = Locked<Void>(())

    init(_ key: SettingKey<Value>, suite: SettingsSuite) {
        self.key = key
        self.suite = suite
        localAddress = suite.engine.freshness?.localAddress
        cell = HotCell(for: Value.self, localAddress: localAddress)
        cache = ValueCache(isForThreads: cell.words == nil)
    }

    deinit {
        cell.deallocate()
    }

    var engine: SettingsEngine { suite.engine }

    /// The value, decoded once for as long as nothing is changed.
    var value: Value {
        guard let localAddress else { return uncertainValue }
        if let value = cell.load(as: Value.self) { return value }
        let known = cache.withEntry { entry in
            guard let entry, entry.ticket.isCurrent(localAddress: localAddress) else { return nil as Value? }
            return entry.value
        }
        return known ?? newValue(localAddress)
    }

    @inline(never)
    private func newValue(_ localAddress: UInt64) -> Value {
        let (stored, ticket) = engine.valueAndTicket(forKey: key.name)
        guard let ticket else { return reading(of: stored).value }
        let known = cache.withEntry { entry in entry.flatMap { $0.stored == stored ? $0.value : nil } }
        let value = known ?? reading(of: stored).value
        cache.withEntry { $0 = ValueCache.Entry(ticket: ticket, stored: stored, value: value) }
        writing.withLock { _ in
            // What has become old in the meantime must not take the place of something newer.
            if ticket.isCurrent(localAddress: localAddress) { cell.store(value, ticket) }
        }
        return value
    }

    /// The same over a store that has to be asked whether anything has changed.
    private var uncertainValue: Value {
        // The stamp is older than the value, if they differ in age: then the next read decodes once too often.
        let stamp = engine.stamp
        let ticket = Freshness.Ticket(local: stamp.overlay, address: 0, shared: stamp.store)
        let known = cache.withEntry { entry in
            guard let entry, entry.ticket == ticket else { return nil as Value? }
            return entry.value
        }
        if let known { return known }
        let stored = engine.value(forKey: key.name)
        let value = reading(of: stored).value
        cache.withEntry { $0 = ValueCache.Entry(ticket: ticket, stored: stored, value: value) }
        return value
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

    /// The value of what is stored, or the default where nothing is, or nothing that can be used: that is reported.
    func reading(of stored: StoredValue?) -> Reading {
        reading(of: stored) { suite.reporter.report(unusable($0)) }
    }

    /// The same for a value that was read before, when what is wrong with it was reported.
    func quietReading(of stored: StoredValue?) -> Reading {
        reading(of: stored) { _ in }
    }

    private func reading(of stored: StoredValue?, report: (any Error) -> Void) -> Reading {
        if let stored {
            do {
                let value = try decode(stored)
                // A bridge that only reads has no form for the value: then what is stored tells it from others.
                return Reading(value: value, identity: identity(of: value) ?? stored)
            } catch {
                report(error)
            }
        }
        let value = key.makeDefault()
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
        error.remedy = error.location.map { "correct it in \($0.file), or assign a new value" } ?? "assign a new value"
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
        return suite.naming(error)
    }
}
