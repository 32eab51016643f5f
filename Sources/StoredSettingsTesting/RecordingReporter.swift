// SPDX-License-Identifier: Apache-2.0

public import StoredSettings
import Synchronization

/// A reporter that keeps what it hears, for tests.
///
/// ```swift
/// let reporter = RecordingReporter()
/// let suite = SettingsSuite.inMemory(reporter: reporter)
/// …
/// #expect(reporter.errors.map(\.code) == [.typeMismatch])
/// ```
public final class RecordingReporter: SettingsReporter {
    private let recorded = Mutex<[SettingsError]>([])

    /// Creates a reporter that has heard nothing.
    public init() {}

    /// What was reported, in the order it came.
    public var errors: [SettingsError] { recorded.withLock { $0 } }

    /// Forgets what was reported.
    public func removeAll() {
        recorded.withLock { $0.removeAll() }
    }

    /// Keeps the error.
    public func report(_ error: SettingsError) {
        recorded.withLock { $0.append(error) }
    }
}
