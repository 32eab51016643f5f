// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StoredSettings
import Synchronization

extension SettingsSuite {
    /// Gives the suite whose values are kept in a `UserDefaults`.
    ///
    /// ```swift
    /// @DefaultStorage(key: "port", suite: SettingsSuite(userDefaults: .standard)) var port = 8080
    /// ```
    ///
    /// Plain `UserDefaults` code and this library read what the other has written, each by its own rules: where the getters
    /// of `UserDefaults` convert (1 to `true`, `"42"` to 42), a value of another type is reported here, and the default
    /// serves. A URL that plain code has stored is read through ``UserDefaultsURL``. A value that is registered with
    /// `UserDefaults` serves before the default of a declaration, and counts as not stored. Launch arguments are no part of
    /// it, unless they are taken as overrides. A set takes up what others have written and writes the whole property
    /// list to the disk: on Linux about 0.5 ms with 10 keys, and 7 ms with 1,000. A read takes 2.5 µs.
    ///
    /// All suites over one object share one store.
    ///
    /// - Parameters:
    ///   - userDefaults: Where the values are kept.
    ///   - name: The suite's name, which tells it from others in messages: give one to each where there are several.
    ///   - overrides: What is read in place of stored values.
    ///   - reporter: Hears of what fails where nothing can be thrown.
    public init(
        userDefaults: UserDefaults,
        name: String = "UserDefaults",
        overrides: [SettingsOverride] = [],
        reporter: any SettingsReporter = StandardErrorReporter.shared
    ) {
        let store = OpenUserDefaults.store(over: userDefaults, name: name)
        self.init(store: store, name: name, overrides: overrides, reporter: reporter)
    }
}

extension UserDefaults {
    /// The value under a key, as `SettingsSuite` gives it.
    ///
    /// ```swift
    /// UserDefaults.standard[.quality] += 0.1
    /// ```
    ///
    /// What fails in an assignment is told on standard error, and is kept and tried again as long as the process lives. Each
    /// use of an object other than `standard` looks through all its keys: for more than a few, make a
    /// `SettingsSuite` and keep it.
    ///
    /// - Parameter key: The setting's key.
    public subscript<Value>(key: SettingKey<Value>) -> Value {
        get { SettingsSuite(userDefaults: self)[key] }
        set { SettingsSuite(userDefaults: self)[key] = newValue }
    }
}

/// The stores that are in use, one for each `UserDefaults`.
private enum OpenUserDefaults {
    private static let stores = Mutex(WeakTable<ObjectIdentifier, UserDefaultsStore>())
    /// For as long as the process, which has one `UserDefaults.standard`.
    private static let standard = UserDefaultsStore(.standard, name: "UserDefaults.standard")

    static func store(over userDefaults: UserDefaults, name: String) -> UserDefaultsStore {
        if userDefaults === UserDefaults.standard { return standard }
        // A store keeps its object, so no other can take its place and its identity.
        let new = UserDefaultsStore(userDefaults, name: name)
        let (store, others) = stores.withLock { stores in
            if let known = stores[ObjectIdentifier(userDefaults)] { return (known, [UserDefaultsStore]()) }
            return (new, stores.insert(new, forKey: ObjectIdentifier(userDefaults)))
        }
        _ = consume others
        return store
    }
}
