// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/UserDefaults.md, "Registered values are used but not stored".

import Foundation
import StoredSettings
import Synchronization

/// The one place that touches a `UserDefaults`, in terms of stored values.
///
/// Unchecked: Foundation says of `UserDefaults` that any thread may use it, and does not declare it. It does not hold on Linux,
/// where threads that use any suites of the process at once now and then read what is not there, or miss what is: there
/// all of this library's uses take turns.
struct PreferencesDomain: @unchecked Sendable {
    private let defaults: UserDefaults

    init(_ defaults: UserDefaults) {
        self.defaults = defaults
    }

    #if canImport(ObjectiveC)
    private func inTurn<Result>(_ body: () -> Result) -> Result { body() }
    #else
    private static let turn = Mutex<Void>(())

    /// Runs a body while nobody else uses preferences through this library.
    private func inTurn<Result: Sendable>(_ body: () -> Result) -> Result {
        Self.turn.withLock { _ in body() }
    }
    #endif

    #if canImport(ObjectiveC)
    /// Hears of changes, by whomever, until the token is removed.
    func observe(_ notice: @escaping @Sendable () -> Void) -> any NSObjectProtocol {
        NotificationCenter.default.addObserver(
            forName: UserDefaults.didChangeNotification,
            object: defaults,
            queue: nil
        ) { _ in notice() }
    }
    #endif
}

// MARK: - Reading

extension PreferencesDomain {
    /// What plain code sees under a key, launch arguments left out: what is stored, or else registered.
    func value(forKey key: String) -> StoredValue? {
        guard !isArgument(key) else { return merged()[key] }
        return inTurn { defaults.object(forKey: key).flatMap(StoredValue.init(propertyList:)) }
    }

    /// The same for all keys.
    func merged() -> [String: StoredValue] {
        let values = inTurn { defaults.dictionaryRepresentation().compactMapValues(StoredValue.init(propertyList:)) }
        #if canImport(ObjectiveC)
        // What an argument hides cannot be seen.
        let arguments = defaults.volatileDomain(forName: UserDefaults.argumentDomain)
        return values.filter { arguments[$0.key] == nil }
        #else
        // The arguments are not in it here.
        return values
        #endif
    }

    /// What serves for keys under which nothing is stored.
    func registered() -> [String: StoredValue] {
        #if canImport(ObjectiveC)
        let registered = defaults.volatileDomain(forName: UserDefaults.registrationDomain)
        let global = defaults.persistentDomain(forName: UserDefaults.globalDomain) ?? [:]
        return registered.merging(global) { $1 }.compactMapValues(StoredValue.init(propertyList:))
        #else
        // They are the same for all suites here, and cannot be asked for: a suite with nothing in it shows them.
        return Self.empty.merged()
        #endif
    }

    /// What serves for a key under which nothing is stored.
    func registered(forKey key: String) -> StoredValue? {
        #if canImport(ObjectiveC)
        return registered()[key]
        #else
        return Self.empty.value(forKey: key)
        #endif
    }

    /// Whether a launch argument hides what is stored under a key.
    private func isArgument(_ key: String) -> Bool {
        defaults.volatileDomain(forName: UserDefaults.argumentDomain)[key] != nil
    }

    #if !canImport(ObjectiveC)
    private static let empty = PreferencesDomain(UserDefaults(suiteName: "StoredSettings.nothing") ?? UserDefaults())
    #endif
}

// MARK: - Writing

extension PreferencesDomain {
    /// Stores a native value, or removes what is there.
    ///
    /// Only through the one setter that takes any object: setting a literal `nil` never returns on Linux.
    func set(_ value: StoredValue?, forKey key: String) {
        inTurn {
            if let object = value?.propertyList {
                #if !canImport(ObjectiveC)
                // Foundation leaves the old value where it takes the new one for equal: one string in another normalization.
                defaults.removeObject(forKey: key)
                #endif
                defaults.set(object as Any?, forKey: key)
            } else {
                defaults.removeObject(forKey: key)
            }
        }
    }

    /// Writes what was set to the disk, and takes up what other processes have written.
    ///
    /// - Returns: Whether Foundation says that it has done so.
    func synchronize() -> Bool {
        inTurn { defaults.synchronize() }
    }
}
