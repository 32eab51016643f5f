// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Keys-and-declarations.md, "Keys can be instance members".

/// A namespace for keys that are used as members of ``SettingsSuite/members``.
///
/// ```swift
/// extension SettingMembers {
///     var launchCount: SettingKey<Int> { SettingKey("launchCount", default: 0) }
///     var quality: SettingKey<Double> { .quality }       // defined in an extension of SettingKeys
/// }
///
/// suite.members.launchCount += 1
/// ```
public struct SettingMembers: Sendable {
    // Static members of SettingKeys cannot be used instead: with compilers up to 6.3, a program crashes when it uses a key
    // path to a stored static member of another module.
    fileprivate init() {}
}

extension SettingsSuite {
    /// The values of a suite by the names of ``SettingMembers``.
    ///
    /// ```swift
    /// suite.members.launchCount += 1
    /// suite.members.hosts.append("example.org")
    /// ```
    ///
    /// Reading and assigning work like ``Setting/value``. To observe, reset or check a member, use its setting:
    /// `suite.setting(\.launchCount)`.
    ///
    /// Each access looks up the key and the setting, which a property wrapper does once. Use a property wrapper where speed
    /// matters.
    @dynamicMemberLookup
    public struct Members: Sendable {
        let suite: SettingsSuite

        /// The value of a key that is a member of ``SettingMembers``.
        public subscript<Value>(dynamicMember key: KeyPath<SettingMembers, SettingKey<Value>>) -> Value {
            get { suite.setting(key).value }
            nonmutating set { suite.setting(key).value = newValue }
        }
    }

    /// The values of the suite by the names of ``SettingMembers``.
    public var members: Members { Members(suite: self) }

    /// Returns the setting of a member of ``SettingMembers``.
    ///
    /// ```swift
    /// try await suite.setting(\.launchCount).reset()
    /// for await count in suite.setting(\.launchCount).values { print(count) }
    /// ```
    public func setting<Value>(_ key: KeyPath<SettingMembers, SettingKey<Value>>) -> Setting<Value> {
        Setting(SettingMembers()[keyPath: key], suite: self)
    }

    /// Returns the setting of a key.
    ///
    /// ```swift
    /// suite.setting(.quality).isSet
    /// ```
    public func setting<Value>(_ key: SettingKey<Value>) -> Setting<Value> {
        Setting(key, suite: self)
    }
}
