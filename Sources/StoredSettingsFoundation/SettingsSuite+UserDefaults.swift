// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings
import Synchronization

extension SettingsSuite {
    /// Creates the suite whose values are stored in a `UserDefaults` object.
    ///
    /// ```swift
    /// @DefaultStorage(key: "port", suite: SettingsSuite(userDefaults: .standard)) var port = 8080
    /// ```
    ///
    /// Other code that uses `UserDefaults` and this library read each other's values, each by its own rules. Where the
    /// getters of `UserDefaults` convert (1 to `true`, `"42"` to 42), this library reports a value of another type and
    /// uses the default. Use ``UserDefaultsURL`` to read URLs that other code stored. A value that is registered with
    /// `UserDefaults` takes precedence over the default of a declaration and does not count as stored. Launch arguments
    /// are ignored unless they are passed as sources.
    ///
    /// A set reads external changes and writes the whole property list to disk: on Linux in about 0.5 ms with 10 keys,
    /// and 7 ms with 1,000. A read takes 2.5 µs.
    ///
    /// All suites over one object share one store.
    ///
    /// - Parameters:
    ///   - userDefaults: The object that stores the values.
    ///   - name: The suite's name in messages; use a different name for each suite.
    ///   - sources: The sources of values, in order of precedence: see `SettingsSource`.
    ///   - reporter: Receives failures that cannot be thrown.
    public init(
        userDefaults: UserDefaults,
        name: String = "UserDefaults",
        sources: [SettingsSource] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) {
        let store = OpenUserDefaults.store(over: userDefaults, name: name)
        self.init(store: store, name: name, sources: sources, reporter: reporter)
    }
}

extension UserDefaults {
    /// The value of a key, read as `SettingsSuite` reads it.
    ///
    /// ```swift
    /// UserDefaults.standard[.quality] += 0.1
    /// ```
    ///
    /// A failed assignment is reported on standard error and retried until the process ends. Each use of an object
    /// other than `standard` reads all its keys. To access more than a few keys, create a `SettingsSuite` and store it
    /// in a variable.
    ///
    /// - Parameter key: The setting's key.
    public subscript<Value>(key: SettingKey<Value>) -> Value {
        get { SettingsSuite(userDefaults: self)[key] }
        set { SettingsSuite(userDefaults: self)[key] = newValue }
    }
}

/// The stores in use, one for each `UserDefaults` object.
private enum OpenUserDefaults {
    private static let stores = Mutex(WeakTable<ObjectIdentifier, UserDefaultsStore>())
    /// Lives as long as the process, like `UserDefaults.standard`.
    private static let standard = UserDefaultsStore(.standard, name: "UserDefaults.standard")

    static func store(over userDefaults: UserDefaults, name: String) -> UserDefaultsStore {
        if userDefaults === UserDefaults.standard { return standard }
        // A store retains its object, so no other object can have the same identity.
        let new = UserDefaultsStore(userDefaults, name: name)
        let (store, others) = stores.withLock { stores in
            if let known = stores[ObjectIdentifier(userDefaults)] { return (known, [UserDefaultsStore]()) }
            return (new, stores.insert(new, forKey: ObjectIdentifier(userDefaults)))
        }
        _ = consume others
        return store
    }
}
