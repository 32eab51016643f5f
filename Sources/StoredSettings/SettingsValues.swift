// SPDX-License-Identifier: Apache-2.0

/// The values of a suite under the names of the static members of ``SettingKeys``.
///
/// ```swift
/// extension SettingKeys {
///     static let launchCount = SettingKey("launchCount", default: 0)
/// }
///
/// suite.values.launchCount += 1      // as suite[.launchCount] += 1
/// ```
///
/// Reading and assigning work as ``Setting/value`` does. Each use looks the key and the setting up; a property wrapper
/// does so once, so it is what to read where speed counts. Such key paths need a compiler of Swift 6.1 or newer: an older
/// one refuses `suite.values.launchCount` and takes `suite[.launchCount]`.
@dynamicMemberLookup
public struct SettingsValues: Sendable {
    let suite: SettingsSuite

    /// The value under a key that is a static member of ``SettingKeys``.
    public subscript<Value>(dynamicMember key: KeyPath<SettingKeys.Type, SettingKey<Value>>) -> Value {
        get { suite[SettingKeys.self[keyPath: key]] }
        nonmutating set { suite[SettingKeys.self[keyPath: key]] = newValue }
    }
}

extension SettingsSuite {
    /// The values of the suite, to be named as properties: `suite.values.launchCount`.
    public var values: SettingsValues { SettingsValues(suite: self) }
}
