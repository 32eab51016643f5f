// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Fleet.md, "A watch that shows nothing is not a connection".

import StoredSettings

/// What is known of the connection of a replica: its failures, and how long to wait after them.
struct LinkHealth {
    private var firstFailure: ContinuousClock.Instant?
    /// The errors that were reported and are not settled, each with another fix.
    private var reported: [SettingsError] = []
    private var delay = LinkHealth.shortestDelay
    /// What has happened in the current watch; it is silent until its first message.
    private var (isWatching, isSilent, isCreated) = (false, false, false)
    /// The number of watches in a row that have ended early, without a message.
    private(set) var emptyWatches = 0

    /// In seconds.
    private static let shortestDelay = 0.1
    private static let longestDelay = 5.0

    /// The number of empty watches after which a new one proves nothing.
    private static let mostEmptyWatches = 3

    /// How long a watch without a message has to last, in seconds, so that it is not empty.
    static let leastLifetime = 5.0

    /// Whether the next watch may show nothing either.
    var isDoubtful: Bool { emptyWatches >= Self.mostEmptyWatches }

    // MARK: - Successes

    mutating func watchBegins() {
        (isWatching, isSilent, isCreated) = (true, true, false)
    }

    /// Notes that the server has created a watch.
    ///
    /// - Returns: Whether that shows that there is a connection.
    mutating func watchCreated() -> Bool {
        isCreated = true
        return !isDoubtful
    }

    /// Notes a message of a watch, or another proof that the contents are current.
    mutating func messageArrived() {
        (firstFailure, isSilent, emptyWatches, delay) = (nil, false, 0, Self.shortestDelay)
    }

    /// Notes that a watch has lasted for ``leastLifetime``.
    ///
    /// - Returns: Whether that shows that there is a connection.
    mutating func watchLasts() -> Bool {
        if isCreated { messageArrived() }
        return isCreated
    }

    /// Returns the errors that were reported and no longer hold, once.
    mutating func takeReported() -> [SettingsError] {
        defer { reported = [] }
        return reported
    }

    // MARK: - Failures

    /// Notes the end of a watch or of another attempt.
    ///
    /// - Returns: Whether it was a watch.
    @discardableResult
    mutating func attemptEnds() -> Bool {
        if isSilent { emptyWatches += 1 }
        defer { (isWatching, isSilent) = (false, false) }
        return isWatching
    }

    /// Notes a failure.
    ///
    /// - Parameters:
    ///   - problem: The error.
    ///   - isUrgent: Whether it is reported at once.
    ///   - tolerance: The time after which another one is reported.
    ///   - now: The current time.
    /// - Returns: Whether to report the error.
    mutating func failed(
        _ problem: SettingsError,
        isUrgent: Bool,
        tolerance: Duration,
        _ now: ContinuousClock.Instant
    ) -> Bool {
        let start = firstFailure ?? now
        firstFailure = start
        // After the first report, only an urgent failure needs attention that no report has asked for.
        let mayReport = isUrgent || reported.isEmpty && now - start >= tolerance
        guard mayReport, !reported.contains(where: { $0.remedy == problem.remedy }) else { return false }
        reported.append(problem)
        return true
    }

    /// Returns the time until the next attempt, which becomes longer with every call.
    mutating func nextDelay() -> Double {
        defer { delay = min(delay * 2, Self.longestDelay) }
        return delay
    }
}
