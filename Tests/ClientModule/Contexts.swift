// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The settings of a server: a structure that tasks share.
public struct ServerSettings: Sendable {
    /// The one that everybody uses.
    public static let shared = ServerSettings(suite: .inMemory())

    /// A range of integers.
    @DefaultStorage public var port: Int
    /// An enum.
    @DefaultStorage public var logLevel: LogLevel
    /// A structure.
    @DefaultStorage public var limits: Limits
    /// A collection.
    @DefaultStorage public var allowedHosts: Set<String>
    /// An optional.
    @DefaultStorageOptional public var lastDeploy: Date?

    /// Keeps the settings in a suite.
    public init(suite: SettingsSuite) {
        _port = DefaultStorage(wrappedValue: 8080, key: "port", suite: suite, in: 1...65_535)
        _logLevel = DefaultStorage(wrappedValue: .info, key: "logLevel", suite: suite)
        _limits = DefaultStorage(wrappedValue: Limits(), key: "limits", suite: suite)
        _allowedHosts = DefaultStorage(wrappedValue: ["localhost"], key: "allowedHosts", suite: suite)
        _lastDeploy = DefaultStorageOptional(key: "lastDeploy", suite: suite)
    }
}

/// The smallest settings, in the standard suite of the moment they are made.
public struct StandardSettings: Sendable {
    /// A number.
    @DefaultStorage(key: "count") public var count = 0
    /// A text.
    @DefaultStorageOptional(key: "owner") public var owner: String?

    /// Takes the standard suite.
    public init() {}
}

/// A class of the main actor.
@MainActor
public final class WindowSettings {
    /// A number.
    @DefaultStorage(key: "width", in: 1...) public var width = 800
    /// A text.
    @DefaultStorageOptional(key: "title") public var title: String?

    /// Takes the standard suite.
    public init() {}

    /// Takes the values of a stream on the main actor, and sets each next one, up to a last.
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
    /// A number.
    @DefaultStorage(key: "jobs") public var jobs = 0
    /// A time.
    @DefaultStorageOptional(key: "idleSince") public var idleSince: Date?

    /// What the actor counts beside its settings: a stream that left its isolation could not touch it.
    private var seen: [Int] = []

    /// Takes the standard suite.
    public init() {}

    /// One job more.
    public func addJob() throws {
        idleSince = nil
        try $jobs.update { $0 += 1 }
    }

    /// None any more.
    public func rest(since date: Date) {
        jobs = 0
        idleSince = date
    }

    /// Takes changes of a stream on the actor, one for each job it adds.
    public func count(to last: Int) async throws -> [Int] {
        var changes = $jobs.changes.makeAsyncIterator()
        while seen.last != last {
            try addJob()
            guard let change = await changes.next(isolation: self) else { break }
            self.assertIsolated()
            seen.append(change.new)
        }
        return seen
    }
}

/// A plain class, as in a command-line tool.
public class ToolSettings {
    /// A number.
    @DefaultStorage(key: "retries") public var retries = 3
    /// A list.
    @DefaultStorage(key: "recent") public var recent: [String] = []

    /// Takes the standard suite.
    public init() {}
}

/// A class that inherits settings and adds its own.
public final class SpecialToolSettings: ToolSettings {
    /// One more.
    @DefaultStorage(key: "dryRun") public var isDryRun = false
}

/// A class that is `Sendable` because all it has are settings.
public final class SharedSettings: @unchecked Sendable {
    /// A number.
    @DefaultStorage(key: "hits") public var hits = 0
    /// A text.
    @DefaultStorageOptional(key: "last") public var last: String?

    /// Takes the standard suite.
    public init() {}
}

/// A structure that holds settings in a `let` and assigns through it.
public struct Application: Sendable {
    /// The settings.
    public let settings: ServerSettings

    /// Takes settings.
    public init(_ settings: ServerSettings) {
        self.settings = settings
    }

    /// Assigns through the `let`, in a function that does not mutate.
    public func move(to port: Int) {
        settings.port = port
        settings.allowedHosts.insert("example.org")
        settings.limits.burst = 7
        settings.lastDeploy = Date(timeIntervalSince1970: 1)
    }
}

/// A generic type, whose type parameter is that of its setting.
public struct Cache<Element: StoredValueConvertible>: Sendable {
    /// The setting.
    @DefaultStorage public var newest: Element
    /// The optional one.
    @DefaultStorageOptional public var previous: Element?
    /// One of a type that is made of the parameter.
    @DefaultStorage public var all: [String: Element]

    /// Takes the default.
    public init(default newest: Element, key: String, suite: SettingsSuite = .standard) {
        _newest = DefaultStorage(wrappedValue: newest, key: key, suite: suite)
        _previous = DefaultStorageOptional(key: key + ".previous", suite: suite)
        _all = DefaultStorage(wrappedValue: [:], key: key + ".all", suite: suite)
    }

    /// Assigns, generically.
    public func push(_ element: Element) {
        previous = newest
        newest = element
        all["newest"] = element
    }
}

/// Settings that are local variables of a function.
public func countLocally() -> (count: Int, isSet: Bool, note: String?) {
    @DefaultStorage(key: "local.count", in: 0...10) var count = 1
    @DefaultStorageOptional(key: "local.note") var note: String?
    @DefaultStorage(.quality) var quality
    count += 1
    note = "noted"
    quality = 0.25
    return (count, $count.isSet && $quality.isSet, note)
}
