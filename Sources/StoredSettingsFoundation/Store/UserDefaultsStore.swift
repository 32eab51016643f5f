// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/UserDefaults.md, "Every read of UserDefaults looks up its key".

public import Foundation
public import StoredSettings
import Synchronization

/// A store over a `UserDefaults` object, whose values other code also reads and writes.
///
/// ```swift
/// let suite = SettingsSuite(userDefaults: .standard)
/// ```
///
/// <doc:WhatFoundationCannotDo> lists the limits of Foundation. Commits of all stores of this kind in a process exclude
/// each other, because two stores may be over one domain. Each commit writes the property list to disk before it
/// returns.
public final class UserDefaultsStore: SettingsStore {
    struct State {
        /// The stored values as last seen, which commits start from and changes are compared with.
        var stored: [String: StoredValue] = [:]
        /// The values that Foundation returned for each key at that time.
        var seen: [String: StoredValue] = [:]
        var exact = ExactForms()
        /// The stored value that the exact forms were decoded from.
        var exactText: StoredValue?
        var hasDetectedChanges = false
        /// Whether a commit is writing; readers do not look then, because the values are incomplete.
        var isWriting = false
        weak var observer: (any StoreObserver)?
        /// Ends the notifications.
        var observation: Observation?
    }

    let domain: PreferencesDomain
    let state = Mutex(State())
    let name: String

    /// Creates a store over a `UserDefaults` object.
    ///
    /// Create only one store for each object; `SettingsSuite(userDefaults:)` does that.
    ///
    /// - Parameters:
    ///   - userDefaults: The object that stores the values.
    ///   - name: The name of the place, because Foundation does not expose the path.
    public init(_ userDefaults: UserDefaults, name: String = "UserDefaults") {
        domain = PreferencesDomain(userDefaults)
        self.name = name
    }

    /// Always `SettingsPersistence.durable(path:)`, with the name of the place instead of a path.
    public var persistence: SettingsPersistence { .durable(path: name) }

    /// Sets the observer that receives every later change.
    public func setObserver(_ observer: any StoreObserver) {
        state.withLock { $0.observer = observer }
    }

    /// Reads a value, and runs a body before any later change can be recorded.
    public func withValue<Result>(forKey key: String, _ body: (StoredValue?) -> Result) -> Result {
        var delivery = StoreDelivery.none
        defer { delivery.perform() }
        return state.withLock { state in
            delivery = detectChanges(at: key, &state)
            return body(state.stored[key])
        }
    }

    /// The registered value; on Apple platforms also that of the global domain.
    public func fallback(forKey key: String) -> StoredValue? {
        guard key != ExactForms.key else { return nil }
        return domain.registered(forKey: key)
    }

    /// All stored values, without the registered ones.
    public func contents() -> [String: StoredValue] {
        var delivery = StoreDelivery.none
        defer { delivery.perform() }
        return state.withLock { state in
            delivery = detectChanges(&state)
            return state.stored
        }
    }

    /// Writes the changes of other code to disk, and reads the changes of other processes.
    ///
    /// - Throws: `SettingsError` if Foundation reports a failure.
    public func synchronize() throws {
        var delivery = StoreDelivery.none
        defer { delivery.perform() }
        let isDone = state.withLock { state in
            let isDone = domain.synchronize()
            delivery = detectChanges(&state)
            return isDone
        }
        guard isDone else { throw Self.notWritten }
    }

    static var notWritten: SettingsError {
        SettingsError(
            .writeFailed,
            fact: "Foundation could not write the property list",
            consequence: "no value was changed",
            remedy: "check that the preferences directory is writable and that the disk is not full"
        )
    }
}
