// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/UserDefaults.md, "Registered values are used but not stored".

import Foundation
import StoredSettings
import Synchronization

/// The only type that accesses a `UserDefaults` object, in terms of stored values.
///
/// Unchecked: Foundation documents `UserDefaults` as thread-safe but does not declare it `Sendable`. On Linux it is not
/// thread-safe. Threads that use any suites at the same time occasionally read missing values or miss stored ones. So
/// all accesses by this library are serialized on Linux.
struct PreferencesDomain: @unchecked Sendable {
    private let defaults: UserDefaults

    init(_ defaults: UserDefaults) {
        self.defaults = defaults
    }

    #if canImport(ObjectiveC)
    private func serialized<Result>(_ body: () -> Result) -> Result { body() }
    #else
    private static let turn = Mutex<Void>(())

    /// Runs a body while no other thread accesses preferences through this library.
    private func serialized<Result: Sendable>(_ body: () -> Result) -> Result {
        Self.turn.withLock { _ in body() }
    }
    #endif

    #if canImport(ObjectiveC)
    /// Observes changes by any code until the token is removed.
    func observe(_ handler: @escaping @Sendable () -> Void) -> any NSObjectProtocol {
        NotificationCenter.default.addObserver(
            forName: UserDefaults.didChangeNotification,
            object: defaults,
            queue: nil
        ) { _ in handler() }
    }
    #endif
}

// MARK: - Reading

extension PreferencesDomain {
    /// The value that other code reads for a key, without launch arguments: the stored or else the registered value.
    func value(forKey key: String) -> StoredValue? {
        guard !isArgument(key) else { return merged()[key] }
        return serialized { defaults.object(forKey: key).flatMap(StoredValue.init(propertyList:)) }
    }

    /// The values that other code reads for all keys, without launch arguments.
    func merged() -> [String: StoredValue] {
        let values = serialized {
            defaults.dictionaryRepresentation().compactMapValues(StoredValue.init(propertyList:))
        }
        #if canImport(ObjectiveC)
        // A value that an argument hides cannot be read.
        let arguments = defaults.volatileDomain(forName: UserDefaults.argumentDomain)
        return values.filter { arguments[$0.key] == nil }
        #else
        // On this platform, the representation does not contain launch arguments.
        return values
        #endif
    }

    /// The values that are used for keys without a stored value.
    func registered() -> [String: StoredValue] {
        #if canImport(ObjectiveC)
        let registered = defaults.volatileDomain(forName: UserDefaults.registrationDomain)
        let global = defaults.persistentDomain(forName: UserDefaults.globalDomain) ?? [:]
        return registered.merging(global) { $1 }.compactMapValues(StoredValue.init(propertyList:))
        #else
        // Registered values are shared by all suites on this platform and have no getter, but an empty suite returns
        // only them.
        return Self.empty.merged()
        #endif
    }

    /// The value that is used for a key without a stored value.
    func registered(forKey key: String) -> StoredValue? {
        #if canImport(ObjectiveC)
        return registered()[key]
        #else
        return Self.empty.value(forKey: key)
        #endif
    }

    /// Whether a launch argument hides the stored value of a key.
    private func isArgument(_ key: String) -> Bool {
        defaults.volatileDomain(forName: UserDefaults.argumentDomain)[key] != nil
    }

    #if !canImport(ObjectiveC)
    private static let empty = PreferencesDomain(UserDefaults(suiteName: "StoredSettings.nothing") ?? UserDefaults())
    #endif
}

// MARK: - Writing

extension PreferencesDomain {
    /// Stores a native value, or removes the value.
    ///
    /// This uses only the setter for any object, because setting a literal `nil` never returns on Linux.
    func set(_ value: StoredValue?, forKey key: String) {
        serialized {
            if let object = value?.propertyList {
                #if !canImport(ObjectiveC)
                // Foundation keeps an old value that it considers equal, such as a string with another normalization.
                defaults.removeObject(forKey: key)
                #endif
                defaults.set(object as Any?, forKey: key)
            } else {
                defaults.removeObject(forKey: key)
            }
        }
    }

    /// Writes the changes to disk, and reads the changes of other processes.
    ///
    /// - Returns: Whether Foundation reports success.
    func synchronize() -> Bool {
        serialized { defaults.synchronize() }
    }
}
