// SPDX-License-Identifier: Apache-2.0

public import StoredSettings

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
