// SPDX-License-Identifier: Apache-2.0

/// The place for keys that are members of ``SettingsSuite/values``, as properties of an instance.
///
/// ```swift
/// extension SettingMembers {
///     var launchCount: SettingKey<Int> { SettingKey("launchCount", default: 0) }
///     var quality: SettingKey<Double> { .quality }       // one that is defined among SettingKeys
/// }
///
/// suite.values.launchCount += 1
/// ```
public struct SettingMembers: Sendable {
    // Static members of SettingKeys will not do: key paths to those that are stored and in another module crash where
    // they are used, with compilers up to 6.3.
    fileprivate init() {}
}

/// The values of a suite, to be named as the members of ``SettingMembers``.
///
/// ```swift
/// suite.values.launchCount += 1
/// suite.values.hosts.append("example.org")
/// ```
///
/// Reading and assigning work as ``Setting/value`` does. Each use looks the key and the setting up; a property wrapper
/// does so once, so it is what to read where speed counts.
@dynamicMemberLookup
public struct SettingsValues: Sendable {
    let suite: SettingsSuite

    /// The value under a key that is a member of ``SettingMembers``.
    public subscript<Value>(dynamicMember key: KeyPath<SettingMembers, SettingKey<Value>>) -> Value {
        get { suite[SettingMembers()[keyPath: key]] }
        nonmutating set { suite[SettingMembers()[keyPath: key]] = newValue }
    }
}

extension SettingsSuite {
    /// The values of the suite, to be named as the members of ``SettingMembers``: `suite.values.launchCount`.
    public var values: SettingsValues { SettingsValues(suite: self) }
}
