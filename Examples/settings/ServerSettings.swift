// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The settings of an imaginary server, with one property of each common kind.
///
/// Each setting is only a property. Its value is the stored one, which any process may have set. Until a value is
/// stored, it is the default.
public struct ServerSettings: Sendable {
    /// The port to listen on; a value outside the range is rejected.
    @DefaultStorage(key: "port", suite: .quickstart, in: 1...65_535) public var port = 8080
    /// Whether each request is logged.
    @DefaultStorage(key: "verbose", suite: .quickstart) public var isVerbose = false
    /// The lowest severity that is logged.
    @DefaultStorage(key: "logLevel", suite: .quickstart) public var logLevel = LogLevel.info
    /// The hosts that may connect.
    @DefaultStorage(key: "allowedHosts", suite: .quickstart) public var allowedHosts: Set<String> = ["localhost"]
    /// The limits for each client.
    @DefaultStorage(key: "limits", suite: .quickstart) public var limits = Limits()
    /// The number of times that quickstart has shown all settings.
    @DefaultStorage(key: "runs", suite: .quickstart) public var runs = 0
    /// The time of the last run; `nil` if no value is stored.
    @DefaultStorageOptional(key: "lastRun", suite: .quickstart) public var lastRun: Date?

    /// Creates the settings; all instances share the same values.
    public init() {}
}

/// An enum only needs the conformance: its raw value is stored.
public enum LogLevel: String, StoredValueConvertible {
    case debug, info, warning, error
}

/// So does a `Codable` type: its structure is stored.
public struct Limits: Codable, StoredValueConvertible {
    /// The number of requests per second.
    public var perSecond = 100
    /// The number of concurrent requests.
    public var burst = 20
}

extension SettingsSuite {
    /// The suite of the examples; programs that name the same suite share its settings.
    public static let quickstart: SettingsSuite = "com.example.quickstart"
}

extension ServerSettings {
    /// All settings, for programs that list them or find them by name.
    public var all: [any TextualSetting] {
        [$port, $isVerbose, $logLevel, $allowedHosts, $limits, $runs, $lastRun]
    }
}
