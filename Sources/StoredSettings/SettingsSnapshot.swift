// SPDX-License-Identifier: Apache-2.0

/// The values of all settings of an object at one moment.
///
/// ```swift
/// let now = SettingsSnapshot(settings)
/// print(now.$host, now.$port)
/// ```
///
/// A snapshot reads each setting once, and keeps the values: a request that takes one sees no later change. The settings are found as by a
/// ``SettingsCatalog``. Those of one store are of one moment, as with ``SettingsSuite/read(_:)``. Creating a snapshot takes some
/// microseconds per setting. It may be used from any thread.
@dynamicMemberLookup
public struct SettingsSnapshot<Settings> {
    private let settings: Settings
    private let values: [SettingIdentity: any ChangeTracking]

    /// Reads the values.
    ///
    /// - Parameter settings: A struct or a class with settings.
    public init(_ settings: Settings) {
        self.settings = settings
        var values: [SettingIdentity: any ChangeTracking] = [:]
        let declared = SettingsCatalog(settings).compactMap { $0.base as? any TrackableSetting }
        for own in Dictionary(grouping: declared, by: { ObjectIdentifier($0.suite.engine) }).values {
            let trackers = own.map(\.tracker)
            _ = trackers.readAll(Set(own.flatMap(\.storedKeys.all)), of: own[0].suite.engine)
            for (setting, tracker) in zip(own, trackers) { values[SettingIdentity(setting)] = tracker }
        }
        self.values = values
    }

    /// The value of a setting, such as `now.$port`.
    public subscript<Value>(dynamicMember setting: KeyPath<Settings, Setting<Value>>) -> Value {
        self[settings[keyPath: setting]]
    }

    /// The value of a setting; one that the settings do not contain has its current value.
    public subscript<Value>(setting: Setting<Value>) -> Value {
        (values[SettingIdentity(setting)] as? TrackedSetting<Value>)?.value ?? setting.value
    }
}

extension SettingsSnapshot: Sendable where Settings: Sendable {}

extension SettingsSnapshot: CustomReflectable {
    /// A mirror without children: a text of a snapshot contains no values, some of which may be secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What the settings of one key and suite have in common.
private struct SettingIdentity: Hashable {
    let key: String
    let suite: SettingsSuite

    init(_ setting: some CatalogSetting) { (key, suite) = (setting.key, setting.suite) }
}

/// A setting of any type whose value can be read together with others.
private protocol TrackableSetting: CatalogSetting {
    var tracker: any ChangeTracking { get }
}

extension Setting: TrackableSetting {
    fileprivate var tracker: any ChangeTracking { TrackedSetting(self, for: engine) }
}
