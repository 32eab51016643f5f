// SPDX-License-Identifier: Apache-2.0

public import StoredSettings
import Synchronization

/// A reporter that records errors and recoveries, for tests.
///
/// ```swift
/// let reporter = RecordingReporter()
/// let suite = SettingsSuite.inMemory(reporter: reporter)
/// suite[storedValueFor: "port"] = "http"
/// _ = Setting("port", default: 80, suite: suite).value
/// #expect(reporter.errors.map(\.code) == [.typeMismatch])
/// ```
public final class RecordingReporter: SettingsReporter {
    private struct Records {
        var errors: [SettingsError] = []
        var recoveries: [SettingsError] = []
    }

    private let recorded = Mutex(Records())

    /// Creates a reporter without errors.
    public init() {}

    /// The reported errors, in order.
    public var errors: [SettingsError] { recorded.withLock { $0.errors } }

    /// The errors that were reported to be settled, in order.
    public var recoveries: [SettingsError] { recorded.withLock { $0.recoveries } }

    /// Removes all recorded errors and recoveries.
    public func removeAll() {
        recorded.withLock { $0 = Records() }
    }

    /// Records the error.
    public func report(_ error: SettingsError) {
        recorded.withLock { $0.errors.append(error) }
    }

    /// Records the recovery.
    public func reportRecovery(from error: SettingsError) {
        recorded.withLock { $0.recoveries.append(error) }
    }
}
