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
    /// The port to listen on; an assignment outside the range is refused.
    @DefaultStorage(key: "port", suite: .quickstart, in: 1...65_535) public var port = 8080
    /// Whether each request is logged.
    @DefaultStorage(key: "verbose", suite: .quickstart) public var isVerbose = false
    /// What is worth logging.
    @DefaultStorage(key: "logLevel", suite: .quickstart) public var logLevel = LogLevel.info
    /// Who may connect.
    @DefaultStorage(key: "allowedHosts", suite: .quickstart) public var allowedHosts: Set<String> = ["localhost"]
    /// How much a client may ask for.
    @DefaultStorage(key: "limits", suite: .quickstart) public var limits = Limits()
    /// How often quickstart has shown all settings.
    @DefaultStorage(key: "runs", suite: .quickstart) public var runs = 0
    /// When it did so last; `nil` means that nothing is stored.
    @DefaultStorageOptional(key: "lastRun", suite: .quickstart) public var lastRun: Date?

    /// Creates a view of the settings: any two show the same values.
    public init() {}
}

/// An enum needs no more than the conformance: its raw value is stored.
public enum LogLevel: String, StoredValueConvertible {
    case debug, info, warning, error
}

/// Nor does a `Codable` type: its structure is stored.
public struct Limits: Codable, StoredValueConvertible {
    /// Requests in each second.
    public var perSecond = 100
    /// Requests at once.
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
