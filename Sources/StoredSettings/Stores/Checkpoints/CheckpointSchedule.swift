// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Decides when a store makes a checkpoint in the background.
final class CheckpointSchedule: Sendable {
    /// The interval at which to check for further sets, in seconds.
    ///
    /// A checkpoint follows one to two intervals after the last set.
    static let interval = 0.1
    /// How often to postpone a checkpoint because of further sets.
    static let mostChecks = 9
    /// How long to leave the checkpoint to the process that committed, in seconds.
    static let requestDelay = 0.5
    /// How long to wait for a checkpoint of another process when this one exits.
    static let timeoutAtEnd = Duration.seconds(2)
    /// The delay after the first failed checkpoint.
    ///
    /// It doubles with each further failure, up to `longestRetryDelay`.
    static let retryDelay = Duration.seconds(1)
    static let longestRetryDelay = Duration.seconds(60)
    /// The interval at which a process that may not write to the journal looks for records, in seconds.
    static let pollInterval = 0.05
    /// The interval at which to check whether a retry is due, in seconds.
    static let retryInterval = 0.5

    /// Whether the store makes checkpoints in the background at all.
    let isActive: Bool
    let isScheduled = ScheduledFlag()
    let isRepairScheduled = ScheduledFlag()
    let isLookScheduled = ScheduledFlag()
    /// Whether a request for a notification of the next record is scheduled.
    let isRequestScheduled = ScheduledFlag()
    /// Whether any stream or observation needs the changes of other processes at once.
    let hasSubscribers = Atomic(false)
    /// Whether the lack of threads has been reported.
    let isShortageReported = Atomic(false)
    /// Whether a checkpoint is in progress because the journal has become long.
    let isUrgent = ScheduledFlag()
    /// Whether this process has committed anything, and is therefore responsible for a checkpoint.
    let hasCommitted = Atomic(false)

    /// The failed checkpoints since the last successful one.
    private struct Failures {
        var count = 0
        /// The number of failures for which the delay has been doubled; it begins anew when the cause may be gone.
        var delayCount = 0
        var nextAttempt = ContinuousClock.now
        /// The causes that have been noted.
        var causes: Set<String> = []
        /// The errors that have been reported.
        var reported: [SettingsError] = []
        /// The causes that the last checkpoint has met, although it has written the file.
        var lasting: Set<String> = []
    }

    private let failures = Locked<Failures?>(nil)
    /// Whether there are failures, for commits, which must not take a lock for this.
    private let isFailing = Atomic(false)

    /// The length of the journal above which a checkpoint is due at once, in bytes.
    let journalBound: Int

    init(isActive: Bool, journalBound: Int) {
        (self.isActive, self.journalBound) = (isActive, journalBound)
    }

    /// Whether a scheduled checkpoint runs at a check, or is postponed because of further sets.
    ///
    /// - Parameters:
    ///   - published: The word that the journal has published last.
    ///   - seen: The word at the previous check.
    ///   - checks: How often the checkpoint was postponed.
    /// - Returns: Whether it runs now.
    static func isDue(published: UInt64, seen: UInt64, checks: Int) -> Bool {
        published == seen || checks >= mostChecks
    }

    /// Whether it is too early for another attempt.
    var isBackingOff: Bool {
        guard isFailing.load(ordering: .relaxed) else { return false }
        return failures.withLock { $0.map { .now < $0.nextAttempt } ?? false }
    }

    /// The time of the last checkpoint that this process knows, in nanoseconds since 1970; 0 for none.
    private let lastKnownCheckpoint = Atomic<UInt64>(0)

    /// Returns the time in the journal, or the last known one: the journal has none while a checkpoint replaces the file, and after that
    /// has failed.
    func lastCheckpoint(at time: UInt64?) -> UInt64? {
        if let time { lastKnownCheckpoint.store(time, ordering: .relaxed) }
        let known = lastKnownCheckpoint.load(ordering: .relaxed)
        return known == 0 ? nil : known
    }

    /// The number of failed checkpoints since the last successful one.
    var failureCount: Int { failures.withLock { $0?.count ?? 0 } }

    /// Notes that a checkpoint has failed.
    ///
    /// - Returns: Whether this is the first failure for this reason since the last successful checkpoint.
    func noteFailure(_ error: SettingsError) -> Bool {
        failures.withLock { failures in
            isFailing.store(true, ordering: .relaxed)
            var new = failures ?? Failures()
            defer { failures = new }
            let delay = Self.retryDelay * (1 << min(new.delayCount, 6))
            new.count += 1
            new.delayCount += 1
            new.nextAttempt = .now + min(delay, Self.longestRetryDelay)
            return new.causes.insert(Self.cause(of: error)).inserted
        }
    }

    /// Notes the problems of a checkpoint, which does not fail because of them.
    ///
    /// - Returns: Those to report: their causes were not noted since the last checkpoint without them.
    func note(_ problems: [SettingsError]) -> [SettingsError] {
        guard !problems.isEmpty || isFailing.load(ordering: .relaxed) else { return [] }
        return failures.withLock { failures in
            isFailing.store(true, ordering: .relaxed)
            var new = failures ?? Failures()
            defer { failures = new }
            new.lasting = Set(problems.map(Self.cause))
            let first = problems.filter { new.causes.insert(Self.cause(of: $0)).inserted }
            new.reported += first
            return first
        }
    }

    private static func cause(of error: SettingsError) -> String {
        // The path of a draft differs each time.
        let call = (error.underlying as? SystemError).map { "\($0.call) \($0.number)" }
        return "\(error.code) \(call ?? error.fact)"
    }

    /// Notes that a failure was reported, before anything else can settle it.
    func noteReport(_ error: SettingsError) {
        failures.withLock { $0?.reported.append(error) }
    }

    /// Notes that the changes are in the file, written by this process or another one.
    ///
    /// - Returns: The failures that were reported since the last time, and are settled now.
    func noteSuccess() -> [SettingsError] {
        guard isFailing.load(ordering: .relaxed) else { return [] }
        return failures.withLock { failures in
            let (lasting, reported) = (failures?.lasting ?? [], failures?.reported ?? [])
            let isLasting = { (error: SettingsError) in lasting.contains(Self.cause(of: error)) }
            isFailing.store(!lasting.isEmpty, ordering: .relaxed)
            failures = nil
            if !lasting.isEmpty {
                failures = Failures(causes: lasting, reported: reported.filter(isLasting), lasting: lasting)
            }
            return reported.filter { !isLasting($0) }
        }
    }

    /// Makes another attempt due, because the cause of the failure may be gone.
    func retryNow() {
        failures.withLock { failures in
            failures?.delayCount = 0
            failures?.nextAttempt = .now
        }
    }
}
