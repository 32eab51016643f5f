// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings
import Synchronization

/// A store over a `UserDefaults`, whose values plain code reads and writes too.
///
/// ```swift
/// let suite = SettingsSuite(userDefaults: .standard)
/// ```
///
/// What Foundation cannot keep is told in <doc:WhatFoundationCannotDo>. Commits of all stores of this kind in a process
/// exclude each other, as two may be over one domain. Each commit writes the property list to the disk before it returns.
public final class UserDefaultsStore: SettingsStore {
    struct State {
        /// What is stored, as far as this store has seen: for every commit, and to tell what has changed.
        var stored: [String: StoredValue] = [:]
        /// What Foundation gave for each key when that was seen.
        var seen: [String: StoredValue] = [:]
        var exact = ExactForms()
        /// What the exact forms were read from.
        var exactText: StoredValue?
        var hasLooked = false
        /// Whether a commit is writing: what is there is then neither old nor new, and nobody looks.
        var isWriting = false
        var version: UInt64 = 1
        weak var observer: (any StoreObserver)?
        /// What ends the notifications.
        var observation: Observation?
    }

    let domain: PreferencesDomain
    let state = Mutex(State())
    let name: String

    /// Creates a store over a `UserDefaults`.
    ///
    /// Make one store only for each object: `SettingsSuite(userDefaults:)` sees to that.
    ///
    /// - Parameters:
    ///   - userDefaults: Where the values are kept.
    ///   - name: What to call the place, since Foundation does not tell the path.
    public init(_ userDefaults: UserDefaults, name: String = "UserDefaults") {
        domain = PreferencesDomain(userDefaults)
        self.name = name
    }

    /// Always `SettingsPersistence.durable(path:)`, with the name of the place instead of a path.
    public var persistence: SettingsPersistence { .durable(path: name) }

    /// Sets the observer that hears of every change from now on.
    public func setObserver(_ observer: any StoreObserver) {
        state.withLock { $0.observer = observer }
    }

    /// Another number each time: Foundation does not tell whether anything has changed, so every read looks.
    public func version() -> UInt64 {
        state.withLock { state in
            state.version &+= 1
            return state.version
        }
    }

    /// Reads a value, and runs a body before any later change can be recorded.
    public func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        var delivery = StoreDelivery.none
        defer { delivery.perform() }
        return state.withLock { state in
            delivery = look(at: key, &state)
            return body(state.stored[key])
        }
    }

    /// What is registered with `UserDefaults`; on Apple systems also what its global domain has.
    public func fallback(forKey key: String) -> StoredValue? {
        guard key != ExactForms.key else { return nil }
        return state.withLock { state in
            state.stored[key] == nil ? domain.registered(forKey: key) : nil
        }
    }

    /// All values that are stored, without those that are registered.
    public func contents() -> [String: StoredValue] {
        var delivery = StoreDelivery.none
        defer { delivery.perform() }
        return state.withLock { state in
            delivery = look(&state)
            return state.stored
        }
    }

    /// Writes to the disk what plain code has set, and takes up what other processes have written.
    ///
    /// - Throws: `SettingsError` when Foundation says that it could not.
    public func synchronize() throws {
        var delivery = StoreDelivery.none
        defer { delivery.perform() }
        let isDone = state.withLock { state in
            let isDone = domain.synchronize()
            delivery = look(&state)
            return isDone
        }
        guard isDone else { throw Self.notWritten }
    }

    static var notWritten: SettingsError {
        SettingsError(
            .writeFailed,
            fact: "Foundation could not write the property list",
            consequence: "nothing is changed",
            remedy: "see whether the preferences directory can be written to, and whether the disk is full"
        )
    }
}
