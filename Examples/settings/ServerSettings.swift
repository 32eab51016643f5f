// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The settings of a server that does not exist: one of each kind that people need first.
///
/// A property is all there is to write. Its value is the one that is stored, by whichever process; until then it is the
/// default written here.
public struct ServerSettings: Sendable {
    @DefaultStorage(key: "port", suite: .quickstart, in: 1...65_535) public var port = 8080
    @DefaultStorage(key: "verbose", suite: .quickstart) public var isVerbose = false
    @DefaultStorage(key: "logLevel", suite: .quickstart) public var logLevel = LogLevel.info
    @DefaultStorage(key: "allowedHosts", suite: .quickstart) public var allowedHosts: Set<String> = ["localhost"]
    @DefaultStorage(key: "limits", suite: .quickstart) public var limits = Limits()
    @DefaultStorage(key: "runs", suite: .quickstart) public var runs = 0
    @DefaultStorageOptional(key: "lastRun", suite: .quickstart) public var lastRun: Date?

    public init() {}
}

/// An enum needs no more than the conformance: its raw value is stored.
public enum LogLevel: String, StoredValueConvertible {
    case debug, info, warning, error
}

/// Nor does a `Codable` type: its structure is stored.
public struct Limits: Codable, StoredValueConvertible {
    public var perSecond = 100
    public var burst = 20
}

extension SettingsSuite {
    /// Where the examples keep their settings: whoever names the same suite shares them.
    public static let quickstart: SettingsSuite = "com.example.quickstart"
}

extension ServerSettings {
    /// The settings themselves, for programs that list them or find them by name.
    public var all: [any TextualSetting] {
        [$port, $isVerbose, $logLevel, $allowedHosts, $limits, $runs, $lastRun]
    }
}
