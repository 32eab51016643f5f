// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Keys in an enum.
public enum AppKey: String {
    case flag
    case level
    case ratio = "tuning.ratio"
    case started
    case color
    case nickname
}

extension SettingKeys {
    /// A key with a fixed default.
    public static let quality = SettingKey("quality", default: 0.8)
    /// A key of an array.
    public static let hosts = SettingKey("hosts", default: ["localhost"])
    /// A key of a dictionary.
    public static let weights = SettingKey<[String: [Int]]>("weights", default: [:])
    /// A key whose `nil` means that no value is stored.
    public static let lastDeploy = SettingKey<Date?>("lastDeploy")
    /// A key whose `nil` is a value.
    public static let maximum = SettingKey<Int?>("maximum", default: 42)
    /// The same with `nil` as the default.
    public static let minimum = SettingKey<Int?>("minimum", default: nil)
    /// A key with a computed default, here a closure with several statements.
    public static let workers = SettingKey("workers") {
        let cores = 4
        return cores * 2
    }
    /// A key with a default that a function computes.
    public static let greeting = SettingKey("greeting", default: makeGreeting)
    /// A key with a range.
    public static let port = SettingKey("port", default: 8080, in: 1...65_535)
    /// A key with a range and a validator.
    public static let even = SettingKey("even", default: 2, in: 0...) { $0.isMultiple(of: 2) }
    /// A key with a validator.
    public static let name = SettingKey("name", default: "server") { !$0.isEmpty }
    /// A key with a validator that is not called for `nil`.
    public static let alias = SettingKey<String?>("alias") { !$0.isEmpty }
    /// A key whose closure has no parameter and is therefore a default.
    public static let verbose = SettingKey<Bool?>("verbose") { true }
    /// A key with a bridge.
    public static let accent = SettingKey("accent", default: Color(red: 1, green: 2, blue: 3), as: ColorBridge())
    /// The same, where `nil` means that no value is stored.
    public static let tint = SettingKey<Color?>("tint", as: ColorBridge())
}

extension SettingMembers {
    /// A key that is defined among the static members.
    public var quality: SettingKey<Double> { .quality }
    /// An array.
    public var hosts: SettingKey<[String]> { .hosts }
    /// An optional.
    public var alias: SettingKey<String?> { .alias }
    /// A key with a computed default.
    public var workers: SettingKey<Int> { .workers }
    /// A key that is only defined here.
    public var port: SettingKey<Int> { SettingKey("port", default: 8080, in: 1...65_535) }
}

private func makeGreeting() -> String {
    "good day"
}

/// Settings whose keys, types and defaults are defined elsewhere.
public struct KeyedSettings: Sendable {
    /// An enum case as the key.
    @DefaultStorage(AppKey.flag) public var flag = true
    /// The same with a validator.
    @DefaultStorage(AppKey.level, validate: { $0 != .debug }) public var level = LogLevel.info
    /// The same with a range.
    @DefaultStorage(AppKey.ratio, in: 0.0..<1.0) public var ratio = 0.5
    /// The same with a bridge.
    @DefaultStorage(AppKey.started, as: UnixSeconds()) public var started = Date(timeIntervalSince1970: 0)
    /// The same for an optional.
    @DefaultStorageOptional(AppKey.nickname) public var nickname: String?
    /// The same for an optional with a bridge.
    @DefaultStorageOptional(AppKey.color, as: ColorBridge()) public var color: Color?
    /// A static member, with its type and default.
    @DefaultStorage(.quality) public var quality
    /// A static member, with an explicit type.
    @DefaultStorage(.hosts) public var hosts: [String]
    /// A static member with another default.
    @DefaultStorage(.port) public var port = 9000
    /// A static member whose `nil` means that no value is stored.
    @DefaultStorageOptional(.lastDeploy) public var lastDeploy
    /// The same with the other wrapper.
    @DefaultStorage(.alias) public var alias
    /// A static member whose `nil` is a value.
    @DefaultStorage(.maximum) public var maximum

    /// Creates the settings in the current standard suite.
    public init() {}
}

/// The same keys in named suites.
public struct KeyedSettingsElsewhere: Sendable {
    /// A static member, in a suite from a string literal.
    @DefaultStorage(.quality, suite: "client-tests.elsewhere") public var quality = 0.1
    /// An optional.
    @DefaultStorageOptional(.lastDeploy, suite: "client-tests.elsewhere") public var lastDeploy: Date?
    /// An enum case.
    @DefaultStorage(AppKey.flag, suite: "client-tests.elsewhere") public var flag = false
    /// A string.
    @DefaultStorage(key: "a key with spaces.and 🗝", suite: "client-tests.elsewhere") public var text = ""

    /// Creates the settings without any access.
    public init() {}
}
