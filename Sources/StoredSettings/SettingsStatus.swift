// SPDX-License-Identifier: Apache-2.0
// See Documentation/Decisions/Writing.md, "A status has figures, and no verdict".

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The state of saving and reading a suite in this process, as figures for metrics and health checks.
///
/// ```swift
/// let status = suite.status
/// let isHealthy = status.problem == nil && status.unsavedCount == 0
/// ```
///
/// A failure that is not thrown is also reported once: see ``SettingsReporter``. A status shows whether it persists. It is about the
/// store: values that a setting cannot use, and files of layers, are found by ``SettingsCatalog/findProblems(unknownKeys:)``.
public struct SettingsStatus: Sendable {
    /// The error that prevents the newest values from being read; `nil` if there is none.
    ///
    /// While there is one, reads return the last good values.
    public let problem: SettingsError?

    /// The number of keys whose assigned values are not saved yet.
    ///
    /// Reads in this process return these values. Saving them is tried again after at most two seconds. Without a place to store
    /// anything, they last as long as the process: see ``SettingsSuite/persistence``.
    public let unsavedCount: Int

    /// The number of background checkpoints of this process that have failed since the last successful one.
    ///
    /// The next one is tried after at most a minute. What was set meanwhile is safe in the journal.
    public let failedCheckpointCount: Int

    /// When a checkpoint by any process last wrote the settings file; `nil` if none is known.
    ///
    /// An edit of the file is no checkpoint. A suite that is not changed needs none, so a time that is long ago is no failure. It is
    /// `nil` for a suite without such a file, and in a process that has started after a checkpoint failed or the journal was lost.
    public let lastCheckpoint: Date?
}

extension SettingsSuite {
    /// The current state of saving and reading.
    ///
    /// A group has the status of its suite, and all suites with one store have the same. Getting it costs about as much as reading a
    /// value that is not cached. Only the first use of a suite in a file reads the disk.
    public var status: SettingsStatus {
        let file = engine.store as? FileStore
        // Reading the problem opens the journal, which has the time of the last checkpoint.
        let problem = engine.store.problem
        return SettingsStatus(
            problem: problem.map(naming),
            unsavedCount: engine.state.withLock { $0.pendingWrites.count },
            failedCheckpointCount: file?.schedule.failureCount ?? 0,
            lastCheckpoint: file?.lastCheckpoint.map { Date(timeIntervalSince1970: Double($0) / 1_000_000_000) }
        )
    }
}

extension FileStore {
    /// When the last checkpoint of any process put its file in place, in nanoseconds since 1970; `nil` if that is unknown.
    fileprivate var lastCheckpoint: UInt64? { schedule.lastCheckpoint(in: peek { $0.journal.journal?.page }) }
}
