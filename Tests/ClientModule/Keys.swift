// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Keys kept in an enum.
public enum AppKey: String {
    case flag
    case level
    case ratio = "tuning.ratio"
    case started
    case colour
    case nickname
}

extension SettingKeys {
    /// A key with a fixed default.
    public static let quality = SettingKey("quality", default: 0.8)
    /// A key of a list.
    public static let hosts = SettingKey("hosts", default: ["localhost"])
    /// A key of named values.
    public static let weights = SettingKey<[String: [Int]]>("weights", default: [:])
    /// A key whose `nil` means that nothing is stored.
    public static let lastDeploy = SettingKey<Date?>("lastDeploy")
    /// A key whose `nil` is a value of its own.
    public static let maximum = SettingKey<Int?>("maximum", default: 42)
    /// The same, with that value as its default.
    public static let minimum = SettingKey<Int?>("minimum", default: nil)
    /// A key whose default is computed, here by a closure of several statements.
    public static let workers = SettingKey("workers") {
        let cores = 4
        return cores * 2
    }
    /// A key whose default is computed by a function.
    public static let greeting = SettingKey("greeting", default: makeGreeting)
    /// A key whose values lie in a range.
    public static let port = SettingKey("port", default: 8080, in: 1...65_535)
    /// A key whose values are in a range, and even.
    public static let even = SettingKey("even", default: 2, in: 0...) { $0.isMultiple(of: 2) }
    /// A key with a validator.
    public static let name = SettingKey("name", default: "server") { !$0.isEmpty }
    /// A key with a validator that is not asked about `nil`.
    public static let alias = SettingKey<String?>("alias") { !$0.isEmpty }
    /// A key whose closure has no parameter, and so is a default.
    public static let verbose = SettingKey<Bool?>("verbose") { true }
    /// A key of a type that is stored through a bridge.
    public static let accent = SettingKey("accent", default: Colour(red: 1, green: 2, blue: 3), as: ColourBridge())
    /// The same, where `nil` means that nothing is stored.
    public static let tint = SettingKey<Colour?>("tint", as: ColourBridge())
}

extension SettingMembers {
    /// A key that is defined among the static members.
    public var quality: SettingKey<Double> { .quality }
    /// A list.
    public var hosts: SettingKey<[String]> { .hosts }
    /// One that may be missing.
    public var alias: SettingKey<String?> { .alias }
    /// One with a default that is computed.
    public var workers: SettingKey<Int> { .workers }
    /// One that is defined here alone.
    public var port: SettingKey<Int> { SettingKey("port", default: 8080, in: 1...65_535) }
}

private func makeGreeting() -> String {
    "good day"
}

/// Settings whose keys, types and defaults are defined elsewhere.
public struct KeyedSettings: Sendable {
    /// A key that is a case of an enum.
    @DefaultStorage(AppKey.flag) public var flag = true
    /// The same with a validator.
    @DefaultStorage(AppKey.level, validate: { $0 != .debug }) public var level = LogLevel.info
    /// The same with a range.
    @DefaultStorage(AppKey.ratio, in: 0.0..<1.0) public var ratio = 0.5
    /// The same through a bridge.
    @DefaultStorage(AppKey.started, as: UnixSeconds()) public var started = Date(timeIntervalSince1970: 0)
    /// The same, optional.
    @DefaultStorageOptional(AppKey.nickname) public var nickname: String?
    /// The same, optional, through a bridge.
    @DefaultStorageOptional(AppKey.colour, as: ColourBridge()) public var colour: Colour?
    /// A static member, with its type and default.
    @DefaultStorage(.quality) public var quality
    /// A static member, with its type written out.
    @DefaultStorage(.hosts) public var hosts: [String]
    /// A static member with another default.
    @DefaultStorage(.port) public var port = 9000
    /// A static member whose `nil` means that nothing is stored.
    @DefaultStorageOptional(.lastDeploy) public var lastDeploy
    /// The same under the other wrapper.
    @DefaultStorage(.alias) public var alias
    /// A static member whose `nil` is a value.
    @DefaultStorage(.maximum) public var maximum

    /// Keeps the settings in the standard suite of this moment.
    public init() {}
}

/// The same keys, in suites that are named.
public struct KeyedSettingsElsewhere: Sendable {
    /// A static member, in a suite that is a string literal.
    @DefaultStorage(.quality, suite: "client-tests.elsewhere") public var quality = 0.1
    /// An optional one.
    @DefaultStorageOptional(.lastDeploy, suite: "client-tests.elsewhere") public var lastDeploy: Date?
    /// A case of an enum.
    @DefaultStorage(AppKey.flag, suite: "client-tests.elsewhere") public var flag = false
    /// A text.
    @DefaultStorage(key: "a key with spaces.and 🗝", suite: "client-tests.elsewhere") public var text = ""

    /// Touches nothing.
    public init() {}
}
