// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The settings of a server, in a struct that tasks share.
public struct ServerSettings: Sendable {
    /// The shared settings.
    public static let shared = ServerSettings(suite: .inMemory())

    /// An integer with a range.
    @DefaultStorage public var port: Int
    /// An enum.
    @DefaultStorage public var logLevel: LogLevel
    /// A struct.
    @DefaultStorage public var limits: Limits
    /// A collection.
    @DefaultStorage public var allowedHosts: Set<String>
    /// An optional.
    @DefaultStorageOptional public var lastDeploy: Date?

    /// Creates the settings in a suite.
    public init(suite: SettingsSuite) {
        _port = DefaultStorage(wrappedValue: 8080, key: "port", suite: suite, in: 1...65_535)
        _logLevel = DefaultStorage(wrappedValue: .info, key: "logLevel", suite: suite)
        _limits = DefaultStorage(wrappedValue: Limits(), key: "limits", suite: suite)
        _allowedHosts = DefaultStorage(wrappedValue: ["localhost"], key: "allowedHosts", suite: suite)
        _lastDeploy = DefaultStorageOptional(key: "lastDeploy", suite: suite)
    }
}

/// Minimal settings, in the standard suite at the time of their creation.
public struct StandardSettings: Sendable {
    /// An integer.
    @DefaultStorage(key: "count") public var count = 0
    /// A string.
    @DefaultStorageOptional(key: "owner") public var owner: String?

    /// Creates the settings in the standard suite.
    public init() {}
}

/// A class on the main actor.
@MainActor
public final class WindowSettings {
    /// An integer.
    @DefaultStorage(key: "width", in: 1...) public var width = 800
    /// A string.
    @DefaultStorageOptional(key: "title") public var title: String?

    /// Creates the settings in the standard suite.
    public init() {}

    /// Receives values of a stream on the main actor, and sets the next value after each, up to a last value.
    public func widen(upTo last: Int) async -> [Int] {
        var seen: [Int] = []
        for await width in $width.values {
            MainActor.assertIsolated()
            seen.append(width)
            if width >= last { break }
            self.width = width + 100
        }
        return seen
    }
}

/// An actor.
public actor Worker {
    /// An integer.
    @DefaultStorage(key: "jobs") public var jobs = 0
    /// A date.
    @DefaultStorageOptional(key: "idleSince") public var idleSince: Date?

    /// A count that a stream could not access if it left the actor's isolation.
    private var seen: [Int] = []

    /// Creates the settings in the standard suite.
    public init() {}

    /// Adds a job.
    public func addJob() throws {
        idleSince = nil
        try $jobs.update { $0 += 1 }
    }

    /// Removes all jobs.
    public func rest(since date: Date) {
        jobs = 0
        idleSince = date
    }

    /// Receives changes of a stream on the actor, one for each job that it adds.
    public func count(to last: Int) async throws -> [Int] {
        var changes = $jobs.changes().makeAsyncIterator()
        while seen.last != last {
            try addJob()
            guard let change = await changes.next(isolation: self) else { break }
            self.assertIsolated()
            seen.append(change.new)
        }
        return seen
    }
}

/// A class, as in a command-line tool.
public class ToolSettings {
    /// An integer.
    @DefaultStorage(key: "retries") public var retries = 3
    /// An array.
    @DefaultStorage(key: "recent") public var recent: [String] = []

    /// Creates the settings in the standard suite.
    public init() {}
}

/// A subclass that adds a setting.
public final class SpecialToolSettings: ToolSettings {
    /// Another setting.
    @DefaultStorage(key: "dryRun") public var isDryRun = false
}

/// A class that is `Sendable` because its only properties are settings.
public final class SharedSettings: @unchecked Sendable {
    /// An integer.
    @DefaultStorage(key: "hits") public var hits = 0
    /// A string.
    @DefaultStorageOptional(key: "last") public var last: String?

    /// Creates the settings in the standard suite.
    public init() {}
}

/// A struct that stores settings in a `let` and assigns through it.
public struct Application: Sendable {
    /// The settings.
    public let settings: ServerSettings

    /// Creates the struct.
    public init(_ settings: ServerSettings) {
        self.settings = settings
    }

    /// Assigns through the `let` in a nonmutating function.
    public func move(to port: Int) {
        settings.port = port
        settings.allowedHosts.insert("example.org")
        settings.limits.burst = 7
        settings.lastDeploy = Date(timeIntervalSince1970: 1)
    }
}

/// A generic type whose parameter is the type of its setting.
public struct Cache<Element: StoredValueConvertible>: Sendable {
    /// The setting.
    @DefaultStorage public var newest: Element
    /// The optional setting.
    @DefaultStorageOptional public var previous: Element?
    /// A setting of a type that contains the parameter.
    @DefaultStorage public var all: [String: Element]

    /// Creates the settings with a default.
    public init(default newest: Element, key: String, suite: SettingsSuite = .standard) {
        _newest = DefaultStorage(wrappedValue: newest, key: key, suite: suite)
        _previous = DefaultStorageOptional(key: key + ".previous", suite: suite)
        _all = DefaultStorage(wrappedValue: [:], key: key + ".all", suite: suite)
    }

    /// Assigns generically.
    public func push(_ element: Element) {
        previous = newest
        newest = element
        all["newest"] = element
    }
}

/// Settings in local variables of a function.
public func countLocally() -> (count: Int, isSet: Bool, note: String?) {
    @DefaultStorage(key: "local.count", in: 0...10) var count = 1
    @DefaultStorageOptional(key: "local.note") var note: String?
    @DefaultStorage(.quality) var quality
    count += 1
    note = "noted"
    quality = 0.25
    return (count, $count.isSet && $quality.isSet, note)
}
