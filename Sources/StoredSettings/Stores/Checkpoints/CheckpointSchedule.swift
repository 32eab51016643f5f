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
    static let readOnlyInterval = 0.05
    /// The interval at which to check whether a retry is due, in seconds.
    static let retryInterval = 0.5

    /// Whether the store makes checkpoints in the background at all.
    let isActive: Bool
    let isScheduled = ProcessFlag()
    let isRepairScheduled = ProcessFlag()
    let isLookScheduled = ProcessFlag()
    /// Whether a request for a notification of the next record is scheduled.
    let isRequestScheduled = ProcessFlag()
    /// Whether any stream or observation needs the changes of other processes at once.
    let hasSubscribers = Atomic(false)
    /// Whether the lack of threads has been reported.
    let isShortageReported = Atomic(false)
    /// Whether a checkpoint is in progress because the journal has become long.
    let isUrgent = ProcessFlag()
    /// Whether this process has committed anything, and is therefore responsible for a checkpoint.
    let hasCommitted = ProcessFlag()

    /// The failed checkpoints since the last successful one.
    private struct Failures {
        var count = 0
        var nextAttempt = ContinuousClock.now
        /// The errors that were reported, and are not settled.
        var reported: [SettingsError] = []
        /// The causes that the last checkpoint of this process has met, although it has written the file.
        var lasting: Set<String> = []

        /// Records an error to report; `false` if an error with the same cause was reported before.
        mutating func isFirst(_ error: SettingsError) -> Bool {
            let cause = CheckpointSchedule.cause(of: error)
            guard !reported.contains(where: { CheckpointSchedule.cause(of: $0) == cause }) else {
                return false
            }
            reported.append(error)
            return true
        }
    }

    private let failures = Locked(Failures())

    /// The length of the journal above which a checkpoint is due at once, in bytes.
    let journalBound: Int

    init(isActive: Bool, journalBound: Int) {
        (self.isActive, self.journalBound) = (isActive, journalBound)
    }

    /// Whether a scheduled checkpoint runs at a check, or is postponed because the journal has published another word since the
    /// last one.
    static func isDue(published: UInt64, seen: UInt64, checks: Int) -> Bool {
        published == seen || checks >= mostChecks
    }

    /// Whether it is too early for another attempt.
    var isBackingOff: Bool { failures.withLock { .now < $0.nextAttempt } }

    /// The time of the last checkpoint that this process knows, in nanoseconds since 1970; 0 for none.
    private let lastKnownCheckpoint = Atomic<UInt64>(0)

    /// Returns the time in the journal, or the last known one: the journal has none while a checkpoint replaces the file, and after that
    /// has failed.
    func lastCheckpoint(in page: SharedPage?) -> UInt64? {
        if let page, case let time = WrittenFile.change(in: page), time > 2 {
            lastKnownCheckpoint.store(time, ordering: .relaxed)
        }
        let known = lastKnownCheckpoint.load(ordering: .relaxed)
        return known == 0 ? nil : known
    }

    /// The number of failed checkpoints since the last successful one.
    var failureCount: Int { failures.withLock { $0.count } }

    /// Records that a checkpoint has failed.
    ///
    /// - Returns: Whether to report the error. An unreadable file and a changed root were reported when they were found.
    func noteFailure(_ error: SettingsError) -> Bool {
        failures.withLock { failures in
            let delay = Self.retryDelay * (1 << min(failures.count, 6))
            failures.count += 1
            failures.nextAttempt = .now + min(delay, Self.longestRetryDelay)
            let isKnown = [.malformedFile, .readFailed].contains(error.code) || error.isChangedRoot
            return !isKnown && failures.isFirst(error)
        }
    }

    private static func cause(of error: SettingsError) -> String {
        // The path of a draft differs each time.
        let call = (error.underlying as? SystemError).map { "\($0.call) \($0.number)" }
        return "\(error.code) \(call ?? error.fact)"
    }

    /// Records that the changes are in the file.
    ///
    /// - Parameter problems: What did not prevent the checkpoint; `nil` for one of another process.
    /// - Returns: The problems to report, and the errors that were reported and are settled now.
    func noteSuccess(_ problems: [SettingsError]? = nil) -> (new: [SettingsError], settled: [SettingsError]) {
        failures.withLock { failures in
            // Another process does not know the problems of the last checkpoint of this one.
            guard problems != nil || failures.count > 0 else { return ([], []) }
            let new = problems?.filter { failures.isFirst($0) } ?? []
            let lasting = problems.map { Set($0.map(Self.cause)) } ?? failures.lasting
            let isLasting = { (error: SettingsError) in lasting.contains(Self.cause(of: error)) }
            let settled = failures.reported.filter { !isLasting($0) }
            failures = Failures(reported: failures.reported.filter(isLasting), lasting: lasting)
            return (new, settled)
        }
    }

    /// Makes another attempt due, because the cause of the failure may be gone.
    func retryNow() {
        failures.withLock { $0.nextAttempt = .now }
    }
}
